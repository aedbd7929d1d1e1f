"""Mirrors under steady traffic: CPU in cores, latency of the flow's own records, wake-ups, memory.

All mirrors run side by side, each with a topic of its own, and copy in turns of some seconds:

    5 MB/s    mm2 | sparkmirror | mm2 | sparkmirror | mm2 | sparkmirror
    20 MB/s   mm2 | ...

So what the machine does to one it does to all: a figure of a minute later may be twice as high. Before it is measured
each copies for a while, which a JVM needs to compile its loops; brokers and producer do, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress

from bench.layouts import LAYOUTS, Layout, Traffic
from bench.measurement import Steady, surplus_of
from bench.mirrors import RunningMirror, start_mirror
from bench.scenarios import LATE_S, START_DEADLINE_S, Bench, looking_seldom
from bench.session import FAILURES
from bench.setups import Setup, topic_name
from bench.traffic import Heard, TrafficProgram

Record = Callable[[Steady], None]

REST_S = 2.0  # between two stretches
CAUGHT_UP_S = 60.0


def run_steady(bench: Bench, mirrors: Sequence[str], wanted: Sequence[str], record: Record) -> None:
    """All wanted layouts, for each number of tasks."""
    layouts = [layout for layout in LAYOUTS if layout in wanted]
    if not layouts:
        return
    with TrafficProgram(bench.pair) as program:
        for name in layouts:
            for tasks in bench.sizes.steady_tasks:
                _run_layout(bench, [_Runner(bench, program, mirror, name, tasks) for mirror in mirrors], name, record)


def _run_layout(bench: Bench, runners: Sequence[_Runner], name: str, record: Record) -> None:
    layout, going = LAYOUTS[name], list(runners)
    with ExitStack() as stack:

        def attempt(runner: _Runner, traffic: Traffic, work: Callable[[], Steady | None]) -> None:
            """Who fails is out of it; the others go on."""
            try:
                if measured := work():
                    record(measured)
            except FAILURES as error:
                going.remove(runner)
                record(runner.failed(traffic, error))

        for runner in runners:
            stack.callback(runner.close)
            attempt(runner, layout.warm_up, runner.start)
        for runner in list(going):
            attempt(runner, layout.warm_up, runner.warm_up)
        for traffic in layout.traffic:
            for _ in range(bench.sizes.steady_turns):
                for runner in list(going):
                    attempt(runner, traffic, lambda runner=runner, traffic=traffic: runner.measure(traffic))  # type: ignore[misc]


class _Runner:
    """One mirror, its topic and its turns."""

    def __init__(self, bench: Bench, program: TrafficProgram, mirror: str, layout: str, tasks: int) -> None:
        self._bench, self._program = bench, program
        self._layout: Layout = LAYOUTS[layout]
        self._topic = topic_name(mirror, f"{layout}-{tasks}")
        self._tasks = tasks
        self._mirror: RunningMirror | None = None
        self._setup = Setup(
            name=mirror,
            run=f"{layout}-{tasks}",
            topics=(self._topic,),
            source_bootstrap=bench.pair.for_mirrors[0],
            target_bootstrap=bench.pair.for_mirrors[1],
            tasks=tasks,
            security=bench.pair.security,
            is_steady=True,
        )

    def start(self) -> None:
        """The remote topic must be there before somebody listens to it."""
        self._say(f"starting, tasks.max {self._tasks}")
        self._bench.pair.source.create_topics([self._topic], partitions=self._layout.partitions)
        self._mirror = start_mirror(self._setup).__enter__()
        self._bench.send(self._topic, "small", 1)
        self._await_mirrored(START_DEADLINE_S)

    def warm_up(self) -> None:
        self._say("warming up")
        self._traffic(self._layout.warm_up, self._bench.sizes.steady_warm_up_s, lambda: None)
        self._await_mirrored(CAUGHT_UP_S)

    def close(self) -> None:
        pair, remote = self._bench.pair, self._setup.remote(self._topic)
        if self._mirror:
            self._mirror.stop()
        with suppress(*FAILURES):
            pair.source.delete_topics([self._topic])
            pair.target.delete_topics([remote])

    def failed(self, traffic: Traffic, error: Exception) -> Steady:
        self._say(f"{traffic.name}: FAILED: {error}")
        return Steady(mirror=self._setup.name, traffic=traffic.name, tasks=self._tasks, error=str(error))

    def _say(self, what: str) -> None:
        self._bench.progress.say(self._setup.name, what)

    def measure(self, traffic: Traffic) -> Steady:
        assert self._mirror is not None
        sizes, meter = self._bench.sizes, self._mirror.meter
        time.sleep(REST_S)
        self._say(f"{traffic.name}, tasks.max {self._tasks}, {sizes.steady_s} s")
        before = [0.0, 0.0, 0.0]

        def begun() -> None:
            meter.reset_peak()
            before[:] = meter.cpu_s(), meter.wake_ups(), time.perf_counter()

        with looking_seldom(meter):
            heard = self._traffic(traffic, sizes.steady_s, begun)
            cpu_s, wake_ups = meter.cpu_s() - before[0], meter.wake_ups() - before[1]
            seconds = time.perf_counter() - before[2]
        self._await_mirrored(CAUGHT_UP_S)
        gigabytes = heard.sent * traffic.megabytes_s / max(1, traffic.records_s) / 1000
        return Steady(
            mirror=self._setup.name,
            traffic=traffic.name,
            tasks=self._tasks,
            cores=cpu_s / seconds,
            cpu_s_per_gb=cpu_s / gigabytes if gigabytes > 0.01 else None,
            p50_ms=heard.p50_ms if heard.heard else None,
            p99_ms=heard.p99_ms if heard.heard else None,
            worst_ms=heard.worst_ms if heard.heard else None,
            memory_bytes=meter.peak_memory_bytes,
            wake_ups_s=wake_ups / seconds,
            records=heard.sent,
            surplus=self._count_surplus(),
        )

    def _traffic(self, traffic: Traffic, seconds: int, begun: Callable[[], None]) -> Heard:
        topics = self._topic, self._setup.remote(self._topic)
        return self._program.run(topics, self._layout.partitions, traffic, seconds, begun)

    def _await_mirrored(self, deadline_s: float) -> None:
        assert self._mirror is not None
        pair = self._bench.pair
        wanted = pair.source.ends(self._topic)
        pair.target.wait_for_ends(self._setup.remote(self._topic), wanted, deadline_s, self._mirror.is_running)

    def _count_surplus(self) -> int:
        pair = self._bench.pair
        time.sleep(LATE_S)
        return surplus_of(pair.source.ends(self._topic), pair.target.ends(self._setup.remote(self._topic)))
