"""What is measured and how much of it: the scenarios, and their sizes at a scale."""

from __future__ import annotations

from dataclasses import dataclass

from bench.layouts import LAYOUTS

SCENARIOS = (
    "start-up",
    "burst",
    "warm",
    "lz4",
    "small",
    "latency",
    "idle",
    "once",
    "backlog",
    "partitions",
    "idle-many",  # comes with partitions
    *LAYOUTS,
)
MIRRORS = ("mm2", "mm2-tuned", "sparkmirror", "sparkmirror-tuned", "sparkmirror-records")
PARTITIONS = 4
MANY_PARTITIONS = 1000
RECORD_BYTES = 1000
SMALL_RECORD_BYTES = 100
TASKS = 2
STEADY_TASKS = (1, 4)
STEADY_TURNS = 3
WARM_BURSTS = 3  # a machine that is shared with others is up to twice as slow in some seconds as in others


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Scale 1 is 1 GB of 1 KB records and 1,000,000 small ones. Waits get shorter at small scales, never longer."""

    scale: float
    tasks: int  # of each mirror
    warm_bursts: int  # of which the middle one counts
    burst_records: int
    small_records: int
    backlog_records: int
    latency_records: int
    idle_s: float
    settle_s: float
    deadline_s: float
    steady_s: int  # of each stretch of steady traffic
    steady_warm_up_s: int
    steady_turns: int  # of each mirror
    steady_tasks: tuple[int, ...]

    @classmethod
    def at(cls, scale: float, tasks: int = TASKS) -> Sizes:
        shorter = min(scale, 1.0)
        return cls(
            scale=scale,
            tasks=tasks,
            warm_bursts=WARM_BURSTS if scale >= 1 else 1,
            burst_records=round(1_000_000 * scale),
            small_records=round(1_000_000 * scale),
            backlog_records=round(3_000_000 * scale),
            latency_records=max(20, round(200 * shorter)),
            idle_s=max(5.0, 60 * shorter),
            settle_s=max(2.0, 20 * shorter),
            deadline_s=max(90.0, 180 * scale),
            steady_s=max(5, round(10 * shorter)),
            steady_warm_up_s=max(5, round(20 * shorter)),
            steady_turns=STEADY_TURNS if scale >= 1 else 1,
            steady_tasks=STEADY_TASKS,
        )

    def warm_up_records(self, records: int) -> int:
        """What a topic gets before its burst: enough for a JVM to have compiled its hot loops a first time."""
        return max(200, records // 50)
