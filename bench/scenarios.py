"""What is done to a running mirror, and what is measured meanwhile."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from bench.clusters import POLL_S, Pair
from bench.latency import measure_latency
from bench.load import RawProducer
from bench.measurement import MISSING, Counts, Measurement, middle_of, percentile, surplus_of
from bench.mirrors import RunningMirror
from bench.payload import Round, burst_rounds, lz4_rounds, small_rounds
from bench.process_tree import TreeMeter
from bench.progress import Progress
from bench.setups import Setup, topic_name
from bench.sizes import Sizes

START_DEADLINE_S = 120.0
SLOW_INTERVAL_S = 1.0
LATENCY_WARM_UP = 200
COUNTED_DEADLINE_S = 15.0
LATE_S = 1.0  # how long to look out for records that come twice


class Loads:
    """The batches of each burst, made when first needed and then used for every mirror."""

    @cached_property
    def burst(self) -> list[Round]:
        return burst_rounds()

    @cached_property
    def lz4(self) -> list[Round]:
        return lz4_rounds()

    @cached_property
    def small(self) -> list[Round]:
        return small_rounds()

    def of(self, scenario: str) -> list[Round]:
        kinds = {
            "burst": lambda: self.burst,
            "warm": lambda: self.burst,
            "lz4": lambda: self.lz4,
            "small": lambda: self.small,
        }
        return kinds[scenario]()


@dataclass(frozen=True)
class Bench:
    """What all scenarios of all mirrors share."""

    pair: Pair
    sizes: Sizes
    loads: Loads
    progress: Progress

    def send(self, topic: str, scenario: str, records: int) -> Counter[int]:
        with RawProducer(self.pair.source.cluster, topic) as producer:
            return producer.send(self.loads.of(scenario), records, self.sizes.deadline_s)

    def burst_size(self, scenario: str) -> int:
        return self.sizes.small_records if scenario == "small" else self.sizes.burst_records


@dataclass(frozen=True)
class Subject:
    """A running mirror under test."""

    bench: Bench
    setup: Setup
    mirror: RunningMirror

    def say(self, what: str) -> None:
        self.bench.progress.say(self.setup.name, what)

    def topics(self, scenario: str) -> tuple[str, str]:
        """The scenario's topic on the source and on the target."""
        topic = topic_name(self.setup.name, scenario)
        return topic, self.setup.remote(topic)

    def wait_mirrored(self, scenario: str, deadline_s: float) -> None:
        topic, remote = self.topics(scenario)
        wanted = self.bench.pair.source.ends(topic)
        self.bench.pair.target.wait_for_ends(remote, wanted, deadline_s, self.mirror.is_running)

    def count_surplus(self, scenario: str) -> int:
        topic, remote = self.topics(scenario)
        time.sleep(LATE_S)
        return surplus_of(self.bench.pair.source.ends(topic), self.bench.pair.target.ends(remote))

    def await_shares(self, before: Counts | None, records: int) -> str:
        """What became of so many records; receipts are some seconds behind them."""
        if before is None:
            return MISSING
        deadline = time.monotonic() + COUNTED_DEADLINE_S
        while True:
            found = (self.mirror.counts() or before).since(before)
            if found.records >= records or time.monotonic() > deadline:
                return found.shares()
            time.sleep(POLL_S)


@contextmanager
def looking_seldom(meter: TreeMeter) -> Iterator[None]:
    """The meter's own work must not show in latencies or on an idle machine."""
    meter.interval_s, usual = SLOW_INTERVAL_S, meter.interval_s
    try:
        yield
    finally:
        meter.interval_s = usual


def measure_start_up(subject: Subject) -> Measurement:
    """From the start of the process until the record that was there before is on the target."""
    subject.wait_mirrored("start-up", START_DEADLINE_S)
    return Measurement(
        mirror=subject.setup.name,
        scenario="start-up",
        wall_s=time.perf_counter() - subject.mirror.began,
        cpu_s=subject.mirror.meter.cpu_s(),
        peak_memory_bytes=subject.mirror.meter.peak_memory_bytes,
        records=sum(subject.bench.pair.source.ends(subject.topics("start-up")[0]).values()),
        surplus=subject.count_surplus("start-up"),
    )


def measure_burst(subject: Subject, scenario: str) -> Measurement:
    """Warm up, rest, then all at once."""
    records = subject.bench.burst_size(scenario)
    _warm_up(subject, scenario, subject.bench.sizes.warm_up_records(records))
    return _measure_one_burst(subject, scenario, records)


def measure_warm(subject: Subject) -> Measurement:
    """Bursts for a mirror that has copied as much before, which a JVM needs to compile its loops."""
    records = subject.bench.burst_size("warm")
    _warm_up(subject, "warm", records)
    return middle_of([_measure_one_burst(subject, "warm", records) for _ in range(subject.bench.sizes.warm_bursts)])


def _warm_up(subject: Subject, scenario: str, records: int) -> None:
    bench = subject.bench
    bench.send(subject.topics(scenario)[0], scenario, records)
    subject.wait_mirrored(scenario, max(START_DEADLINE_S, bench.sizes.deadline_s))
    subject.say(f"{scenario}: warm, idle for {bench.sizes.settle_s:.0f} s")
    time.sleep(bench.sizes.settle_s)


def _measure_one_burst(subject: Subject, scenario: str, records: int) -> Measurement:
    """From the first record produced to the last one readable."""
    bench, meter = subject.bench, subject.mirror.meter
    topic, _ = subject.topics(scenario)
    subject.say(f"{scenario}: {records:,} records")
    meter.reset_peak()
    counted = subject.mirror.counts()
    cpu_before, began = meter.cpu_s(), time.perf_counter()
    sent = bench.send(topic, scenario, records)
    produced_s = time.perf_counter() - began
    subject.wait_mirrored(scenario, bench.sizes.deadline_s)
    wall_s, cpu_s = time.perf_counter() - began, meter.cpu_s() - cpu_before
    return Measurement(
        mirror=subject.setup.name,
        scenario=scenario,
        wall_s=wall_s,
        cpu_s=cpu_s,
        peak_memory_bytes=meter.peak_memory_bytes,
        records=sent.total(),
        surplus=subject.count_surplus(scenario),
        shares=subject.await_shares(counted, sent.total()),
        note=f"producer done after {produced_s:.1f} s",
    )


def measure_single_records(subject: Subject) -> Measurement:
    bench, meter = subject.bench, subject.mirror.meter
    topic, remote = subject.topics("latency")
    bench.send(topic, "small", LATENCY_WARM_UP)
    subject.wait_mirrored("latency", START_DEADLINE_S)
    subject.say(f"latency: {bench.sizes.latency_records} single records")
    meter.reset_peak()
    cpu_before, began = meter.cpu_s(), time.perf_counter()
    with looking_seldom(meter):
        values = measure_latency(bench.pair, topic, remote, bench.sizes.latency_records)
    cpu_s, seconds = meter.cpu_s() - cpu_before, time.perf_counter() - began
    return Measurement(
        mirror=subject.setup.name,
        scenario="latency",
        cpu_s=cpu_s,
        p50_ms=percentile(values, 50),
        p99_ms=percentile(values, 99),
        worst_ms=max(values),
        peak_memory_bytes=meter.peak_memory_bytes,
        records=len(values),
        surplus=subject.count_surplus("latency"),
        note=f"over {seconds:.0f} s",
    )


def measure_idle(subject: Subject, scenario: str = "idle") -> Measurement:
    """Nothing is produced; CPU a minute."""
    meter, seconds = subject.mirror.meter, subject.bench.sizes.idle_s
    time.sleep(min(5.0, subject.bench.sizes.settle_s))
    subject.say(f"idle: {seconds:.0f} s")
    meter.reset_peak()
    cpu_before, began = meter.cpu_s(), time.perf_counter()
    with looking_seldom(meter):
        time.sleep(seconds)
    cpu_s, seconds = meter.cpu_s() - cpu_before, time.perf_counter() - began
    return Measurement(
        mirror=subject.setup.name,
        scenario=scenario,
        cpu_s=cpu_s * 60 / seconds,
        peak_memory_bytes=meter.peak_memory_bytes,
        note=f"CPU a minute, over {seconds:.0f} s",
    )


# In the order in which a session goes through them.
WHILE_RUNNING: Mapping[str, Callable[[Subject], Measurement]] = {
    "start-up": measure_start_up,
    "burst": lambda subject: measure_burst(subject, "burst"),
    "warm": measure_warm,
    "lz4": lambda subject: measure_burst(subject, "lz4"),
    "small": lambda subject: measure_burst(subject, "small"),
    "latency": measure_single_records,
    "idle": measure_idle,
}
