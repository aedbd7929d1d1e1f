"""A cold copy of a topic that is there already: `sparkmirror run FILE --once`, and what comes nearest with MM2."""

from __future__ import annotations

import time

from bench.clusters import POLL_S, BenchError
from bench.measurement import Measurement
from bench.mirrors import RunningMirror, SparkMirror, start_mirror
from bench.scenarios import Bench, Subject
from bench.setups import Setup

EXIT_DEADLINE_S = 60.0
SETTLE_S = 2.0


def measure_once(bench: Bench, setup: Setup) -> Measurement:
    """From the start of the process to its end; MirrorMaker 2 has no end, so to the last record on the target."""
    bench.progress.say(setup.name, "once: producing")
    records = bench.send(setup.topics[0], "burst", bench.sizes.burst_records).total()
    time.sleep(SETTLE_S)
    bench.progress.say(setup.name, f"once: a cold copy of {records:,} records")
    once = SparkMirror(setup, once=True) if setup.is_ours else None
    with RunningMirror(once) if once else start_mirror(setup) as mirror:
        subject = Subject(bench, setup, mirror)
        try:
            note = _wait_done(subject, once)
        except BenchError as error:
            raise BenchError(f"{error} {mirror.tail()}") from error
        return Measurement(
            mirror=setup.name,
            scenario="once",
            wall_s=time.perf_counter() - mirror.began,
            cpu_s=mirror.meter.cpu_s(),
            peak_memory_bytes=mirror.meter.peak_memory_bytes,
            records=records,
            surplus=subject.count_surplus("once"),
            note=note,
        )


def _wait_done(subject: Subject, once: SparkMirror | None) -> str:
    subject.wait_mirrored("once", subject.bench.sizes.deadline_s)
    there_s = time.perf_counter() - subject.mirror.began
    if once is None:
        return "until all is there"
    deadline = time.monotonic() + EXIT_DEADLINE_S
    while once.running:
        if time.monotonic() > deadline:
            raise BenchError(f"All was copied, but it did not exit within {EXIT_DEADLINE_S:.0f} s.")
        time.sleep(POLL_S)
    if once.status:
        raise BenchError(f"It ended with status {once.status}.")
    return f"until exit; all is there after {there_s:.1f} s"
