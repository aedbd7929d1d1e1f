"""What a comparison found, by topic and partition, and as a JSON document. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sparkmirror.control.verify_plan import PlannedPartition, VerifyPlan
from sparkmirror.verify.difference import MISSING, Difference, Field
from sparkmirror.verify.task import VerifyResult

SAME, DIFFERENT, NOT_COMPARED = 0, 1, 2
NAMED = 10  # differences of a partition


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionReport:
    """One partition. See `VerifyResult` and `PlannedPartition` for what the figures say."""

    topic: str
    partition: int
    remote: str
    remote_partition: int
    offsets: str
    compacted: bool
    records: int
    bytes: int
    lag: int
    differences: int
    left_out: int
    others: int
    trimmed: int
    unknown: int
    is_cut: bool
    problem: str
    found: tuple[Difference, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """`seed`: of random stretches. `took_s`: without the start of Spark."""

    flow: str
    seed: int
    sampled: int | None
    took_s: float
    partitions: tuple[PartitionReport, ...]
    notes: tuple[str, ...] = ()

    @property
    def differences(self) -> int:
        return sum(each.differences for each in self.partitions)

    @property
    def problems(self) -> int:
        return sum(bool(each.problem) for each in self.partitions)

    @property
    def bytes(self) -> int:
        return sum(each.bytes for each in self.partitions)

    @property
    def exit_code(self) -> int:
        return DIFFERENT if self.differences else NOT_COMPARED if self.problems or not self.partitions else SAME


def assemble(plan: VerifyPlan, results: Iterable[VerifyResult]) -> tuple[PartitionReport, ...]:
    by_place: dict[tuple[str, int], list[VerifyResult]] = {}
    for result in results:
        by_place.setdefault((result.topic, result.partition), []).append(result)
    return tuple(_report(planned, by_place.get((planned.topic, planned.partition), [])) for planned in plan.partitions)


def _report(planned: PlannedPartition, results: Sequence[VerifyResult]) -> PartitionReport:
    found = [each for result in sorted(results, key=lambda result: result.first) for each in result.found]
    if planned.lost:
        gone = Field("partition", f"{planned.lost} offsets were mirrored", "nothing")
        found.append(Difference(MISSING, None, None, (gone,)))
    return PartitionReport(
        topic=planned.topic,
        partition=planned.partition,
        remote=planned.remote,
        remote_partition=planned.onto,
        offsets="translated" if planned.translated else "equal",
        compacted=planned.task is not None and planned.task.by_key,
        records=sum(result.records for result in results),
        bytes=sum(result.bytes for result in results),
        lag=planned.lag,
        differences=sum(result.differences for result in results) + bool(planned.lost),
        left_out=sum(result.left_out for result in results),
        others=sum(result.others for result in results),
        trimmed=sum(result.trimmed for result in results),
        unknown=planned.unknown,
        is_cut=any(result.is_cut for result in results),
        problem=planned.problem or next((result.problem for result in results if result.problem), ""),
        found=tuple(found[:NAMED]),
    )


def document(report: VerifyReport) -> dict[str, object]:
    """docs/verify.md describes it."""
    return {
        "version": 1,
        "flow": report.flow,
        "result": ("same", "different", "not compared")[report.exit_code],
        "differences": report.differences,
        "bytes": report.bytes,
        "took_s": round(report.took_s, 3),
        "sampled": report.sampled,
        "seed": report.seed,
        "notes": list(report.notes),
        "partitions": [
            {name: getattr(each, name) for name in PartitionReport.__slots__ if name != "found"}
            | {
                "found": [
                    {
                        "kind": one.kind,
                        "source_offset": one.source,
                        "target_offset": one.target,
                        "fields": [field._asdict() for field in one.fields],
                    }
                    for one in each.found
                ]
            }
            for each in report.partitions
        ],
    }
