"""The whole run: two brokers, the producer alone, then one mirror after the other."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.clusters import running_pair
from bench.measurement import MISSING, Alone, Measurement, Steady
from bench.progress import Progress
from bench.report import COLUMNS, result_rows
from bench.scenarios import Bench, Loads
from bench.session import RECORDS, run_mirror
from bench.setups import topic_name
from bench.sizes import Sizes
from bench.steady import run_steady
from bench.steady_report import STEADY_COLUMNS, steady_rows

STEADY_ONLY = "sparkmirror-tuned"
BURSTS = ("burst", "lz4", "small")


@dataclass
class Findings:
    """Grows while the run goes on, so that an interrupted run has what came before."""

    alone: dict[str, Alone] = field(default_factory=dict)
    measurements: list[Measurement] = field(default_factory=list)
    steady: list[Steady] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """Duplicates are a finding; a failure or a missing record is not the measurement that was asked for."""
        measured: list[Measurement | Steady] = [*self.measurements, *self.steady]
        return not any(m.error or m.surplus < 0 for m in measured)


def run_all(
    progress: Progress,
    sizes: Sizes,
    scenarios: Sequence[str],
    mirrors: Sequence[str],
    findings: Findings,
    *,
    tls: bool = False,
) -> None:
    def record(m: Measurement) -> None:
        findings.measurements.append(m)
        if not m.error:
            progress.say(m.mirror, f"{m.scenario}: {one_line(m)}")

    def record_steady(m: Steady) -> None:
        findings.steady.append(m)
        if not m.error:
            progress.say(m.mirror, _cells(STEADY_COLUMNS, steady_rows([m])[0]))

    progress.say("bench", "starting two brokers")
    with running_pair(tls=tls) as pair:
        bench = Bench(pair, sizes, Loads(), progress)
        for scenario in (s for s in BURSTS if s in scenarios):
            findings.alone[scenario] = _produce_alone(bench, scenario)
        for name in (name for name in mirrors if name != STEADY_ONLY):
            run_mirror(bench, name, scenarios, record)
        run_steady(bench, [name for name in mirrors if name != RECORDS], scenarios, record_steady)
        progress.say("bench", "stopping the brokers")


def one_line(m: Measurement) -> str:
    return _cells(COLUMNS, result_rows([m])[0])


def _cells(columns: Sequence[str], row: Sequence[str]) -> str:
    """Without the two that say what was measured."""
    named = list(zip(columns, row, strict=True))[2:]
    return ", ".join(f"{name} {cell}" for name, cell in named if cell not in {MISSING, ""})


def _produce_alone(bench: Bench, scenario: str) -> Alone:
    """How long the source takes for the load when nobody mirrors it, and the producer's own part in it."""
    topic, records = topic_name("alone", scenario), bench.burst_size(scenario)
    bench.progress.say("producer alone", f"{scenario}: {records:,} records")
    bench.pair.source.create_topics([topic])
    bench.send(topic, scenario, bench.sizes.warm_up_records(records))
    began, cpu_before = time.perf_counter(), time.process_time()
    bench.send(topic, scenario, records)
    alone = Alone(time.perf_counter() - began, time.process_time() - cpu_before)
    bench.pair.source.delete_topics([topic])
    return alone
