"""The file that keeps a run: figures, ratios, and all one needs to judge or repeat them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from bench.layouts import LAYOUTS
from bench.measurement import Alone, Measurement, Steady
from bench.report import COLUMNS, RATIO_COLUMNS, Rows, markdown_table, ratio_rows, result_rows
from bench.setups import example_properties
from bench.sizes import MANY_PARTITIONS, PARTITIONS, Sizes
from bench.steady_report import STEADY_COLUMNS, STEADY_RATIO_COLUMNS, steady_ratio_rows, steady_rows

METHOD = f"""\
All mirrors ran between the same two brokers (one node a cluster, Kafka's own heap and JVM flags), on the machine that
the brokers and the producer share; one after the other, but for steady traffic. Topics of {PARTITIONS} partitions, the
producer with `acks=all`.

- **Steady traffic**: a Java producer with Kafka's default settings writes 1 KB records at an even rate to 8
  partitions; it decides which record goes where. `80 partitions`: the same with more of them. `1 record/s in each of
  100`: to one partition after the other. All mirrors run side by side, each with a topic of its own, and first copy
  20 MB/s for a while. Then they come in turns of some seconds, one after the other, while the others are idle: a
  figure is the middle one, with the lowest and the highest; a ratio is that of two turns that followed each other.
  Cores: CPU of the whole process tree by time. Latencies are those of the flow's own records, from the call that
  sends one until Kafka's consumer, with default settings, has it on the target: of one partition of eight, in a
  trickle of all. Wake-ups: voluntary switches of all threads. `mm2-tuned` and `sparkmirror-tuned` gather here
  (`fetch.min.bytes` 1 MB, `fetch.max.wait.ms` 10, `linger.ms` 5).
- **start-up**: from the start of the process until a record that was there before is readable on the target.
- **burst**: 1 KB records with nothing to compress, in batches of 64 records (64.6 KB), uncompressed.
  **lz4**: 1 KB records of text, 64 in an lz4 batch. **small**: 100 byte records in batches of 1 to 10.
  Before each the mirror had copied some of the same and was then left idle. Wall and CPU: from the first record
  produced to the last one readable on the target.
- **warm**: such bursts after a first one that is not counted, by which time a JVM has compiled its loops. Of several
  the one with the middle CPU time.
- **latency**: single records, 50-70 ms apart, from the produce call until a consumer of the target has it.
- **idle**: CPU of a minute in which nothing is produced.
- **once**: a cold start on a topic of the size of the burst, until the process has ended
  (MirrorMaker 2, which does not end: until the last record is readable).
- **backlog**: a cold start on 100 byte records in batches of 1 to 10, from a tenth of them to all.
- **partitions**: a cold start on {MANY_PARTITIONS:,} partitions with 1 MB each, from the start of the process.
  **idle-many**: CPU of a minute in which nothing is produced, with all of them.

CPU is that of the whole process tree, ended members included. Peak memory is the largest sum over the tree, sampled;
pages that processes share count once (PSS).
`passed/rebuilt/hole`: shares of the offsets that were copied as they came, encoded again, or hold no record.
`sparkmirror-records` is the same with `pipeline.path=records`: each record crosses Spark as a row.
`check` compares the end offsets of source and target. A ratio of `1/8.3` means that sparkmirror needs that part of
what the other needs. MirrorMaker 2 emits heartbeats, checkpoints and offset syncs meanwhile, as it does by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One whole run of the benchmark."""

    day: date
    label: str
    sizes: Sizes
    machine: Sequence[tuple[str, str]]
    versions: Sequence[tuple[str, str]]
    alone: Mapping[str, Alone]
    scenarios: Sequence[str]
    mirrors: Sequence[str]
    measurements: Sequence[Measurement]
    steady: Sequence[Steady] = ()
    elapsed_s: float
    not_in_force: Sequence[str] = ()
    tls: bool = False


def result_text(run: Run) -> str:
    facts = [*run.machine, *run.versions, ("Scale", f"{run.sizes.scale:g}"), ("Whole run", f"{run.elapsed_s:.0f} s")]
    if run.tls:
        facts.append(("Connections", "mirrors speak TLS with both brokers (RSA, 2048 bits), the producer does not"))
    parts = [
        f"# Benchmark {run.day.isoformat()}: {run.label}",
        *_tables(
            "Steady traffic",
            (STEADY_COLUMNS, steady_rows(run.steady)),
            (STEADY_RATIO_COLUMNS, steady_ratio_rows(run.steady)),
        ),
        *_tables(
            "Bursts and the rest",
            (COLUMNS, result_rows(run.measurements)),
            (RATIO_COLUMNS, ratio_rows(run.measurements)),
        ),
        alone_text(run.alone),
        *_failures(run),
        "## Machine and versions",
        "\n".join(f"- {name}: {text}" for name, text in facts),
        "## Method",
        METHOD,
        _not_in_force(run.not_in_force),
        "## Properties",
        *(_properties(name, run.scenarios, run.sizes.tasks) for name in run.mirrors),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def alone_text(alone: Mapping[str, Alone]) -> str:
    if not alone:
        return ""
    times = ", ".join(f"{name} {a.wall_s:.2f} s ({a.producer_cpu_s:.2f} s CPU)" for name, a in alone.items())
    return f"The producer alone, without a mirror: {times}."


def _not_in_force(keys: Sequence[str]) -> str:
    """What a reader must know before believing a ratio."""
    if not keys:
        return ""
    return f"Keys for work that MirrorMaker 2 does by default and this sparkmirror does not yet: {', '.join(keys)}."


def _tables(title: str, results: tuple[Sequence[str], Rows], ratios: tuple[Sequence[str], Rows]) -> list[str]:
    """Of what was measured at all."""
    shown = [markdown_table(columns, rows) for columns, rows in (results, ratios) if rows]
    return [f"## {title}", *shown] if shown else []


def _failures(run: Run) -> list[str]:
    failed = [(m.mirror, m.scenario, m.error) for m in run.measurements if m.error]
    failed += [(m.mirror, f"{m.traffic}, tasks.max {m.tasks}", m.error) for m in run.steady if m.error]
    texts = [f"### {mirror}, {what}\n\n```\n{error}\n```" for mirror, what, error in failed]
    return ["## Failures", *texts] if failed else []


def _properties(name: str, scenarios: Sequence[str], tasks: int) -> str:
    topics = [
        scenario
        for scenario in scenarios
        if scenario not in {"idle", "once", "backlog", "partitions", "idle-many", *LAYOUTS}
    ]
    return f"{name}:\n\n```properties\n{example_properties(name, topics, tasks)}```"


def write_result(directory: Path, run: Run) -> Path:
    """Never over an older one."""
    directory.mkdir(parents=True, exist_ok=True)
    stem = f"{run.day.isoformat()}-{run.label}"
    names = (f"{stem}{suffix}.md" for suffix in ("", *(f"-{number}" for number in range(2, 1000))))
    path = next(path for name in names if not (path := directory / name).exists())
    path.write_text(result_text(run))
    return path
