"""A random life of a mirror and its consumer groups on paper.

Two clusters, one flow or one each way. Topics are written, trimmed, compacted, deleted and made anew on either side;
the mirror copies, is killed and begins anew; groups read, are reset, lose offsets and end, have members or none; rounds
of the real group keeper and the real commands failover and failback put them elsewhere. All that they do to groups is
judged by the `Witness`, who knows every record.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any

from sparkmirror.control.switch import Order, Switch
from sparkmirror.control.switch_report import Report
from sparkmirror.offsets.halts import Halt
from sparkmirror.protocol.committed import Committed
from sparkmirror.topology.storage import Storage
from tests.consumers.paper import Group, Log, PaperCluster, Record, Topic, on_paper
from tests.consumers.paper_flow import MERGED
from tests.consumers.paper_witness import Place, Reader, Witness, all_offsets

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
    *["commit"] * 2,
    *["commit_again"] * 3,
    "forget_offset",
    "delete_group",
    "join",
    *["round"] * 5,
    "switch",
)


class Story(Witness):
    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        for cluster in self.sides.values():
            cluster.meanwhile = self._meanwhile
            cluster.may_fail = lambda: self.dice.random() < self.trouble

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
        places = self.places_on(cluster)
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
        places = self.places_on(cluster)
        if places:
            place = self.dice.choice(places)
            log = cluster.log(place)
            assert log is not None
            name = self.dice.choice(self.wild)
            at = self.dice.randint(max(0, log.start - 1), log.end + (self.dice.random() < 0.05))
            self._group(cluster, name).offsets[place] = Committed(at)

    def commit_again(self) -> None:
        """A group that has a place already: it is reset, or has read on there."""
        cluster = self.dice.choice([self.a, self.a, self.b])
        known = [
            (name, place) for name in self.wild if name in cluster.groups for place in cluster.groups[name].offsets
        ]
        if known:
            name, place = self.dice.choice(known)
            log, group = cluster.log(place), cluster.groups[name]
            assert log is not None
            group.offsets[place] = Committed(self.dice.randint(log.start, log.end))

    def forget_offset(self) -> None:
        cluster, name = self.dice.choice((self.a, self.b)), self.dice.choice(self.wild)
        if name in cluster.groups and (offsets := cluster.groups[name].offsets):
            offsets.pop(self.dice.choice(list(offsets)))

    def delete_group(self) -> None:
        if self.dice.random() < 0.4:
            cluster = self.dice.choice((self.a, self.a, self.b))
            gone = self.dice.choice([name for name in self.wild if name in cluster.groups] or self.wild)
            cluster.groups.pop(gone, None)
            cluster.deleted.add(gone)

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
        is_calm, before = not self.races and not self.trouble, all_offsets(part.copy.target)
        try:
            part.copy.source.deleted.difference_update(part.round())  # it was seen again
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
        is_settled = is_settled and all(part.copy.is_written for part in self.parts)
        order = Order(wait_s=0, force=self.dice.random() < 0.3, dry_run=self.dice.random() < 0.1)
        before = all_offsets(self.b)
        report = self._command("failover", order, is_away=is_away)
        assert not (report.is_whole and self._lacking()), f"nothing is missing, it says, but {self._lacking()}"
        if order.dry_run or report.problem:
            assert all_offsets(self.b) == before, "nothing was to be changed"
        else:
            self._check_moves(report, self.b, is_settled=is_settled)
            self._move_readers("B")
        self.is_planned = copy.halt is not None

    def _failback(self) -> None:
        copy = self.parts[0].copy
        for part in self.parts[1:]:
            part.copy.catch_up()
        order = Order(wait_s=0, force=self.dice.random() < 0.5, dry_run=self.dice.random() < 0.1)
        before = all_offsets(self.a)
        report = self._command("failback", order, is_away=False)
        if order.dry_run or (report.problem and not report.moves):
            assert all_offsets(self.a) == before, "nothing was to be changed"
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
        goes_on = order.force or order.dry_run or is_away
        assert goes_on or report.problem or not report.missing, f"it went on without {report.missing}"
        self.counts[f"{verb}{' away' * is_away}{' done' * (not report.problem)}"] += 1
        return report

    def _move_readers(self, side: str) -> None:
        for reader in self.readers:
            reader.side = side

    # -- what there is

    def _own(self) -> tuple[Topic, int]:
        """A partition that applications write."""
        topics = [t for side in self.sides.values() for t in side.topics.values() if t.name in ("t0", "t1")]
        topic = self.dice.choice(topics)
        return topic, self.dice.randrange(len(topic.logs))

    def _any_log(self) -> tuple[Place, Log]:
        places = [(side, place) for side in self.sides.values() for place in self.places_on(side)]
        side, place = self.dice.choice(places)
        log = side.log(place)
        assert log is not None
        return place, log

    def _group(self, cluster: PaperCluster, name: str) -> Group:
        cluster.ended.discard(name)
        return cluster.groups.setdefault(name, Group())

    def _meanwhile(self) -> None:
        if self.races and self.dice.random() < 0.3:
            races, self.races = self.races - 1, 0
            getattr(self, self.dice.choice(RACING))()
            self.races = races


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
