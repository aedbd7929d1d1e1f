"""Failover and failback of a flow A->B: its consumer groups go over to the other cluster, at their exact places.

    failover   wait until all is mirrored | halt A->B, wait until it rests, look again | groups of A, translated, on B
    failback   wait until all of B->A is mirrored, if there is one    | groups of B, translated, on A | lift the halt

The halt comes before groups are read, so that nobody writes beside it. Where anything is missing then, or stands on one
side alone, no group is moved but with `force`. "Mirrored" is what both logs prove (`copy_proof.py`). If A can't be
reached nothing is waited for, and the newest checkpoints stand in for what groups committed there. Each can be
repeated: a group moves forward only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.address import flow_address
from sparkmirror.control.group_survey import other_way
from sparkmirror.control.survey import find_leader, read_facts, read_progress, runs
from sparkmirror.control.switch_groups import (
    Wanted,
    find_groups,
    move,
    read_checkpoints,
    read_last_known,
    read_wanted,
    write_back,
    write_checkpoints,
)
from sparkmirror.control.switch_looks import Look, look_at_copy, look_back
from sparkmirror.control.switch_report import BESIDE, MoveRow, Report, known_lag
from sparkmirror.control.switch_rest import await_rest
from sparkmirror.control.translators import Proven, find_merged, find_remotes, open_forward, open_reverse
from sparkmirror.control.who import who
from sparkmirror.errors import ConfigError, ConnectionLostError
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.claims import lift_halt, write_halt
from sparkmirror.offsets.halts import Halt
from sparkmirror.topology.choose import choose_policy
from sparkmirror.topology.fact import Fact
from sparkmirror.topology.policy import looks_like_heartbeats
from sparkmirror.topology.select import TopicSelector
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage

FAILOVER, FAILBACK = "failover", "failback"
WAIT_S = 60.0
TRIES_S = 5.0  # until a source counts as unreachable
PROOF_S = 10.0  # for followers of the target to have what its leaders hold
POLL_S = 0.5

Place = tuple[str, int]
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What the operator wants. `force`: go on where something is missing."""

    groups: tuple[str, ...] = ()
    wait_s: float = WAIT_S
    force: bool = False
    dry_run: bool = False


class Switch:
    """One flow of a file. A context manager; SparkmirrorError where the cluster that groups go to can't be reached."""

    def __init__(self, flow: FlowConfig, flows: Sequence[FlowConfig], order: Order, tell: Tell) -> None:
        if flow.naming.is_mutual:
            raise ConfigError(f"flow {flow.name}: groups of topics that keep their names both ways are not followed")
        self._flow = flow
        self._flows = flows
        self._order = order
        self._tell = tell
        self._storage = Storage.of(flow)
        self._checkpoints = choose_policy(flow).checkpoints_topic(flow.source.alias)
        self._open = ExitStack()
        self._source = self._open.enter_context(Cluster(flow_address(flow.source, flow)))
        self._target = self._open.enter_context(Cluster(flow_address(flow.target, flow)))

    def __enter__(self) -> Switch:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    # -- failover

    def failover(self) -> Report:
        report = Report(verb=FAILOVER, flow=self._flow.name, dry_run=self._order.dry_run, halt=self._find_halt())
        away = self._why_away()
        if away:
            return self._failover_without_source(replace(report, away=away))
        was_halted = report.halt is not None
        look = self._await(self._flow.name, lambda: look_at_copy(self._flow))
        report = replace(report, missing=look.missing)
        if report.missing and self._must_stop:
            return self._refuse(report, was_halted=was_halted)
        report = self._halt(report)
        if report.problem:
            return report
        look = self._look_at_rest()  # records may have come since
        report = replace(report, missing=look.missing)
        if report.missing and self._must_stop:
            return self._refuse(report, was_halted=was_halted)
        rewind = self._flow.groups.sync_offsets_rewind and not was_halted
        return self._move_groups(report, look, rewind=rewind)

    def _refuse(self, report: Report, *, was_halted: bool) -> Report:
        """A halt of this very command is lifted: while it holds, what is missing would stay so."""
        if was_halted:
            return replace(report, problem="not all is mirrored, and the flow is halted: no group was moved")
        held = self._find_halt()
        if held and held == report.halt:
            lift_halt(self._target, self._storage)
            held = None
        return replace(report, halt=held, problem="not all is mirrored: nothing was changed")

    def _look_at_rest(self) -> Look:
        until = time.monotonic() + (0.0 if self._order.dry_run else PROOF_S)
        while True:
            look = look_at_copy(self._flow, to_the_end=True)
            if not look.passes or time.monotonic() >= until:
                return look
            time.sleep(POLL_S)

    def _move_groups(self, report: Report, look: Look, *, rewind: bool) -> Report:
        self._tell("moving consumer groups")
        back = find_back(self._flow, self._flows)
        proven = Proven(look.known, look_at_copy(back, to_the_end=True).known if back else None)

        def read() -> Wanted:
            here, there = self._source.fetch_metadata(), self._target.fetch_metadata()
            other = other_way(self._flow, self._flows)
            translator = open_forward(self._flow, self._source, self._target, here, there, other, proven)
            groups, failed = find_groups(self._source, self._flow, self._order.groups)
            wanted = read_wanted(self._source, translator, groups, frozenset(), here)
            wanted.failed |= failed
            return wanted

        wanted = self._await_places(read, may_settle=not report.missing)
        if wanted.failed and self._order.force:
            self._add_last_known(wanted, look.caps)
        return self._with_moves(report, wanted, self._target, rewind=rewind)

    def _failover_without_source(self, report: Report) -> Report:
        leader, _ = find_leader(self._target, self._target.fetch_metadata(), self._flow)
        seen = leader.seen if leader else None
        progress = read_progress(self._target, self._target.fetch_metadata(), self._flow)
        known = {place for place in (*progress, *(seen.lag if seen else ())) if not looks_like_heartbeats(place[0])}
        facts = read_facts(self._target, self._target.fetch_metadata(), self._flow)
        report = replace(report, seen=seen, partitions=tuple(sorted(known)), missing=known_lag(seen, facts))
        report = self._halt(report)
        self._tell("moving consumer groups")
        wanted = Wanted()
        if not self._add_last_known(wanted, self._find_caps(facts, progress)):
            there = f"{self._checkpoints} is not on {self._flow.target.alias}"
            return replace(report, problem=f"there are no checkpoints to go by: {there}")
        return self._with_moves(report, wanted, self._target, rewind=False)

    def _find_caps(self, facts: Mapping[Place, Fact], progress: Mapping[Place, Standing]) -> dict[Place, int]:
        """By remote place, where what was copied ends, if others wrote behind it."""
        remote_name = TopicSelector.of(self._flow).remote_name
        return {
            (remote_name(place[0]), place[1]): progress[place].target_end
            for place, fact in facts.items()
            if fact.name in BESIDE and place in progress and progress[place].target_end >= 0
        }

    def _add_last_known(self, wanted: Wanted, caps: Mapping[Place, int]) -> bool:
        """Groups that can't be read at the source, as of their newest checkpoints. False: nobody has kept any."""
        if self._checkpoints not in self._target.fetch_metadata().topics:
            return False
        known = read_last_known(self._target, self._flow, self._checkpoints, self._order.groups, caps)
        wanted.rows = known.rows | wanted.rows
        wanted.failed = {group: why for group, why in wanted.failed.items() if group not in known.rows}
        return True

    def _halt(self, report: Report) -> Report:
        """A mirror that runs has to end first. With the source away it has nothing to end, so it is not insisted on."""
        if self._order.dry_run:
            return report
        halt = report.halt or write_halt(
            self._target, self._storage, self._flow.internal_replication_factor, by=who(), why=FAILOVER
        )
        report = replace(report, halt=halt)
        unrest = await_rest(self._target, self._flow, halt, self._tell)
        if unrest and not report.away and not self._order.force:
            return replace(report, problem=f"{unrest}: no group was moved, run it again")
        return replace(report, notes=(*report.notes, unrest)) if unrest else report

    def _why_away(self) -> str:
        until = time.monotonic() + TRIES_S
        while True:
            try:
                self._source.fetch_metadata()
                return ""
            except ConnectionLostError as error:
                if time.monotonic() >= until:
                    return str(error)
                self._tell(f"{self._flow.source.alias} does not answer, trying again")
                time.sleep(POLL_S)

    # -- failback

    def failback(self) -> Report:
        report = Report(verb=FAILBACK, flow=self._flow.name, dry_run=self._order.dry_run, halt=self._find_halt())
        back = find_back(self._flow, self._flows)
        there = Look()
        if back is not None:
            there = self._await(back.name, lambda: look_at_copy(back))
            report = replace(report, missing=there.missing)
            if report.missing and self._must_stop:
                return replace(report, problem=f"not all of {back.name} is mirrored: nothing was changed")
        look = self._await(self._flow.name, lambda: look_back(self._flow, back))
        report = replace(report, missing=(*report.missing, *look.missing))
        if report.missing and self._must_stop:
            alone = f"records stand on {self._flow.target.alias} alone"
            return replace(report, problem=f"{alone}: nothing was changed")
        self._tell("moving consumer groups back")
        proven = Proven(look.known, there.known if back else None)

        def read() -> Wanted:
            here, there = self._source.fetch_metadata(), self._target.fetch_metadata()
            translator = open_reverse(self._flow, self._source, self._target, here, there, back, proven)
            groups, failed = find_groups(self._target, self._flow, self._order.groups)
            wanted = read_wanted(self._target, translator, groups, find_merged(self._flow, here, there), there)
            wanted.failed |= failed
            return wanted

        wanted = self._await_places(read, may_settle=back is not None and self._is_running(back))
        return self._lift(self._with_moves(report, wanted, self._source, rewind=False))

    def _await_places(self, read: Callable[[], Wanted], *, may_settle: bool) -> Wanted:
        """Where a flow runs that translates, the places of what it copied last are written down a little later."""
        until = time.monotonic() + (self._order.wait_s if may_settle and not self._order.dry_run else 0.0)
        while True:
            wanted = read()
            left_s = until - time.monotonic()
            if wanted.is_settled or left_s <= 0:
                return wanted
            self._tell(f"places of the last records are not written down yet; waiting up to {left_s:.0f} s")
            time.sleep(min(POLL_S, left_s))

    def _is_running(self, back: FlowConfig) -> bool:
        leader, _ = find_leader(self._source, self._source.fetch_metadata(), back)
        return runs(back, leader)

    def _lift(self, report: Report) -> Report:
        if report.halt is None or self._order.dry_run:
            return report
        if self._order.groups:
            note = f"{self._flow.name} stays halted: failback without --group lets it go on"
            return replace(report, notes=(*report.notes, note))
        if not report.is_whole and not self._order.force:
            return replace(report, problem=f"{self._flow.name} stays halted until all is moved, or with --force")
        lift_halt(self._target, self._storage)
        return replace(report, halt=None, notes=(*report.notes, f"{self._flow.name} goes on"))

    # -- both

    @property
    def _must_stop(self) -> bool:
        return not self._order.force and not self._order.dry_run

    def _find_halt(self) -> Halt | None:
        return find_leader(self._target, self._target.fetch_metadata(), self._flow)[1]

    def _await(self, flow: str, look: Callable[[], Look]) -> Look:
        """What is still missing when it was waited for, or when waiting does not help."""
        until = time.monotonic() + (0.0 if self._order.dry_run else self._order.wait_s)
        while True:
            found = look()
            left_s = until - time.monotonic()
            if not found.missing or left_s <= 0 or not found.may_shrink:
                return found
            records = sum(row.records or 0 for row in found.missing)
            self._tell(f"{flow}: {records:,} records are not mirrored yet; waiting up to {left_s:.0f} s")
            time.sleep(min(POLL_S, left_s))

    def _with_moves(self, report: Report, wanted: Wanted, there: Cluster, *, rewind: bool) -> Report:
        is_there = there is self._target  # of places on the other side checkpoints say nothing
        synced = read_checkpoints(self._target, self._checkpoints, wanted.rows) if is_there else {}
        moves = move(there, wanted, dry_run=self._order.dry_run, synced=synced, rewind=rewind)
        gone = [g for g in self._order.groups if g not in wanted.rows and g not in wanted.failed]
        not_moved = wanted.failed | dict.fromkeys(gone, "it has committed nothing of a mirrored topic")
        if not report.away and not self._order.dry_run:
            self._write_checkpoints(report.verb, moves)
        return replace(report, moves=moves, not_moved=not_moved, still_there=wanted.members)

    def _write_checkpoints(self, verb: str, moves: Sequence[MoveRow]) -> None:
        there = self._target.fetch_metadata()
        if self._flow.groups.checkpoints_interval_s is None or self._checkpoints not in there.topics:
            return
        if verb == FAILOVER:
            write_checkpoints(self._target, self._checkpoints, moves)
        else:
            remotes = find_remotes(self._flow, self._source.fetch_metadata(), there)
            write_back(self._target, self._checkpoints, moves, remotes)


def find_back(flow: FlowConfig, flows: Sequence[FlowConfig]) -> FlowConfig | None:
    """The flow of the file from the target to the source, if there is one."""
    ends = (flow.target.alias, flow.source.alias)
    return next((f for f in flows if (f.source.alias, f.target.alias) == ends), None)
