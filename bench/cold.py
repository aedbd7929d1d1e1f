"""Mirrors that find a backlog when they start: small batches, and very many partitions, then idle with those."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping

from bench.clusters import POLL_S, BenchError
from bench.measurement import Measurement
from bench.mirrors import start_mirror
from bench.payload import build_batch, random_value
from bench.scenarios import Bench, Subject, measure_idle
from bench.setups import Setup
from bench.sizes import MANY_PARTITIONS
from sparkmirror.net.log import append_batch

SETTLE_S = 2.0
FIRST_SHARE = 0.1  # what a mirror may copy before its pace is taken: a cold JVM is slow at first
QUIET_S = 30.0


def measure_backlog(bench: Bench, setup: Setup) -> Iterator[Measurement]:
    """The pace of a mirror in a backlog of small batches, from a tenth of it to its end."""
    topic = setup.topics[0]
    bench.progress.say(setup.name, "backlog: producing")
    records = bench.send(topic, "small", bench.sizes.backlog_records).total()
    time.sleep(SETTLE_S)
    with start_mirror(setup) as mirror:
        subject = Subject(bench, setup, mirror)
        bench.progress.say(setup.name, f"backlog: {records:,} records in small batches")
        _wait_for_total(subject, FIRST_SHARE * records)
        cpu_before, began = mirror.meter.cpu_s(), time.perf_counter()
        before = sum(bench.pair.target.ends(setup.remote(topic)).values())
        subject.wait_mirrored("backlog", bench.sizes.deadline_s)
        wall_s, cpu_s = time.perf_counter() - began, mirror.meter.cpu_s() - cpu_before
        yield Measurement(
            mirror=setup.name,
            scenario="backlog",
            wall_s=wall_s,
            cpu_s=cpu_s,
            peak_memory_bytes=mirror.meter.peak_memory_bytes,
            records=records - before,
            surplus=subject.count_surplus("backlog"),
            note=f"{(records - before) / wall_s:,.0f} records a second",
        )


def measure_partitions(bench: Bench, setup: Setup) -> Iterator[Measurement]:
    """A cold start with a megabyte in each of very many partitions; then idle with all of them."""
    topic = setup.topics[0]
    bench.progress.say(setup.name, f"partitions: producing 1 MB into each of {MANY_PARTITIONS:,}")
    records = _fill(bench, topic)
    time.sleep(SETTLE_S)
    with start_mirror(setup) as mirror:
        subject = Subject(bench, setup, mirror)
        bench.progress.say(setup.name, f"partitions: {records:,} records")
        subject.wait_mirrored("partitions", bench.sizes.deadline_s)
        yield Measurement(
            mirror=setup.name,
            scenario="partitions",
            wall_s=time.perf_counter() - mirror.began,
            cpu_s=mirror.meter.cpu_s(),
            peak_memory_bytes=mirror.meter.peak_memory_bytes,
            records=records,
            surplus=subject.count_surplus("partitions"),
            note=f"{MANY_PARTITIONS:,} partitions, from the start of the process",
        )
        time.sleep(min(QUIET_S, bench.sizes.settle_s))
        yield measure_idle(subject, "idle-many")


def _fill(bench: Bench, topic: str) -> int:
    rng = random.Random(1)
    values = [random_value(rng) for _ in range(max(1, round(1000 * min(1.0, bench.sizes.scale))))]
    batch = build_batch(values, timestamp_ms=int(time.time() * 1000))
    cluster = bench.pair.source.cluster
    info = cluster.fetch_metadata([topic]).topics[topic]
    for partition in info.leaders:
        append_batch(cluster, info, partition, batch.data)
    return batch.records * len(info.leaders)


def _wait_for_total(subject: Subject, wanted: float) -> None:
    deadline = time.monotonic() + subject.bench.sizes.deadline_s
    remote = subject.setup.remote(subject.setup.topics[0])
    while sum(subject.bench.pair.target.ends(remote).values()) < wanted:
        if not subject.mirror.is_running() or time.monotonic() > deadline:
            raise BenchError("The mirror did not begin to copy.")
        time.sleep(POLL_S)


# Each with a process of its own.
COLD: Mapping[str, Callable[[Bench, Setup], Iterator[Measurement]]] = {
    "backlog": measure_backlog,
    "partitions": measure_partitions,
}
