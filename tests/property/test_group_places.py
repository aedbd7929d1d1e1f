"""Groups of random histories: on the target none passes over a record that it has not read at the source.

Two partitions of the source, alone or merged into one of the target, with holes, copies that stop anywhere, offsets
that are equal until they can't be, others' records, trims of either side, and topics that are made anew. Each round of
groups sees bounds of the logs and progress of different moments, as the real one does.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

import hypothesis.strategies as st
from hypothesis import given, settings

from sparkmirror.groups.names import Names
from sparkmirror.groups.translator import Bounds, MapReader, Translator
from sparkmirror.groups.work import Group, move_group
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.offset_map import OffsetMap, equal_map
from sparkmirror.offsets.run_book import RunBook
from sparkmirror.offsets.runs import Chunk, parse_chunk, span_of
from sparkmirror.protocol.committed import Committed
from sparkmirror.topology.run import Run
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage

Place = tuple[str, int]
Entry = tuple[Place, int, int] | None  # whose record it is, of which of its topics, at which source offset


class Partition:
    """A partition of the source, and how far it is copied."""

    def __init__(self, place: Place, remote: Place, *, preserve: bool) -> None:
        self.place, self.remote, self.preserve = place, remote, preserve
        self.topic, self.log, self.start = 1, list[bool](), 0  # True: a record, False: a hole
        self.next = self.equal_end = 0
        self.translated = not preserve
        self.book = self._new_book()
        self.standing: Standing | None = None
        self.chunks: list[Chunk] = []

    def _new_book(self) -> RunBook:
        self.kept: dict[int, bytes] = {}
        return RunBook(lambda number: parse_chunk(self.kept[number]))

    def make_anew(self, target_end: int) -> None:
        """And it is copied on, behind what is there."""
        self.topic += 1
        self.log, self.start, self.next, self.equal_end, self.translated = [], 0, 0, 0, True
        self.book, self.chunks = self._new_book(), []
        self.write(target_end)

    def write(self, target_end: int) -> None:
        """The map, then progress."""
        for number, value in self.book.take_changes().items():
            self.kept[number] = value or b""
        self.chunks = [parse_chunk(value) for _, value in sorted(self.kept.items()) if value]
        why = "why" if self.translated else ""
        end = self.chunks[-1].target[-1] + self.chunks[-1].count[-1] if self.translated and self.chunks else target_end
        self.standing = Standing(self.next, 0, int(end), -1, 0, why, str(self.topic), "t", equal_end=self.equal_end)

    def map(self, standing: Standing) -> OffsetMap:
        if not standing.translated:
            return equal_map(standing.target_end)
        chunks = self.chunks
        return OffsetMap(
            equal_end=standing.equal_end,
            source_end=standing.next_offset,
            target_end=standing.target_end,
            spans=[span_of(chunk) for chunk in chunks],
            load=lambda index: chunks[index],
        )


class System:
    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.merged = dice.random() < 0.4
        preserve = not self.merged and dice.random() < 0.7
        remotes = [("all", 0), ("all", 0)] if self.merged else [("a.t0", 0), ("a.t1", 0)]
        self.parts = [Partition((f"t{i}", 0), remote, preserve=preserve) for i, remote in enumerate(remotes)]
        self.target: dict[Place, list[Entry]] = {remote: [] for remote in remotes}
        self.starts = dict.fromkeys(remotes, 0)
        names = {p.place[0]: p.remote[0] for p in self.parts}
        self.names = Names(names, {}, dict.fromkeys(names, 1) if self.merged else {})

    def step(self) -> None:
        part = self.dice.choice(self.parts)
        log = self.target[part.remote]
        match self.dice.choice(
            ("produce", "produce", "hole", "copy", "copy", "write", "trim", "cut", "others", "anew")
        ):
            case "produce":
                part.log += [True] * self.dice.randint(1, 6)
            case "hole":
                part.log += [False] * self.dice.randint(1, 4)
            case "copy":
                self.copy(part, self.dice.randint(1, 8))
            case "write":
                part.write(len(log))
            case "trim":
                self.starts[part.remote] = self.dice.randint(self.starts[part.remote], len(log))
            case "cut":
                part.start = self.dice.randint(part.start, len(part.log))
            case "others" if self.dice.random() < 0.3 and part.standing:
                self.translate(part)
                log += [None] * self.dice.randint(1, 3)
            case "anew" if self.dice.random() < 0.15:
                part.make_anew(len(log))

    def steps(self, most: int) -> None:
        for _ in range(self.dice.randint(0, most)):
            self.step()

    def translate(self, part: Partition) -> None:
        """Said before anything is appended."""
        if not part.translated:
            part.translated, part.equal_end = True, part.next
            part.write(len(self.target[part.remote]))

    def copy(self, part: Partition, most: int) -> None:
        log = self.target[part.remote]
        for offset in range(part.next, min(part.next + most, len(part.log))):
            if not part.log[offset] and not part.translated and self.dice.random() < 0.3:
                self.translate(part)
            if part.log[offset]:
                if part.translated:
                    part.book.add(Run(offset, len(log), 1))
                log.append((part.place, part.topic, offset))
            elif not part.translated:
                log.append(None)
            part.next = offset + 1

    def round(self, committed: dict[Place, Committed]) -> Group:
        """As `look` asks: bounds, a while later progress. Ids are those of the topics that there are then."""
        with Cluster(ClusterAddress(alias="B", bootstrap=("127.0.0.1:1",))) as nowhere:
            forward = MapReader(nowhere, Storage.named("A"))
            translator = Translator(nowhere, nowhere, self.names, forward, None)
        ids = {part.place[0]: part.topic for part in self.parts}
        translator._there = {remote: Bounds(self.starts[remote], len(log)) for remote, log in self.target.items()}
        self.steps(3)
        translator._here = {part.place: Bounds(part.start, len(part.log)) for part in self.parts}
        held = {part.place for part in self.parts if part.log}
        self.steps(6)
        forward._standings = {part.place: part.standing for part in self.parts if part.standing}
        forward._maps = {part.place: part.map(part.standing) for part in self.parts if part.standing}
        translator._source_ids = {part.place[0]: str(part.topic) for part in self.parts}
        translator._target_ids = dict.fromkeys((remote[0] for remote in self.target), "t")
        translator._anew = {part.place[0]: "anew" for part in self.parts if ids[part.place[0]] != part.topic}
        if self.merged:
            held |= {part.place for part in self.parts if ids[part.place[0]] != part.topic}
            translator.origins = {("all", 0): held}
        answers = translator.translate_all((place, c.offset) for place, c in committed.items())
        moved, _ = move_group("g", committed, answers, translator.origins)
        return moved

    def check(self, committed: dict[Place, Committed], topics: dict[Place, int], moved: Group) -> None:
        for remote, place in moved.items():
            log = self.target[remote]
            assert place.downstream <= len(log)
            passed = log[self.starts[remote] : place.downstream]
            missed = [e for e in passed if e and e[1] == topics[e[0]] and e[2] >= read_until(committed, e[0])]
            assert not missed, (remote, place, missed)
            if place.is_exact and not self.merged:
                again = [e for e in log[max(place.downstream, self.starts[remote]) :] if e]
                assert not [e for e in again if e[1] == topics[e[0]] and e[2] < read_until(committed, e[0])]


def read_until(committed: dict[Place, Committed], place: Place) -> int:
    return committed[place].offset if place in committed else 0


def run(dice: random.Random, rounds: int) -> int:
    system, said = System(dice), 0
    for _ in range(rounds):
        for _ in range(dice.randint(1, 12)):
            system.step()
        topics = {part.place: part.topic for part in system.parts}
        parts: Iterable[Partition] = (part for part in system.parts if dice.random() < 0.8)
        committed = {part.place: Committed(dice.randint(0, len(part.log))) for part in parts}
        moved = system.round(committed)
        said += len(moved)
        system.check(committed, topics, moved)
    return said


@settings(max_examples=60)
@given(st.integers(0, 1 << 60))
def test_no_group_passes_over_a_record(seed: int) -> None:
    run(random.Random(seed), 10)
