"""What must hold on paper at each step: whatever the mirror commits, emits or deletes is judged before it is done."""

from __future__ import annotations

import functools
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.switch_report import MoveRow, Report
from sparkmirror.offsets.checkpoints import parse_record
from tests.consumers.model import Told, find_repeated, find_skipped
from tests.consumers.paper import Log, PaperCluster, Record, Topic, clusters_of
from tests.consumers.paper_copy import PaperCopy
from tests.consumers.paper_flow import MERGED, File, FlowOnPaper, flows_of

Place = tuple[str, int]


@dataclass
class Reader:
    """A group whose consumers read on one cluster after the other, each record that comes, and nothing else.

    `seen`: what it has read; `behind`: also what was gone when it came there. `side`: where they are.
    """

    name: str
    side: str = "A"
    seen: set[Record] = field(default_factory=set)
    behind: set[Record] = field(default_factory=set)


class Witness:
    """All that there is of a life, and what became of groups."""

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
            cluster.commits = functools.partial(self.note_commit, cluster)
            cluster.deletes = functools.partial(self.note_delete, cluster)
            cluster.appends = functools.partial(self.note_append, cluster)

    def _open(self, flow: FlowConfig, *, preserve: bool) -> FlowOnPaper:
        source, target = self.sides[flow.source.alias], self.sides[flow.target.alias]
        return FlowOnPaper(self.flows, flow, PaperCopy(flow, source, target, self.dice, preserve=preserve))

    def copy_of(self, flow: FlowConfig | str) -> PaperCopy:
        alias = flow if isinstance(flow, str) else flow.source.alias
        return next(part.copy for part in self.parts if part.flow.source.alias == alias)

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
            self.counts["taken back"] += 1
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
            if self.verb == "failback":  # it says where the group stands here
                read |= self._read_elsewhere(self.a, found.group)
            said = f"{self.verb}: {found} in {log.start}..{log.end}"
            self._check_place(said, log, 0, found.downstream_offset, cluster.told_ends.get(place, log.end), read)
            self.emitted[found.group, place] = read
            self.emitted_at[found.group, place] = found.downstream_offset
            self.counts["checkpoints"] += 1

    def note_delete(self, cluster: PaperCluster, group: str) -> None:
        """With its source: only what the mirror itself has made of it, and if somebody has deleted it there."""
        known = cluster.groups.get(group)
        if known is None:  # it ended just now
            return
        alias = cluster.address.alias
        other = self.a if cluster is self.b else self.b
        assert group not in other.groups and not known.members and self.file.deletes
        assert group not in other.ended or group in other.deleted, f"{group} ended with its topics"
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
            for place in self.places_on(cluster):
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
        return {place for side in self.sides.values() for place in self.places_on(side) if place[0] == MERGED}

    # -- what there is

    def places_on(self, cluster: PaperCluster) -> list[Place]:
        return [(t.name, number) for t in cluster.topics.values() for number in range(len(t.logs))]


def all_offsets(cluster: PaperCluster) -> dict[tuple[str, Place], int]:
    return {(name, place): at.offset for name, group in cluster.groups.items() for place, at in group.offsets.items()}
