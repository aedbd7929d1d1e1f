"""Mirrors under steady traffic: CPU in cores, latency of the flow's own records, wake-ups, memory.

Each mirror runs several times, in turn with the others, so that what the machine does to one it does to all. Before it
is measured it copies for a while, which a JVM needs to compile its loops.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from bench.layouts import LAYOUTS, Layout, Traffic
from bench.measurement import Steady, surplus_of
from bench.mirrors import RunningMirror, start_mirror
from bench.scenarios import LATE_S, START_DEADLINE_S, Bench, looking_seldom
from bench.session import FAILURES
from bench.setups import Setup, topic_name
from bench.traffic import Heard, TrafficProgram

Record = Callable[[Steady], None]

REST_S = 3.0  # between two stretches
CAUGHT_UP_S = 60.0


def run_steady(bench: Bench, mirrors: Sequence[str], wanted: Sequence[str], record: Record) -> None:
    """All wanted layouts, for each number of tasks, again and again."""
    sizes, layouts = bench.sizes, [layout for layout in LAYOUTS if layout in wanted]
    if not layouts:
        return
    with TrafficProgram(bench.pair) as program:
        for name in layouts:
            for tasks in sizes.steady_tasks:
                for turn in range(sizes.steady_turns):
                    for mirror in mirrors:
                        _Session(bench, program, mirror, name, tasks, turn, record).run()


class _Session:
    """One mirror's process, from its start to its end."""

    def __init__(
        self, bench: Bench, program: TrafficProgram, mirror: str, layout: str, tasks: int, turn: int, record: Record
    ) -> None:
        self._bench, self._program, self._record = bench, program, record
        self._layout: Layout = LAYOUTS[layout]
        self._topic = topic_name(mirror, f"{layout}-{tasks}-{turn}")
        self._tasks = tasks
        self._setup = Setup(
            name=mirror,
            run=f"{layout}-{tasks}-{turn}",
            topics=(self._topic,),
            source_bootstrap=bench.pair.for_mirrors[0],
            target_bootstrap=bench.pair.for_mirrors[1],
            tasks=tasks,
            security=bench.pair.security,
            is_steady=True,
        )

    def run(self) -> None:
        todo = list(self._layout.traffic)
        with self._topics():
            self._say(f"starting, tasks.max {self._tasks}")
            try:
                with start_mirror(self._setup) as mirror:
                    self._warm_up(mirror)
                    while todo:
                        self._record(self._measure(mirror, todo[0]))
                        todo.pop(0)
            except FAILURES as error:
                failed = Steady(mirror=self._setup.name, traffic=todo[0].name, tasks=self._tasks, error=str(error))
                self._say(f"{failed.traffic}: FAILED: {error}")
                self._record(failed)

    def _say(self, what: str) -> None:
        self._bench.progress.say(self._setup.name, what)

    @contextmanager
    def _topics(self) -> Iterator[None]:
        pair, remote = self._bench.pair, self._setup.remote(self._topic)
        pair.source.create_topics([self._topic], partitions=self._layout.partitions)
        yield
        pair.source.delete_topics([self._topic])
        pair.target.delete_topics([remote])

    def _warm_up(self, mirror: RunningMirror) -> None:
        """The remote topic must be there before somebody listens to it."""
        self._bench.send(self._topic, "small", 1)
        self._await_mirrored(mirror, START_DEADLINE_S)
        self._say("warming up")
        self._traffic(self._layout.warm_up, self._bench.sizes.steady_s, lambda: None)
        self._await_mirrored(mirror, CAUGHT_UP_S)

    def _measure(self, mirror: RunningMirror, traffic: Traffic) -> Steady:
        sizes, meter = self._bench.sizes, mirror.meter
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
        self._await_mirrored(mirror, CAUGHT_UP_S)
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

    def _await_mirrored(self, mirror: RunningMirror, deadline_s: float) -> None:
        pair = self._bench.pair
        wanted = pair.source.ends(self._topic)
        pair.target.wait_for_ends(self._setup.remote(self._topic), wanted, deadline_s, mirror.is_running)

    def _count_surplus(self) -> int:
        pair = self._bench.pair
        time.sleep(LATE_S)
        return surplus_of(pair.source.ends(self._topic), pair.target.ends(self._setup.remote(self._topic)))
