"""The copy of one flow between clusters on paper: how far it is, what it has told, and where it would go on.

Where a partition goes on is decided here as `copy/position.py` does; what is told of it goes through the real keeper of
progress and offset map. A mirror that is killed has told nothing of its last records: the next one finds them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.copy_proof import Proof, SourceBounds, judge
from sparkmirror.control.discovery import count_partitions
from sparkmirror.control.progress_keeper import ProgressKeeper
from sparkmirror.control.survey import FlowSurvey
from sparkmirror.control.survey_rows import Bounds, assemble_partitions
from sparkmirror.copy.facts import OTHERS_WROTE, SOURCE_ANEW
from sparkmirror.copy.receipt import COPIED, STOPPED, Receipt
from sparkmirror.offsets.halts import Halt
from sparkmirror.topology.fact import Fact
from sparkmirror.topology.select import TopicPair, TopicSelector, plan_topics
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage
from tests.consumers.paper import Log, PaperCluster, Topic, as_cluster

MERGED = "several partitions are written into one of the target"
NEVER = "offsets.preserve is never"

Place = tuple[str, int]


class StoppedError(Exception):
    """A fact that forbids to go on."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Where a partition goes on. `filler`: offsets of the target's log that are filled and removed first."""

    standing: Standing
    is_news: bool = False
    filler: int = 0


@dataclass
class Part:
    """What the mirror knows of a partition of the source. `untold`: receipts that nobody has heard of; `unwritten`: of
    which nothing stands in a topic yet.
    """

    place: Place
    at: Standing | None = None
    untold: list[Receipt] = field(default_factory=list)
    unwritten: list[Receipt] = field(default_factory=list)


class PaperCopy:
    """`preserve`: whether offsets are to be equal. `tolerant`: `continue` for what stops a partition else."""

    def __init__(
        self, flow: FlowConfig, source: PaperCluster, target: PaperCluster, dice: random.Random, *, preserve: bool
    ) -> None:
        self.flow, self.source, self.target = flow, source, target
        self._dice = dice
        self._preserve = preserve
        self.tolerant = flow.on_divergence == "continue"
        self._selector = TopicSelector.of(flow)
        self.parts: dict[Place, Part] = {}
        self.facts: dict[Place, Fact] = {}
        self.halt: Halt | None = None
        self.begin_anew()

    def begin_anew(self) -> None:
        """Another driver leads: it knows what the last one has written."""
        storage = Storage.of(self.flow)
        self.progress = ProgressKeeper(
            self.flow.name, as_cluster(self.target), storage, 1, may_write=lambda: not self.target.away
        )
        self.progress.ensure()
        self.progress.read()

    def pairs(self) -> tuple[TopicPair, ...]:
        here, there = self.source.fetch_metadata(), self.target.fetch_metadata()
        return plan_topics(count_partitions(here), count_partitions(there), self._selector).pairs

    def make_topics(self) -> None:
        here, there = self.source.fetch_metadata(), self.target.fetch_metadata()
        for new in plan_topics(count_partitions(here), count_partitions(there), self._selector).create:
            self.target.topics[new.topic] = Topic(new.topic, new.partitions)

    # -- copying

    def places(self) -> Iterator[tuple[Place, Place, bool]]:
        """Of the source, of the target, and whether others are written there, too."""
        for pair in self.pairs():
            for number in range(pair.partitions if pair.present else 0):
                yield (pair.topic, number), (pair.remote, pair.target_of(number)), pair.is_shared

    def copy(self, most: int, *, heard: bool) -> None:
        places = list(self.places())
        if places and not self.halt:
            self.copy_part(*self._dice.choice(places), most, heard=heard)

    def copy_part(self, place: Place, remote: Place, is_shared: bool, most: int, *, heard: bool) -> None:
        part = self.parts.setdefault(place, Part(place))
        try:
            decided = self.decide(place, remote, part.at, is_shared=is_shared, tolerant=self.tolerant)
        except StoppedError as why:
            name, _, said = str(why).partition(": ")
            self.facts[place] = Fact(kind=STOPPED, name=name, error=said)
            return
        self.facts.pop(place, None)
        part.at = decided.standing
        if decided.is_news:
            self.progress.write_now(place, part.at)
            part.untold, part.unwritten = (
                [each for each in receipts if _ids(each.standing) == _ids(part.at)]
                for receipts in (part.untold, part.unwritten)
            )
        self._append(part, self._log(self.source, place), self._log(self.target, remote), decided.filler, most)
        if heard:
            self.tell(part)

    def decide(self, place: Place, remote: Place, at: Standing | None, *, is_shared: bool, tolerant: bool) -> Decision:
        """StoppedError: name and text of the fact."""
        here, there = self._log(self.source, place), self._log(self.target, remote)
        ids = self.source.topics[place[0]].topic_id, self.target.topics[remote[0]].topic_id
        if at is None:
            return self._first(here, there, ids, is_shared=is_shared)
        if (at.source_id, at.target_id) != ids:
            return self._after_recreation(at, here, there, ids, is_shared=is_shared, tolerant=tolerant)
        if not is_shared and there.end != at.target_end:
            if at.translated:  # ours are counted among theirs
                return Decision(at._replace(target_end=there.end))
            if not tolerant:
                raise StoppedError(f"foreign-writer: others wrote behind {at.target_end}")
            moved = at._replace(target_end=there.end, translated=OTHERS_WROTE, equal_end=at.target_end)
            return Decision(moved, is_news=True)
        if here.start > at.next_offset:
            return self._after_gap(at, here.start, tolerant=tolerant)
        return Decision(at)

    def _first(self, here: Log, there: Log, ids: tuple[str, str], *, is_shared: bool) -> Decision:
        why = MERGED if is_shared else "" if self._preserve else NEVER
        if there.end and not is_shared:
            why = why or "the target topic held other records before"
        start = here.start
        standing = Standing(start, 0, there.end, 0, 0, why, *ids)
        if why:
            return Decision(standing, is_news=True)
        return Decision(standing._replace(target_end=start, log_start=start), is_news=start > 0, filler=start)

    def _after_recreation(
        self, at: Standing, here: Log, there: Log, ids: tuple[str, str], *, is_shared: bool, tolerant: bool
    ) -> Decision:
        if at.target_id != ids[1] and at.source_id != ids[0] and not is_shared:
            return self._first(here, there, ids, is_shared=is_shared)
        if not tolerant:
            name = "source" if at.source_id != ids[0] else "target"
            raise StoppedError(f"{name}-recreated: it was deleted and made anew")
        if at.target_id != ids[1] or is_shared:
            return self._first(here, there, ids, is_shared=is_shared)
        return Decision(Standing(here.start, 0, there.end, 0, 0, SOURCE_ANEW, *ids), is_news=True)

    def _after_gap(self, at: Standing, start: int, *, tolerant: bool) -> Decision:
        if at.target_end == at.log_start and not at.translated:
            filler = start - at.next_offset
            return Decision(at._replace(next_offset=start, target_end=start, log_start=start), True, filler)
        if not tolerant:
            raise StoppedError(f"gap: offsets {at.next_offset}..{start - 1} were removed before they were copied")
        return Decision(at._replace(next_offset=start), is_news=True) if at.translated else Decision(at)

    def _append(self, part: Part, here: Log, there: Log, filler: int, most: int) -> None:
        assert part.at is not None
        for _ in range(filler):
            there.append(None)
        there.trim(part.at.log_start)
        if not part.at.translated and here.start > part.at.next_offset:
            most += here.start - part.at.next_offset  # a gap is filled as holes are
        for offset in range(part.at.next_offset, min(part.at.next_offset + most, here.end)):
            record = here.entries[offset] if offset >= here.start else None
            if record is None and not part.at.translated and self._dice.random() < 0.1:
                part.at = part.at._replace(translated="holes can't be filled", equal_end=offset)
                self.tell(part)
                self.progress.write_now(part.place, part.at)
            first = there.end
            if record is not None or not part.at.translated:
                there.append(record)
            end = there.end if record is not None or not part.at.translated else part.at.target_end
            part.at = part.at._replace(next_offset=offset + 1, target_end=end, last_sequence=part.at.last_sequence + 1)
            if record is not None:
                part.untold.append(self._receipt(part.place, part.at, offset, first))

    def _receipt(self, place: Place, at: Standing, offset: int, first: int) -> Receipt:
        return Receipt(
            flow=self.flow.name,
            topic=place[0],
            partition=place[1],
            kind=COPIED,
            source_first=offset,
            source_end=offset + 1,
            target_first=first,
            target_end=first + 1,
            records=1,
            stands=json.dumps(at),
        )

    def tell(self, part: Part) -> None:
        if part.at is not None:
            self.progress.note({part.place: part.at}, part.untold)
            part.unwritten += part.untold
            part.untold = []

    def write(self) -> None:
        if self.progress.write():
            for part in self.parts.values():
                part.unwritten = []

    @property
    def is_written(self) -> bool:
        """Whether nothing was copied that no topic tells of."""
        return not any(part.untold or part.unwritten for part in self.parts.values())

    def die(self) -> None:
        """What is not written is found again, by who comes next, in both logs."""
        self.progress.drop()
        self.begin_anew()
        for part in self.parts.values():
            part.untold, part.unwritten = part.unwritten + part.untold, []

    def catch_up(self) -> None:
        """All that can be copied, told and written."""
        self.make_topics()
        for place, remote, is_shared in list(self.places()):
            self.copy_part(place, remote, is_shared, 1 << 30, heard=True)
        self.write()

    def _log(self, cluster: PaperCluster, place: Place) -> Log:
        found = cluster.log(place)
        assert found is not None, place
        return found

    # -- what commands look at

    def survey(self) -> FlowSurvey:
        bounds = {place: self._bounds(place, remote) for place, remote, _ in self.places()}
        rows = assemble_partitions(self.pairs(), bounds, self.progress.written, self.facts, committed=True)
        return FlowSurvey(flow=self.flow.name, halt=self.halt, partitions=rows)

    def _bounds(self, place: Place, remote: Place) -> Bounds:
        here, there = self._log(self.source, place), self._log(self.target, remote)
        return Bounds(here.start, here.end, here.end, there.start, there.end)

    def prove(self) -> dict[Place, Proof]:
        """What the prover finds out: where each partition goes on, whoever was told of it."""
        return {place: self._proof(place, remote, is_shared) for place, remote, is_shared in self.places()}

    def _proof(self, place: Place, remote: Place, is_shared: bool) -> Proof:
        here, there, part = self._log(self.source, place), self._log(self.target, remote), self.parts.get(place)
        at = part.at if part else None
        hint = self.progress.written.get(place)
        bounds = SourceBounds(here.start, here.end, here.end)
        proof = Proof(remote=remote, is_shared=is_shared)
        if at is None and (is_shared or not there.end):
            return judge(proof, bounds)
        try:
            decided = self.decide(place, remote, at, is_shared=is_shared, tolerant=False)
            proof = Proof(remote=remote, standing=decided.standing, is_shared=is_shared)
        except StoppedError as why:
            is_foreign = str(why).startswith("foreign-writer")
            known = at if str(why).startswith("gap") else hint if is_foreign else None
            proof = Proof(remote=remote, standing=known, why=str(why), is_shared=is_shared)
        others = 0
        if hint and not is_shared and not (proof.standing and not proof.standing.translated and not proof.why):
            others = sum(r is not None and not r.topic_id for r in there.entries[max(hint.target_end, there.start) :])
        return judge(replace(proof, others=others), bounds)


def _ids(standing: Standing | None) -> tuple[str, str] | None:
    return (standing.source_id, standing.target_id) if standing else None
