"""Compares both sides of a flow with Spark: plans, starts it, deals out tasks, says what they found."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.address import all_securities
from sparkmirror.control.verify_plan import plan_verify
from sparkmirror.control.verify_report import VerifyReport, assemble
from sparkmirror.control.verify_split import sample_tasks, split_tasks
from sparkmirror.pipeline.desk import Desk
from sparkmirror.pipeline.session import SPARE_SLOTS, count_slots, desk_host, start_spark
from sparkmirror.pipeline.strongbox import Strongbox
from sparkmirror.pipeline.verify_job import Done, run_verify_job, start_workers
from sparkmirror.pipeline.workspace import make_workspace
from sparkmirror.verify.task import VerifyResult, VerifyTask


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions:
    """What of the flow is compared, and how fast."""

    topics: str | None = None
    since_ms: int | None = None
    sample: int | None = None
    seed: int = 0
    bytes_per_second: float | None = None


@dataclass(frozen=True, slots=True)
class Ahead:
    """What there is to do, told before the first task begins."""

    tasks: int
    partitions: int
    offsets: int


Watch = Callable[[Ahead, Done], None]


def verify_flow(flow: FlowConfig, spark: Mapping[str, str], options: VerifyOptions, watch: Watch) -> VerifyReport:
    """SparkmirrorError: it can't be begun at all."""
    plan = plan_verify(flow, topics=options.topics, since_ms=options.since_ms, seed=options.seed)
    ready = [(each.task, each.offset_map) for each in plan.partitions if each.task and each.offset_map]

    def deal(slots: int) -> list[VerifyTask]:
        tasks = sample_tasks(ready, options.sample, options.seed) if options.sample else split_tasks(ready, slots)
        share = options.bytes_per_second and options.bytes_per_second / max(1, min(slots, len(tasks)))
        return [replace(task, bytes_per_second=share) for task in tasks]

    results, took_s = _run(flow, spark, deal, watch) if ready else ([], 0.0)
    return VerifyReport(
        flow=flow.name,
        seed=options.seed,
        sampled=options.sample,
        took_s=took_s,
        partitions=assemble(plan, results),
        notes=plan.notes,
    )


def _run(
    flow: FlowConfig, settings: Mapping[str, str], deal: Callable[[int], list[VerifyTask]], watch: Watch
) -> tuple[list[VerifyResult], float]:
    workspace = make_workspace()
    try:
        spark = start_spark(settings, max(0, (os.cpu_count() or 1) - SPARE_SLOTS) // 2, workspace)
        # It gives no leases; tasks borrow the secrets of their clients from it.
        desk = Desk(lambda _: 0.0, desk_host(spark), strongbox=Strongbox(all_securities(flow)))
        try:
            spark.sparkContext.environment.update(desk.environment)
            slots = count_slots(spark)
            start_workers(spark, slots)
            tasks = deal(slots)
            places = {(task.topic, task.partition) for task in tasks}
            ahead = Ahead(len(tasks), len(places), sum(task.end - task.first for task in tasks))
            began = time.monotonic()
            results = run_verify_job(spark, tasks, lambda done: watch(ahead, done))
            return results, time.monotonic() - began
        finally:
            desk.close()
            spark.stop()
    finally:
        shutil.rmtree(workspace, ignore_errors=True)
