"""One mirror's way through the benchmark: its topics, its process, its scenarios one after the other.

A scenario that fails is reported with the end of the mirror's log; the next one gets a fresh process.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from confluent_kafka import KafkaException

from bench.clusters import BenchError
from bench.cold import COLD
from bench.measurement import Measurement
from bench.mirrors import start_mirror
from bench.once import measure_once
from bench.scenarios import WHILE_RUNNING, Bench, Subject
from bench.setups import Setup, topic_name
from bench.sizes import MANY_PARTITIONS, PARTITIONS
from sparkmirror.errors import SparkmirrorError

Record = Callable[[Measurement], None]

RECORDS = "sparkmirror-records"
FAILURES = (BenchError, SparkmirrorError, KafkaException)


def run_mirror(bench: Bench, name: str, wanted: Sequence[str], record: Record) -> None:
    """All wanted scenarios of one mirror."""
    if name == RECORDS:
        wanted = [scenario for scenario in wanted if scenario in WHILE_RUNNING]  # the others tell nothing more of it
    during = [scenario for scenario in WHILE_RUNNING if scenario in wanted]
    if during:
        _run_session(bench, name, during, record)
    if "once" in wanted:
        setup = _setup(bench, name, "once", ["once"])
        with _topics_of(bench, setup):
            try:
                record(measure_once(bench, setup))
            except FAILURES as error:
                record(_failed(bench, name, "once", str(error)))
    for scenario, measure in COLD.items():
        if scenario in wanted:
            setup = _setup(bench, name, scenario, [scenario])
            with _topics_of(bench, setup, MANY_PARTITIONS if scenario == "partitions" else PARTITIONS):
                try:
                    for measured in measure(bench, setup):
                        record(measured)
                except FAILURES as error:
                    record(_failed(bench, name, scenario, str(error)))


def _run_session(bench: Bench, name: str, scenarios: Sequence[str], record: Record) -> None:
    setup = _setup(bench, name, "main", list(dict.fromkeys(["start-up", *scenarios])))
    with _topics_of(bench, setup):
        bench.send(topic_name(name, "start-up"), "small", 1)
        todo = deque(scenarios)
        while todo:
            try:
                _go_through(bench, setup, todo, record)
            except FAILURES as error:
                record(_failed(bench, name, todo.popleft(), str(error)))


def _go_through(bench: Bench, setup: Setup, todo: deque[str], record: Record) -> None:
    """With one process, as far as it comes. What is done is taken from `todo`; the first one there has failed."""
    bench.progress.say(setup.name, "starting")
    with start_mirror(setup) as mirror:
        subject = Subject(bench, setup, mirror)
        while todo:
            try:
                measured = WHILE_RUNNING[todo[0]](subject)
            except FAILURES as error:
                raise BenchError(f"{error} {mirror.tail()}") from error
            record(measured)
            todo.popleft()
        bench.progress.say(setup.name, "stopping")


def _setup(bench: Bench, name: str, run: str, scenarios: Sequence[str]) -> Setup:
    return Setup(
        name=name,
        run=run,
        topics=tuple(topic_name(name, scenario) for scenario in scenarios if scenario != "idle"),
        source_bootstrap=bench.pair.for_mirrors[0],
        target_bootstrap=bench.pair.for_mirrors[1],
        tasks=bench.sizes.tasks,
        security=bench.pair.security,
    )


@contextmanager
def _topics_of(bench: Bench, setup: Setup, partitions: int = PARTITIONS) -> Iterator[None]:
    """Made before the mirror starts, deleted when it is gone: all runs together would fill a disk."""
    bench.pair.source.create_topics(setup.topics, partitions=partitions)
    yield
    bench.pair.source.delete_topics(setup.topics)
    bench.pair.target.delete_topics([setup.remote(topic) for topic in setup.topics])


def _failed(bench: Bench, name: str, scenario: str, error: str) -> Measurement:
    bench.progress.say(name, f"{scenario}: FAILED: {error}")
    return Measurement(mirror=name, scenario=scenario, error=error)
