"""The supervisor: starts Spark, has rounds given (`rounds.py`), keeps the queries alive, stops it all in order."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import shutil
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from sparkmirror.config.model import MirrorConfig
from sparkmirror.control.address import all_securities
from sparkmirror.control.discovery import Place
from sparkmirror.control.flow import FlowKeeper
from sparkmirror.control.group_keeper import GroupKeeper
from sparkmirror.control.group_survey import other_way
from sparkmirror.control.heartbeat_pairs import HeartbeatPairs
from sparkmirror.control.ledger import Ledger
from sparkmirror.control.once import PATIENCE_S, OnceGoal
from sparkmirror.control.part import Part
from sparkmirror.control.round_plan import RoundPlanner
from sparkmirror.control.rounds import Rounds
from sparkmirror.control.status import mirror_status, progress_line, write_status
from sparkmirror.copy.lease import Lease
from sparkmirror.copy.receipt import Receipt
from sparkmirror.errors import BrokenPartError, SetupError
from sparkmirror.groups.task import GroupReport, GroupTask
from sparkmirror.pipeline.desk import Desk
from sparkmirror.pipeline.figures import Figures
from sparkmirror.pipeline.group_job import run_group_job
from sparkmirror.pipeline.jvm_watch import JvmWatch
from sparkmirror.pipeline.query import start_query
from sparkmirror.pipeline.records_flow import SETTINGS, RecordsFlow
from sparkmirror.pipeline.session import (
    DEFAULT_MASTER,
    count_slots,
    desk_bind,
    desk_host,
    is_local,
    plan_master,
    start_spark,
)
from sparkmirror.pipeline.strongbox import Strongbox
from sparkmirror.pipeline.workspace import make_workspace
from sparkmirror.topology.standing import Standing

log = logging.getLogger("sparkmirror.mirror")

QUERIES = ("sparkmirror-a", "sparkmirror-b")
PROGRESS_EVERY_S = 30.0
STATUS_EVERY_S = 2.0
IDLE_S = 0.5
STOP_WAIT_S = 2.5
QUERIES_EVERY_S = 3.0  # each look is a question to Spark's JVM and back

MainPoints = tuple[tuple[str, float], dict[Place, tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class RunOptions:
    status_file: Path | None = None
    once: bool = False


class Mirror:
    """One run of a file."""

    def __init__(self, config: MirrorConfig, options: RunOptions | None = None) -> None:
        self.config = config
        self.options = options or RunOptions()
        self.ledger = Ledger()
        self.figures = Figures()
        self.keepers = [FlowKeeper(flow, self.ledger, self._note_change) for flow in config.flows]
        self.groups = [
            GroupKeeper(keeper, other_way(keeper.flow, config.flows), self._run_groups, lambda k=keeper: self._tasks(k))  # type: ignore[misc]
            for keeper in self.keepers
            if keeper.flow.follows_groups
        ]
        self._pairs = HeartbeatPairs(config.heartbeat_pairs, self._note_change)
        self._goal = OnceGoal(self.keepers, self.ledger) if self.options.once else None
        self._planner = RoundPlanner(self.keepers, self.ledger, self._pairs, self._goal)
        self.spark: SparkSession | None = None
        self.queries: list[StreamingQuery] = []
        self._records: dict[str, RecordsFlow] = {}  # by flow, those on the record way
        self._desk: Desk | None = None
        self._workspace = make_workspace()
        self._rounds: Rounds | None = None
        self._news = threading.Event()
        self._stopping = threading.Event()
        self._next_line = time.monotonic() + PROGRESS_EVERY_S
        self._next_status = 0.0
        self._told: list[MainPoints] = []  # what the status file was last written with
        self._look_at_queries_at = 0.0
        self.summary = ""  # of a run with `once`, when it has ended

    def stop(self) -> None:
        """Ask for the end; safe in a signal handler."""
        self._stopping.set()
        self._news.set()

    def run(self) -> list[str]:
        """Mirror until stopped, or with `once` until all is copied. Returns what is missing."""
        began = time.monotonic()
        for keeper in self.keepers:
            keeper.start()
        if self._goal is None:
            self._pairs.start()
        else:
            log.info("once: copies what is there now, and gives up when nothing has moved for %.0f s", PATIENCE_S)
        try:
            with JvmWatch(self._start_spark()):
                while not self._stopping.is_set() and not (self._goal and self._goal.reached(self._hints())):
                    self._turn()
        except (Py4JError, ConnectionError) as error:
            raise SetupError(f"Spark's JVM ended: {_first_line(error)}") from error
        finally:
            self._shut_down()
        if self._goal is None:
            return []
        self.summary = self._goal.summary(self._hints(), time.monotonic() - began)
        return self._goal.missing(self._hints())

    # -- rounds

    def _turn(self) -> None:
        """Give one round of leases and stay with it until the next is due."""
        self._tend()
        self._news.clear()
        assert self._desk is not None and self._rounds is not None
        self._rounds.look_at_slots()
        leases = self._planner.plan(self._desk.next_number, self._hints(), self._rounds.leases_of)
        if leases:
            self._rounds.run(leases)
        else:
            self._desk.recall()
            self._news.wait(IDLE_S)

    def _tend_records(self) -> None:
        """Flows on the record way have one lease, which lasts until their partitions change."""
        for keeper in self.keepers:
            flow = self._records.get(keeper.flow.name)
            view = keeper.view
            if flow is not None:
                places = view.landscape.partitions if keeper.lead.term_s and view.landscape else ()
                plan = functools.partial(self._plan_rows, keeper)
                flow.tend([(p.topic, p.partition) for p in places], plan)

    def _plan_rows(self, keeper: FlowKeeper) -> Lease | None:
        return next(iter(self._planner.plan_flow(keeper, 0, self._hints(), 1)), None)

    def _tasks(self, keeper: FlowKeeper) -> int:
        assert self._rounds is not None
        return self._rounds.tasks_of(keeper)

    def _note_change(self) -> None:
        """A keeper found something new."""
        self._news.set()
        self._wake()

    def _wake(self) -> None:
        if self._desk is not None:
            with self._desk.changed:
                self._desk.changed.notify_all()

    def _hints(self) -> dict[str, dict[Place, Standing]]:
        hints: dict[str, dict[Place, Standing]] = {}
        for (flow, topic, partition), hint in (self._desk.hints() if self._desk else {}).items():
            hints.setdefault(flow, {})[topic, partition] = hint
        return hints | {flow: records.hints() for flow, records in self._records.items()}

    @property
    def _emits(self) -> bool:
        """Whether tasks are needed for heartbeats, also if every flow takes the record way."""
        flows = (*self.config.flows, *self.config.heartbeat_pairs)
        return self._goal is None and any(flow.heartbeats.interval_s is not None for flow in flows)

    # -- Spark

    def _start_spark(self) -> SparkSession:
        wanted = sum(k.flow.tasks_max or os.cpu_count() or 1 for k in self.keepers)
        log.info("starting Spark (%s)", plan_master(self.config.spark.get("spark.master", DEFAULT_MASTER), wanted))
        by_rows = [keeper.flow.name for keeper in self.keepers if keeper.flow.by_rows]
        self.spark = start_spark((SETTINGS if by_rows else {}) | dict(self.config.spark), wanted, self._workspace)
        self.spark.streams.addListener(self.figures)
        flows = (*self.config.flows, *self.config.heartbeat_pairs)
        strongbox = Strongbox(security for flow in flows for security in all_securities(flow))
        self._desk = Desk(
            self._term_of,
            desk_host(self.spark),
            self._take_receipts,
            self._write_standing,
            strongbox,
            desk_bind(self.spark),
            self._is_current,
            lambda flow: self._keeper(flow).lead.takes,
        )
        self._rounds = Rounds(
            self.keepers,
            self.ledger,
            self._desk,
            local_slots=wanted if is_local(self.config.spark) else 0,
            count_slots=functools.partial(count_slots, self.spark),
            has_groups=bool(self.groups),
            has_goal=self._goal is not None,
            tend=self._tend,
            news=self._news,
        )
        self.spark.sparkContext.environment.update(self._desk.environment)
        for name in by_rows:
            self._records[name] = RecordsFlow(name, self.spark, self._take_batch, self._workspace)
        if len(by_rows) < len(self.keepers) or self._emits:
            self.queries = [self._start_query(name) for name in QUERIES]
        for keeper in self.keepers:
            keeper.lead.allow()
        for groups in self.groups:
            groups.start()
        log.info("Spark %s runs, UI at %s", self.spark.version, self.spark.sparkContext.uiWebUrl or "(off)")
        return self.spark

    def _start_query(self, name: str) -> StreamingQuery:
        assert self.spark is not None
        return start_query(self.spark, name, self._workspace)

    def _run_groups(self, tasks: Sequence[GroupTask]) -> list[GroupReport]:
        assert self.spark is not None
        return run_group_job(self.spark, tasks)

    def _take_receipts(self, receipts: list[Receipt]) -> None:
        if self._rounds and any(receipt.is_news for receipt in receipts):
            self._rounds.note_news()
        moved = self.ledger.take(receipts)
        for keeper in self.keepers:
            keeper.note_progress(moved.get(keeper.flow.name, {}), receipts)

    def _take_batch(self, receipts: list[Receipt]) -> None:
        """Of a micro-batch of rows. Its progress is written before the next begins, which reads it."""
        self._take_receipts(receipts)
        for flow in {receipt.flow for receipt in receipts}:
            self._keeper(flow).write_progress()

    def _write_standing(self, flow: str, place: Place, standing: Standing) -> None:
        self._keeper(flow).write_standing(place, standing)

    def _tend(self) -> None:
        """What comes round by itself: dead queries, progress lines, the status file."""
        now = time.monotonic()
        if broken := [f"{part.name}: {part.trouble}" for part in self.parts if part.is_broken]:
            raise BrokenPartError(f"{'; '.join(broken)}; see the traceback above. The mirror ends, for another to lead")
        if now >= self._look_at_queries_at:
            self._tend_queries(now)
        for keeper in self.keepers:
            keeper.is_calm = self._rounds is not None and self._rounds.is_calm
            if not keeper.view.leads:
                self._forget(keeper.flow.name)  # another driver goes on from there
        self._tend_records()
        self._tend_halts()
        if now >= self._next_status or self._has_news():
            self._next_status = now + STATUS_EVERY_S
            self._write_status()
        if now >= self._next_line:
            self._next_line = now + PROGRESS_EVERY_S
            for flow in self.status()["flows"]:
                log.info("%s", progress_line(flow))

    def _tend_queries(self, now: float) -> None:
        self._look_at_queries_at = now + QUERIES_EVERY_S
        stuck = self._desk.take_stuck() if self._desk is not None else []
        for index, query in enumerate(self.queries):
            if QUERIES[index] in stuck and query.isActive:
                log.warning("query %s waits for a task that does not end: both are given up", QUERIES[index])
                with contextlib.suppress(PySparkException):  # it ended by itself
                    query.stop()
                self.queries[index] = self._start_query(QUERIES[index])
            elif not query.isActive and not self._stopping.is_set():
                cause = query.exception()
                log.error("query %s ended and is started again: %s", QUERIES[index], _first_line(cause))
                self.queries[index] = self._start_query(QUERIES[index])
                self._news.set()

    # -- status and the end

    def status(self) -> dict[str, Any]:
        context = self.spark.sparkContext if self.spark else None
        spark: dict[str, Any] = {}
        if context:
            spark = {
                "master": context.master,
                "application": context.applicationId,
                "observed": self.figures.sums(),
            }
        return mirror_status(self.keepers, self.ledger, spark, self.parts, self._hints())

    @property
    def parts(self) -> list[Part]:
        """All that has a thread of its own."""
        return [*(part for keeper in self.keepers for part in keeper.parts), self._pairs.part]

    def _has_news(self) -> bool:
        """Whether there are other facts or problems than were told last, or the source was heard beside a problem."""
        told, self._told = self._told, [self._main_points(keeper) for keeper in self.keepers]
        return self._told != told

    def _main_points(self, keeper: FlowKeeper) -> MainPoints:
        facts, view = self.ledger.facts(keeper.flow.name), keeper.view
        problem = (view.problem_state, view.heard_at) if view.problem else ("", 0.0)
        return problem, {place: (fact.kind, fact.name) for place, fact in facts.items()}

    def _write_status(self) -> None:
        if self.options.status_file:
            try:
                write_status(self.options.status_file, self.status())
            except OSError as error:
                log.warning("the status file can't be written: %s", error)

    def _last_positions(self, keeper: FlowKeeper) -> dict[Place, Standing]:
        """What no receipt may have told. Where offsets are translated, progress does not go beyond receipts."""
        hints = {} if self._holds(keeper) else self._hints().get(keeper.flow.name, {})
        return {place: standing for place, standing in hints.items() if not standing.translated}

    def _forget(self, flow: str) -> None:
        if self._desk is not None:
            self._desk.forget(flow)
        if flow in self._records:
            self._records[flow].forget()

    def _holds(self, keeper: FlowKeeper) -> bool:
        return self._desk is not None and self._desk.holds(keeper.flow.name)

    def _tend_halts(self) -> None:
        """A halted flow is at rest when no lease of it is out, this driver's or another's, its upkeep is over, all is
        written and nobody is at its groups.
        """
        for keeper in self.keepers:
            if not keeper.owes_rest or self._holds(keeper):
                continue
            last = self._last_positions(keeper)
            if not keeper.progress.is_all_written(last):
                keeper.progress.note(last)
                keeper.write_progress_soon()
            elif not any(groups.is_busy for groups in self.groups if groups.flow is keeper.flow):
                keeper.lead.note_rest()

    def _term_of(self, flow: str) -> float:
        return self._keeper(flow).term_s

    def _is_current(self, lease: Lease) -> bool:
        return self._keeper(lease.flow).is_current(lease)

    def _keeper(self, flow: str) -> FlowKeeper:
        return next(k for k in self.keepers if k.flow.name == flow)

    def _shut_down(self) -> None:
        """Finish what is in flight, write progress, end Spark."""
        for flow in self._records.values():
            flow.stop()
        if self._desk is not None:
            self._desk.recall()
            self._desk.wait(lambda: not any(map(self._holds, self.keepers)), STOP_WAIT_S)
            self._desk.close()
            for keeper in self.keepers:
                keeper.progress.note(self._last_positions(keeper))
                keeper.write_progress()
        if self._goal and self.spark is not None and not self._stopping.is_set():
            for groups in self.groups:
                groups.finish()
        for query in self.queries:
            with contextlib.suppress(PySparkException, Py4JError, OSError):  # it ended by itself
                query.stop()
        self._pairs.stop()
        for groups in self.groups:
            groups.stop()
        for keeper in self.keepers:
            keeper.stop(is_done=not self._holds(keeper))
        self._write_status()
        if self.spark is not None:
            with contextlib.suppress(PySparkException, Py4JError, OSError):
                self.spark.stop()
        shutil.rmtree(self._workspace, ignore_errors=True)


def _first_line(error: object) -> str:
    return (str(error).strip().splitlines() or ["no reason given"])[0]
