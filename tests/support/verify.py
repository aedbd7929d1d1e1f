"""Comparisons without Spark, and copies of a log that differ in one place each."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sparkmirror.control.address import flow_address
from sparkmirror.control.verify_plan import plan_verify
from sparkmirror.control.verify_report import PartitionReport, VerifyReport, assemble
from sparkmirror.control.verify_split import sample_tasks, split_tasks
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.map_chain import Ids
from sparkmirror.offsets.map_topic import OffsetMapTopic
from sparkmirror.offsets.progress import ProgressTopic
from sparkmirror.topology.run import Run
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage
from sparkmirror.verify.difference import Difference, Field
from sparkmirror.verify.work import run_task
from tests.support.flows import only_flow
from tests.support.kafka_client import create_topic, end_offsets, produce
from tests.support.source_logs.markers import write_markers

KINDS = ("changed", "missing", "extra", "swapped", "header", "timestamp")
SHIFT = 7  # of translated offsets

Row = dict[str, object]
Log = list[Row | None]  # None: an offset without a record


def verify_here(
    file: Path, *, topics: str | None = None, since_ms: int | None = None, sample: int | None = None, seed: int = 1
) -> VerifyReport:
    """As the command does it, but for Spark."""
    flow = only_flow(file)
    plan = plan_verify(flow, topics=topics, since_ms=since_ms, seed=seed)
    ready = [(each.task, each.offset_map) for each in plan.partitions if each.task and each.offset_map]
    tasks = sample_tasks(ready, sample, seed) if sample else split_tasks(ready, 2)
    results = [run_task(task) for task in tasks]
    return VerifyReport(
        flow=flow.name, seed=seed, sampled=sample, took_s=0.0, partitions=assemble(plan, results), notes=plan.notes
    )


def load_report(file: Path) -> VerifyReport:
    """What `--report` wrote."""
    said = json.loads(file.read_text())
    partitions = [
        PartitionReport(
            **each
            | {
                "found": tuple(
                    Difference(
                        one["kind"],
                        one["source_offset"],
                        one["target_offset"],
                        tuple(Field(**field) for field in one["fields"]),
                    )
                    for one in each["found"]
                )
            }
        )
        for each in said["partitions"]
    ]
    return VerifyReport(
        flow=said["flow"],
        seed=said["seed"],
        sampled=said["sampled"],
        took_s=said["took_s"],
        partitions=tuple(partitions),
        notes=tuple(said["notes"]),
    )


@dataclass(frozen=True, slots=True)
class Planted:
    """What was planted into a partition, and where it must be found."""

    partition: int
    kind: str
    source: int | None
    target: int | None


def make_rows(count: int, dice: random.Random) -> list[Row]:
    now = int(time.time() * 1000)
    return [
        {
            "key": b"k%d" % dice.randrange(20),
            "value": dice.choice([b"same", b"value %d" % i, dice.randbytes(40)]),
            "timestamp": now + dice.choice([0, i]),
            "headers": dice.choice([None, [("h", b"%d" % i)]]),
        }
        for i in range(count)
    ]


def plant(kind: str, rows: Sequence[Row], at: int, *, translated: bool) -> tuple[Log, Log]:
    """Both logs, the second with one difference at index `at`. With equal offsets all others keep theirs."""
    source: Log = list(rows)
    target: Log = list(rows)
    here = rows[at]
    if kind == "changed":
        target[at] = here | {"value": b"planted"}
    elif kind == "header":
        target[at] = here | {"headers": [("h", b"planted")]}
    elif kind == "timestamp":
        target[at] = here | {"timestamp": int(str(here["timestamp"])) - 1}
    elif kind == "swapped":
        source[at] = here | {"value": b"first of two"}
        target[at], target[at + 1] = source[at + 1], source[at]
    elif kind == "missing":
        target[at : at + 1] = [] if translated else [None]
    elif translated:
        target.insert(at, {"key": b"x", "value": b"extra"})
    else:
        source[at], target[at] = None, {"key": b"x", "value": b"extra"}
    return source, target


def write_planted(
    file: Path, servers: tuple[str, str], topic: str, *, places: int, records: int, translated: bool, seed: int
) -> list[Planted]:
    """A partition for each difference, at random places; the target as a mirror of this flow would have left it."""
    dice = random.Random(seed)
    flow = only_flow(file)
    remote = f"{flow.source.alias}.{topic}"
    cases = [kind for kind in KINDS for _ in range(places)]
    for server, name in zip(servers, (topic, remote), strict=True):
        create_topic(server, name, len(cases))
    planted, logs = [], ([], [])  # type: ignore[var-annotated]
    shift = SHIFT if translated else 0
    for partition, kind in enumerate(cases):
        at = dice.randrange(records - 1)
        both = plant(kind, make_rows(records, dice), at, translated=translated)
        for side, log in zip(logs, both, strict=True):
            side.append(log)
        source = None if kind == "extra" else at
        planted.append(Planted(partition, kind, source, None if kind == "missing" else at + shift))
    _write_logs(servers[0], topic, logs[0], compression_type="lz4", batch_size=4000)
    _write_logs(servers[1], remote, [[None] * shift + log for log in logs[1]])
    if translated:
        _write_map(file, servers, topic, remote, records)
    return planted


def _write_logs(servers: str, topic: str, logs: Sequence[Log], **config: object) -> None:
    """All partitions at once, up to each one's next hole."""
    at = [0] * len(logs)
    while any(at[p] < len(log) for p, log in enumerate(logs)):
        rows = []
        for p, log in enumerate(logs):
            while at[p] < len(log) and (row := log[at[p]]) is not None:
                rows.append(row | {"partition": p})
                at[p] += 1
        produce(servers, topic, rows, enable_idempotence=True, **config)
        for p, log in enumerate(logs):
            holes = 0
            while at[p] < len(log) and log[at[p]] is None:
                at[p], holes = at[p] + 1, holes + 1
            if holes:
                write_markers(servers, topic, holes, p)


def _write_map(file: Path, servers: tuple[str, str], topic: str, remote: str, records: int) -> None:
    """As the mirror writes it that has copied all records, with offsets that differ."""
    flow = only_flow(file)
    storage = Storage.of(flow)
    with Cluster(flow_address(flow.target, flow)) as target:
        progress, maps = ProgressTopic(target, storage, 1), OffsetMapTopic(target, storage, 1)
        progress.ensure()
        maps.ensure()
        standings = {}
        for partition, end in end_offsets(servers[1], remote).items():
            maps.add((topic, partition), Ids("", ""), Run(0, SHIFT, records))
            standings[topic, partition] = Standing(records, target_end=end, translated="a test wants it")
        maps.write()
        progress.write(standings)


def assert_found(report: VerifyReport, planted: Sequence[Planted]) -> int:
    """Each at its place, and nothing else; how many there are."""
    by_partition = {each.partition: each for each in report.partitions}
    for wanted in planted:
        each = by_partition[wanted.partition]
        assert not each.problem, each
        first, *rest = each.found
        kind = wanted.kind if wanted.kind in ("missing", "extra", "swapped") else "changed"
        assert (first.kind, first.source, first.target) == (kind, wanted.source, wanted.target), (wanted, each)
        names = {field.name.split()[0] for field in first.fields}
        if wanted.kind in ("header", "timestamp"):
            assert names == {wanted.kind}, each
        # Where offsets are translated, a record too few or too many moves all that come behind it.
        moves = each.offsets == "translated" and wanted.kind in ("missing", "extra")
        assert [other.kind for other in rest] in ([["moved"], []] if moves else [[]]), each
    assert report.exit_code == 1
    return len(planted)
