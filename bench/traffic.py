"""The program that makes steady traffic: a Java producer as users have it, with Kafka's defaults.

A consumer in the same process reads some of the partitions on the target, so that latencies are those of the flow's own
records, told by one clock.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from bench.clusters import Pair
from bench.layouts import RECORD_BYTES, Traffic
from sparkmirror.embedded.programs import JavaProgram

PROGRAMS = Path(__file__).parent / "java"
ANSWER_S = 60.0


class Heard(NamedTuple):
    """`heard` of the records that were `sent` were measured."""

    sent: int
    heard: int
    p50_ms: float
    p99_ms: float
    worst_ms: float


class TrafficProgram:
    """One JVM for all stretches, so that its own warm-up is over early."""

    def __init__(self, pair: Pair) -> None:
        self._program = JavaProgram(PROGRAMS, "Traffic", pair.source.bootstrap, pair.target.bootstrap)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._program.close()

    def run(
        self, topics: tuple[str, str], partitions: int, traffic: Traffic, seconds: int, begun: Callable[[], None]
    ) -> Heard:
        """`topics`: of the source and of the target. `begun` is called when the first record goes out."""
        words = (
            *topics,
            traffic.records_s,
            RECORD_BYTES,
            seconds,
            partitions,
            min(traffic.listened, partitions),
            str(traffic.in_turn).lower(),
        )
        self._program.ask(" ".join(map(str, words)), ANSWER_S)
        begun()
        sent, heard, *micros = map(int, self._program.await_line(seconds + ANSWER_S).split())
        return Heard(sent, heard, *(value / 1000 for value in micros))
