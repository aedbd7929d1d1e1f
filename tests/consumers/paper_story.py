"""A random life of a mirror and its consumer groups on paper, and what must hold at each step of it.

Two clusters, one flow or one each way. Topics are written, trimmed, compacted, deleted and made anew on either side;
the mirror copies, is killed and begins anew; groups read, are reset, lose offsets and end, have members or none; rounds
of the real group keeper and the real commands failover and failback put them elsewhere. All that they commit goes
through `Story.note_commit`, which knows every record.
"""

from __future__ import annotations

import functools
import itertools
import logging
import random
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from sparkmirror.config.mirror import load_mirror_config
from sparkmirror.config.model import FlowConfig
from sparkmirror.control.group_keeper import GroupKeeper
from sparkmirror.control.group_survey import other_way
from sparkmirror.control.incarnation_guard import IncarnationGuard
from sparkmirror.control.switch import Order, Switch
from sparkmirror.control.switch_report import MoveRow, Report
from sparkmirror.groups.task import GroupReport, GroupTask
from sparkmirror.groups.work import GroupWorker
from sparkmirror.offsets.checkpoints import parse_record
from sparkmirror.offsets.halts import Halt
from sparkmirror.protocol.committed import Committed
from sparkmirror.topology.choose import choose_policy
from sparkmirror.topology.storage import Storage
from tests.consumers.model import Told, find_repeated, find_skipped
from tests.consumers.paper import Group, Internal, Log, PaperCluster, Record, Topic, as_cluster, clusters_of, on_paper
from tests.consumers.paper_copy import PaperCopy

Place = tuple[str, int]
MERGED = "all"


@dataclass(frozen=True)
class File:
    """What the mirror is told. `both`: a flow each way."""

    merged: bool
    both: bool
    rewind: bool
    deletes: bool
    tolerant: bool

    @classmethod
    def draw(cls, dice: random.Random) -> File:
        merged = dice.random() < 0.25
        both = not merged and dice.random() < 0.4
        rewind, deletes, tolerant = (dice.random() < 0.5 for _ in range(3))
        return cls(merged, both, rewind and not both, deletes and not both, tolerant)

    def keys(self) -> dict[str, str]:
        goes_on = "continue" if self.tolerant else "fail"
        keys = {
            "clusters": "A, B",
            "A.bootstrap.servers": "127.0.0.1:1",
            "B.bootstrap.servers": "127.0.0.1:2",
            "A->B.enabled": "true",
            "B->A.enabled": str(self.both).lower(),
            "topics": "t.*",
            "groups": "g.*",
            "groups.exclude": "nothing",
            "sync.group.offsets.enabled": "true",
            "sync.group.offsets.rewind": str(self.rewind).lower(),
            "sync.group.deletes.enabled": str(self.deletes).lower(),
            **dict.fromkeys(("on.gap", "on.recreate", "on.divergence"), goes_on),
        }
        return keys | ({"topics.map": f"t.*:{MERGED}"} if self.merged else {})


@functools.cache
def flows_of(file: File) -> tuple[FlowConfig, ...]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mm2.properties"
        path.write_text("".join(f"{key} = {value}\n" for key, value in file.keys().items()))
        return load_mirror_config(path).flows


class FlowOnPaper:
    """A flow's copy and its keeper of groups."""

    def __init__(self, story: Story, flow: FlowConfig, copy: PaperCopy) -> None:
        self.story, self.flow, self.copy = story, flow, copy
        self.checkpoints = choose_policy(flow).checkpoints_topic(flow.source.alias)
        for name in (self.checkpoints, Storage.of(flow).status):
            copy.target.internal[name] = Internal()
        self._clock = itertools.count(1, 100_000)
        self.restart()

    def restart(self) -> None:
        """Another driver. What was copied and not told is found in both logs, sooner or later."""
        copy, flow = self.copy, self.flow
        guard = IncarnationGuard(
            as_cluster(copy.source),
            as_cluster(copy.target),
            SimpleNamespace(term_s=1.0),  # type: ignore[arg-type]
            lambda: copy.progress.written,
            lambda: copy.facts,
        )
        self._view = SimpleNamespace(leads=True, is_active=True, landscape=None)
        keeper = SimpleNamespace(flow=flow, view=self._view, guard=guard, parts=[])
        other = other_way(flow, self.story.flows)
        self.keeper = GroupKeeper(keeper, other, self._run, lambda: 1)  # type: ignore[arg-type]
        self._worker: GroupWorker | None = None

    def _run(self, tasks: Sequence[GroupTask]) -> list[GroupReport]:
        self._worker = self._worker or GroupWorker(tasks[0])
        return [report for task in tasks for report in self._worker.run(task)]

    def round(self) -> Mapping[str, GroupReport]:
        here = self.copy.source.topics
        self._view.landscape = SimpleNamespace(pairs=self.copy.pairs(), source_topics=list(here))
        self.keeper.turn(float(next(self._clock)))
        return self.keeper.reports


@dataclass
class Reader:
    """A group whose consumers read on one cluster after the other, each record that comes, and nothing else.

    `seen`: what it has read; `behind`: also what was gone when it came there. `side`: where they are.
    """

    name: str
    side: str = "A"
    seen: set[Record] = field(default_factory=set)
    behind: set[Record] = field(default_factory=set)


class Story:
    def __init__(self, seed: int) -> None:
        self.dice = dice = random.Random(seed)
        self.file = File.draw(dice)
        self.flows = flows_of(self.file)
        self.a, self.b = PaperCluster("A"), PaperCluster("B")
        self.sides = {"A": self.a, "B": self.b}
        clusters_of(self.a, self.b)
        for name in ("t0", "t1"):
            self.a.topics[name] = Topic(name, dice.choice((1, 1, 2)))
        if self.file.both:
            self.b.topics["t0"] = Topic("t0", 1)
        preserve = dice.random() < 0.6
        self.parts = [self._open(flow, preserve=preserve) for flow in self.flows]
        self.readers = [Reader(f"g-steady{i}") for i in range(2)]
        self.wild = [f"g-wild{i}" for i in range(3)]
        self.put: dict[tuple[str, str, Place], int] = {}  # where the mirror has put a group last, on which cluster
        self.emitted: dict[tuple[str, Place], set[Record]] = {}  # what a group had read, by its last checkpoint
        self.emitted_at: dict[tuple[str, Place], int] = {}  # and where that puts it
        self.touched: set[Place] = set()  # places of which something was removed or made anew, or written by others
        self.is_planned = False  # whether the flow is halted
        self.trouble = 0.0  # how often a question about a group fails
        self.races, self.is_racing = 0, False
        self.verb = ""
        self.counts: Counter[str] = Counter()
        for cluster in self.sides.values():
            cluster.meanwhile = self._meanwhile
            cluster.may_fail = lambda: dice.random() < self.trouble
            cluster.commits = functools.partial(self.note_commit, cluster)
            cluster.deletes = functools.partial(self.note_delete, cluster)
            cluster.appends = functools.partial(self.note_append, cluster)

    def _open(self, flow: FlowConfig, *, preserve: bool) -> FlowOnPaper:
        source, target = self.sides[flow.source.alias], self.sides[flow.target.alias]
        return FlowOnPaper(self, flow, PaperCopy(flow, source, target, self.dice, preserve=preserve))

    def copy_of(self, flow: FlowConfig | str) -> PaperCopy:
        alias = flow if isinstance(flow, str) else flow.source.alias
        return next(part.copy for part in self.parts if part.flow.source.alias == alias)

    # -- what happens

    def step(self) -> None:
        name = self.dice.choice(STEPS)
        self.counts[name] += 1
        getattr(self, name)()

    def produce(self) -> None:
        topic, number = self._own()
        log = topic.logs[number]
        for _ in range(self.dice.randint(1, 5)):
            log.append(Record(topic.topic_id, number, log.end))

    def leave_hole(self) -> None:
        topic, number = self._own()
        for _ in range(self.dice.randint(1, 3)):
            topic.logs[number].append(None)

    def copy(self) -> None:
        part = self.dice.choice(self.parts)
        part.copy.make_topics()
        part.copy.copy(self.dice.randint(1, 8), heard=self.dice.random() < 0.8)

    def write(self) -> None:
        self.dice.choice(self.parts).copy.write()

    def tell_late(self) -> None:
        copy = self.dice.choice(self.parts).copy
        if copy.parts:
            copy.tell(self.dice.choice(list(copy.parts.values())))

    def kill(self) -> None:
        """The mirror; the next one finds what was copied."""
        part = self.dice.choice(self.parts)
        if self.dice.random() < 0.5:
            part.copy.write()
        part.copy.die()
        part.restart()
        for each in part.copy.parts.values():
            part.copy.tell(each)

    def trim(self) -> None:
        place, log = self._any_log()
        if log.end and self.dice.random() < 0.4:
            self.touched.add(place)
            log.trim(self.dice.randint(log.start, log.end))

    def compact(self) -> None:
        _, log = self._any_log()
        if log.end > log.start:
            log.compact(self.dice.randrange(log.start, log.end))

    def recreate(self) -> None:
        if self.dice.random() > 0.15:
            return
        side = self.dice.choice(list(self.sides.values()))
        if side.topics:
            topic = self.dice.choice(list(side.topics.values()))
            side.delete_topic(topic.name)
            for reader in self.readers:  # it knows no more where it stood
                reader.seen -= {r for log in topic.logs for r in log.was if r is not None}
            self.touched |= {(topic.name, number) for number in range(len(topic.logs))}
            if side.address.alias == "A" or not topic.name.startswith(("A.", MERGED)):
                side.topics[topic.name] = Topic(topic.name, len(topic.logs))

    def write_beside(self) -> None:
        """Somebody else, into a mirrored topic."""
        places = [(c, remote) for part in self.parts for c in [part.copy] for _, remote, _ in c.places()]
        if places and self.dice.random() < 0.15:
            copy, remote = self.dice.choice(places)
            log = copy.target.log(remote)
            assert log is not None
            self.touched.add(remote)
            log.append(Record("", remote[1], log.end))

    # -- groups

    def read(self) -> None:
        reader = self.dice.choice(self.readers)
        cluster = self.sides[reader.side]
        places = self._places_on(cluster)
        if places and not self._group(cluster, reader.name).members:
            self._read(reader, self.dice.choice(places), self.dice.randint(1, 6))

    def _read(self, reader: Reader, place: Place, most: int) -> None:
        cluster = self.sides[reader.side]
        log, at = cluster.log(place), cluster.committed(reader.name, place)
        assert log is not None
        first = max(log.start, at) if at is not None and at <= log.end else log.start
        end = min(log.end, first + most)
        reader.seen.update(r for offset, r in log.seen() if first <= offset < end)
        reader.behind.update(r for r in log.was[:end] if r is not None)
        self._group(cluster, reader.name).offsets[place] = Committed(end)

    def commit(self) -> None:
        """A group that is reset, or reads on, on either side."""
        cluster = self.dice.choice([self.a, self.a, self.b])
        places = self._places_on(cluster)
        if places:
            place = self.dice.choice(places)
            log = cluster.log(place)
            assert log is not None
            name = self.dice.choice(self.wild)
            at = self.dice.randint(max(0, log.start - 1), log.end + (self.dice.random() < 0.05))
            self._group(cluster, name).offsets[place] = Committed(at)

    def forget_offset(self) -> None:
        cluster, name = self.dice.choice((self.a, self.b)), self.dice.choice(self.wild)
        if name in cluster.groups and (offsets := cluster.groups[name].offsets):
            offsets.pop(self.dice.choice(list(offsets)))

    def delete_group(self) -> None:
        if self.dice.random() < 0.4:
            self.dice.choice((self.a, self.b)).groups.pop(self.dice.choice(self.wild), None)

    def join(self) -> None:
        cluster, name = self.dice.choice((self.a, self.b)), self.dice.choice(self.wild)
        if name in cluster.groups:
            cluster.groups[name].members = self.dice.randint(0, 2)

    # -- the mirror's work for groups

    def round(self) -> None:
        part = self.dice.choice(self.parts)
        if part.copy.halt:
            return
        part.copy.make_topics()
        self.races, self.trouble = self.dice.choice((0, 0, 2, 4)), self.dice.choice((0.0, 0.0, 0.0, 0.2))
        self.is_racing, self.verb = bool(self.races), "round"
        is_calm, before = not self.races and not self.trouble, _offsets(part.copy.target)
        try:
            part.round()
        finally:
            self.races, self.trouble, self.is_racing, self.verb = 0, 0.0, False, ""
        if is_calm:
            self._check_round(part, before)

    def switch(self) -> None:
        """Failover, and some time later failback. Now and then the source dies before."""
        if self.is_planned and self.dice.random() < 0.8:
            self._failback()
        else:
            self._failover()

    def _failover(self) -> None:
        copy = self.parts[0].copy
        is_away = self.dice.random() < 0.3
        is_settled = not is_away and self.dice.random() < 0.7
        if is_settled and not copy.halt:
            for part in self.parts:
                part.copy.catch_up()
        order = Order(wait_s=0, force=self.dice.random() < 0.3, dry_run=self.dice.random() < 0.1)
        before = _offsets(self.b)
        report = self._command("failover", order, is_away=is_away)
        assert not (report.is_whole and self._lacking()), f"nothing is missing, it says, but {self._lacking()}"
        if order.dry_run or report.problem:
            assert _offsets(self.b) == before, "nothing was to be changed"
        else:
            self._check_moves(report, self.b, is_settled=is_settled)
            self._move_readers("B")
        self.is_planned = copy.halt is not None

    def _failback(self) -> None:
        copy = self.parts[0].copy
        for part in self.parts[1:]:
            part.copy.catch_up()
        order = Order(wait_s=0, force=self.dice.random() < 0.5, dry_run=self.dice.random() < 0.1)
        before = _offsets(self.a)
        report = self._command("failback", order, is_away=False)
        if order.dry_run or (report.problem and not report.moves):
            assert _offsets(self.a) == before, "nothing was to be changed"
        else:
            self._check_moves(report, self.a, is_settled=all(part.copy.is_written for part in self.parts))
        if not copy.halt:
            self._move_readers("A")
        self.is_planned = copy.halt is not None

    def _command(self, verb: str, order: Order, *, is_away: bool) -> Report:
        self.a.away, self.verb = is_away, "away" if is_away else verb
        try:
            with Switch(self.flows[0], self.flows, order, lambda _: None) as command:
                report = command.failover() if verb == "failover" else command.failback()
        finally:
            self.a.away, self.verb = False, ""
        self.counts[f"{verb}{' away' * is_away}{' done' * (not report.problem)}"] += 1
        return report

    def _move_readers(self, side: str) -> None:
        for reader in self.readers:
            reader.side = side

    # -- what must hold

    def note_commit(self, cluster: PaperCluster, group: str, place: Place, after: int) -> None:
        """The mirror commits: nothing is passed over, and nothing that was read comes again."""
        log = cluster.log(place)
        assert log is not None
        key = (cluster.address.alias, group, place)
        before, end = cluster.committed(group, place), cluster.told_ends.get(place, log.end)
        said = f"{self.verb} of {key} from {before} to {after}, in {log.start}..{end}"
        read = self.emitted.get((group, place), set()) if self.verb == "away" else self._read_elsewhere(cluster, group)
        self._check_place(said, log, log.start if before is None or before > log.end else before, after, end, read)
        assert after >= min(cluster.told_starts.get(place, 0), log.end), f"before the first record: {said}"
        if before is not None and before > after:
            assert self.file.rewind and before in (self.put.get(key), self.emitted_at.get((group, place))), said
        if place[0] != MERGED and self.verb != "away" and not self.is_racing:
            again = [r for r in find_repeated(log.seen(), after, read) if self._is_known(r)]
            assert not again, f"again {again}: {said}"
        self.put[key] = after
        self.counts["commits"] += 1

    def _check_place(self, said: str, log: Log, before: int, after: int, end: int, read: set[Record]) -> None:
        assert 0 <= after <= end, f"behind the end: {said}"
        living = self._living()
        skipped = [r for r in find_skipped(log.seen(), before, after, read) if r.topic_id in living]
        assert not skipped, f"skipped {skipped}: {said}"

    def note_append(self, cluster: PaperCluster, name: str, records: Sequence[tuple[bytes, bytes | None]]) -> None:
        """Checkpoints: who goes by them skips nothing, either."""
        if not name.endswith("checkpoints.internal"):
            return
        for record in records:
            found = parse_record(*record)
            assert found is not None
            place = (found.topic, found.partition)
            log = cluster.log(place)
            if log is None:  # it was deleted just now
                continue
            read = self._read_elsewhere(cluster, found.group)
            said = f"{self.verb}: {found} in {log.start}..{log.end}"
            self._check_place(said, log, 0, found.downstream_offset, cluster.told_ends.get(place, log.end), read)
            self.emitted[found.group, place] = read
            self.emitted_at[found.group, place] = found.downstream_offset
            self.counts["checkpoints"] += 1

    def note_delete(self, cluster: PaperCluster, group: str) -> None:
        """With its source: only what the mirror itself has made of it, and if somebody has deleted it there."""
        alias = cluster.address.alias
        other = self.a if cluster is self.b else self.b
        known = cluster.groups[group]
        assert group not in other.groups and not known.members and self.file.deletes
        assert group not in other.ended, f"{group} ended with its topics"
        for place, at in known.offsets.items():
            assert at.offset in (self.put.get((alias, group, place)), self.emitted_at.get((group, place)))
        self.counts["deleted with its source"] += 1

    def _read_elsewhere(self, cluster: PaperCluster, group: str) -> set[Record]:
        """What it had read on the other cluster, by the places that it had committed when that was asked last."""
        other = self.a if cluster is self.b else self.b
        return {r for log, end in other.told.get(group, ()) if end > 0 for r in log.was[:end] if r is not None}

    def _is_known(self, record: Record) -> bool:
        """Whether progress tells of the record: what is not written down yet counts as not copied yet."""
        for part in self.parts:
            for topic in part.copy.source.topics.values():
                if topic.topic_id == record.topic_id:
                    known = part.copy.progress.written.get((topic.name, record.partition))
                    return known is not None and known.source_id == topic.topic_id and record.offset < known.next_offset
        return False

    def _living(self) -> set[str]:
        return {topic.topic_id for side in self.sides.values() for topic in side.topics.values()}

    def _lacking(self) -> list[Record]:
        """What stands on A, and never stood on B."""
        copy = self.parts[0].copy
        found = []
        for place, remote, _ in copy.places():
            here, there = self.a.log(place), self.b.log(remote)
            assert here is not None and there is not None
            known = set(there.was)
            found += [record for _, record in here.seen() if record not in known]
        return found

    def _check_round(self, part: FlowOnPaper, before: Mapping[tuple[str, Place], int]) -> None:
        """After a round that nothing disturbs, idle groups stand exactly where they belong, or further."""
        copy = part.copy
        for place, remote, is_shared in copy.places():
            known, log, there = copy.progress.written.get(place), copy.source.log(place), copy.target.log(remote)
            assert log is not None and there is not None
            if is_shared or known is None or {place, remote} & self.touched or place in copy.facts:
                continue
            for name, group in copy.source.groups.items():
                at = group.offsets.get(place)
                is_busy = name in copy.target.groups and copy.target.groups[name].members
                if at is not None and at.offset <= min(known.next_offset, log.end) and not is_busy:
                    self._check_exact(copy.target, name, remote, at.offset, before.get((name, remote)))

    def _check_exact(self, cluster: PaperCluster, group: str, place: Place, at: int, before: int | None) -> None:
        log, now = cluster.log(place), cluster.committed(group, place)
        assert log is not None and now is not None, f"{group} was not put anywhere in {place}"
        wanted = next((offset for offset, record in log.seen() if record.offset >= at), log.end)
        found = next((offset for offset, _ in log.seen() if offset >= now), log.end)
        is_left = before == now and found >= wanted
        assert found == wanted or is_left, f"{group} of {at} stands at {now} in {place}, was at {before}"
        self.counts["exact" if found == wanted else "further"] += 1

    def _check_moves(self, report: Report, cluster: PaperCluster, *, is_settled: bool) -> None:
        """What readers see next, where they go on."""
        living, plain = self._living(), is_settled and not report.away and not report.missing
        for reader in self.readers:
            told = Told.of(report, reader.name)
            for place in self._places_on(cluster):
                log, at = cluster.log(place), cluster.committed(reader.name, place)
                assert log is not None
                said = f"{report.verb}{' away' * bool(report.away)}: {reader.name} at {at} in {place}"
                at = log.start if at is None or at > log.end else at
                alive = [(offset, r) for offset, r in log.seen() if r.topic_id in living]
                skipped = find_skipped(alive, log.start, at, reader.behind)
                assert not skipped, f"skipped {skipped}: {said}"
                again = find_repeated(alive, at, reader.seen)
                assert not again or told.may_repeat(place, self.merged), f"again {again}: {said}"
                self.counts["moved" if not again else "moved, again"] += 1
            if plain:
                self._check_plain(told, report.verb)

    def _is_written(self, row: MoveRow, verb: str) -> bool:
        """Whether progress is known of the partition by which the row's offset is translated."""
        is_own = "." not in row.topic
        alias = "A" if is_own == (verb == "failover") else "B"
        place = (row.topic, row.partition) if is_own else row.target
        return place in self.copy_of(alias).progress.written

    def _check_plain(self, told: Told, verb: str) -> None:
        for row in told.rows:
            places = {(row.topic, row.partition), row.target}
            is_plain = not places & self.touched and row.target_topic
            if is_plain and self._is_written(row, verb) and row.target not in self.merged and row.topic != MERGED:
                assert row.is_well, row

    @property
    def merged(self) -> set[Place]:
        return {place for side in self.sides.values() for place in self._places_on(side) if place[0] == MERGED}

    # -- what there is

    def _own(self) -> tuple[Topic, int]:
        """A partition that applications write."""
        topics = [t for side in self.sides.values() for t in side.topics.values() if t.name in ("t0", "t1")]
        topic = self.dice.choice(topics)
        return topic, self.dice.randrange(len(topic.logs))

    def _any_log(self) -> tuple[Place, Log]:
        places = [(side, place) for side in self.sides.values() for place in self._places_on(side)]
        side, place = self.dice.choice(places)
        log = side.log(place)
        assert log is not None
        return place, log

    def _places_on(self, cluster: PaperCluster) -> list[Place]:
        return [(t.name, number) for t in cluster.topics.values() for number in range(len(t.logs))]

    def _group(self, cluster: PaperCluster, name: str) -> Group:
        cluster.ended.discard(name)
        return cluster.groups.setdefault(name, Group())

    def _meanwhile(self) -> None:
        if self.races and self.dice.random() < 0.3:
            races, self.races = self.races - 1, 0
            getattr(self, self.dice.choice(RACING))()
            self.races = races


def _offsets(cluster: PaperCluster) -> dict[tuple[str, Place], int]:
    return {(name, place): at.offset for name, group in cluster.groups.items() for place, at in group.offsets.items()}


RACING = ("produce", "copy", "copy", "write", "write", "tell_late", "trim", "compact", "recreate", "write_beside")
STEPS = (
    *["produce"] * 4,
    "leave_hole",
    *["copy"] * 5,
    *["write"] * 2,
    "tell_late",
    "kill",
    "trim",
    "compact",
    "recreate",
    "write_beside",
    *["read"] * 4,
    *["commit"] * 3,
    "forget_offset",
    "delete_group",
    "join",
    *["round"] * 5,
    "switch",
)
_current: list[Story] = []


def _story() -> Story:
    return _current[-1]


def _write_halt(cluster: PaperCluster, storage: Storage, factor: int, *, by: str, why: str) -> Halt:
    copy = _story().copy_of(storage.source)
    copy.halt = Halt(1, by, why, 1)
    return copy.halt


def _lift_halt(cluster: PaperCluster, storage: Storage) -> None:
    _story().copy_of(storage.source).halt = None


ASKED: dict[str, Any] = {
    "control.switch.write_halt": _write_halt,
    "control.switch.lift_halt": _lift_halt,
    "control.switch.await_rest": lambda *_: "",
    "control.switch.find_leader": lambda target, metadata, flow: (None, _story().copy_of(flow).halt),
    "control.switch.read_facts": lambda target, metadata, flow: _story().copy_of(flow).facts,
    "control.switch.TRIES_S": 0.0,
    "control.switch.PROOF_S": 0.0,
    "control.switch_looks.survey_flow": lambda flow: _story().copy_of(flow).survey(),
    "control.switch_looks.prove_flow": lambda flow: _story().copy_of(flow).prove(),
}


def live(seed: int, steps: int = 45) -> Counter[str]:
    """One life. What fails names the seed."""
    story = Story(seed)
    _current[:] = [story]
    try:
        for _ in range(steps):
            story.step()
    except Exception as error:
        raise AssertionError(f"history {seed}, {story.file}: {error}") from error
    return story.counts


def live_many(seeds: Sequence[int]) -> Counter[str]:
    """What happened in all of them."""
    total: Counter[str] = Counter()
    logging.disable(logging.WARNING)  # each life has its troubles
    try:
        with on_paper(ASKED):
            for seed in seeds:
                total += live(seed)
    finally:
        logging.disable(logging.NOTSET)
    return total
