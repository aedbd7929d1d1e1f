"""Whether a mirror's target equals its source, as Kafka's own consumer sees both."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace

from tests.support.java_reader import (
    BLOCK,
    DEADLINE_S,
    ISOLATIONS,
    Isolation,
    JavaReader,
    Latest,
    LogRecord,
    PartitionLog,
    Read,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What has to be equal beside the records."""

    compacted: bool
    beginnings: bool
    ends: bool


def assert_same_log(
    reader: JavaReader,
    source_bootstrap: str,
    source_topic: str,
    target_bootstrap: str,
    target_topic: str,
    *,
    mirrored: Isolation | None = None,
    compacted: bool = False,
    beginnings: bool = False,
    ends: bool = False,
    ignoring: Collection[str] = (),
    await_s: float = 0.0,
    deadline_s: float = DEADLINE_S,
) -> None:
    """Same records at the same offsets in every partition, under both isolation levels.

    `mirrored` is what the mirror reads with. Its target has no transactions, so that both isolation levels of the
    target must show what that one shows of the source: with read_committed exactly the aborted records, and those
    behind an open transaction, are absent. None: each level of the target equals the same level of the source.

    A `compacted` topic is cleaned on each side at another time. Then the last record of each key is compared, and
    a tombstone equals nothing at all. `beginnings` and `ends` compare those offsets too, `ignoring` names fields
    that may differ (timestamp, timestamp_type). A target that is still written has `await_s` to become equal.
    """
    source = Read(
        bootstrap=source_bootstrap, topic=source_topic, rows=False, latest=compacted, ignoring=tuple(ignoring)
    )
    target = replace(source, bootstrap=target_bootstrap, topic=target_topic)
    reads = [(replace(source, isolation=mirrored or i), replace(target, isolation=i)) for i in ISOLATIONS]
    rules = Rules(compacted=compacted, beginnings=beginnings, ends=ends)
    until = time.monotonic() + await_s
    while difference := _find_difference(reader, reads, rules, deadline_s):
        assert time.monotonic() < until, difference
        time.sleep(0.1)


def _find_difference(
    reader: JavaReader, reads: Sequence[tuple[Read, Read]], rules: Rules, deadline_s: float
) -> str | None:
    """The first difference in words."""
    logs = iter(reader.read_many([read for both in reads for read in both], deadline_s=deadline_s))
    for (source, target), left, right in zip(reads, logs, logs, strict=True):
        if left.keys() != right.keys():
            return f"{source.topic} has the partitions {sorted(left)}, {target.topic} has {sorted(right)}"
        for partition in left:
            names = [f"{read.topic}-{partition} ({read.isolation})" for read in (source, target)]
            found = _compare_edges(left[partition], right[partition], rules)
            if found is None and rules.compacted:
                found = _compare_latest(left[partition].latest, right[partition].latest)
            elif found is None and left[partition].digest != right[partition].digest:
                block = _first_different_block(left[partition].blocks, right[partition].blocks)
                found = _compare_block(reader, source, target, partition, block)
            if found is not None:
                return f"{' and '.join(names)}: {found}"
    return None


def _compare_edges(source: PartitionLog, target: PartitionLog, rules: Rules) -> str | None:
    if rules.beginnings and source.beginning != target.beginning:
        return f"the source begins at {source.beginning}, the target at {target.beginning}"
    if rules.ends and source.end != target.end:
        return f"the source ends at {source.end}, the target at {target.end}"
    return None


def _compare_latest(source: dict[bytes, Latest], target: dict[bytes, Latest]) -> str | None:
    for key in sorted(source.keys() | target.keys()):
        left, right = (_unless_tombstone(side.get(key)) for side in (source, target))
        if left != right:
            return f"the last record of key {key!r} is {_show_latest(left)}, on the target {_show_latest(right)}"
    return None


def _unless_tombstone(latest: Latest | None) -> Latest | None:
    return None if latest is None or latest.is_tombstone else latest


def _show_latest(latest: Latest | None) -> str:
    return "none" if latest is None else f"at offset {latest.offset} with digest {latest.digest[:8]}"


def _first_different_block(source: dict[int, str], target: dict[int, str]) -> int:
    return min(number for number in source.keys() | target.keys() if source.get(number) != target.get(number))


def _compare_block(reader: JavaReader, source: Read, target: Read, partition: int, block: int) -> str:
    """Reads the rows of one block alone, whatever the size of the log."""
    first, end = block * BLOCK, (block + 1) * BLOCK
    reads = [replace(read, partitions=(partition,), first=first, end=end, rows=True) for read in (source, target)]
    left, right = (logs[partition].records for logs in reader.read_many(reads))
    again = f"different from offset {first} on, but not when read again: are they still written?"
    return next(differences(left, right, source.ignoring), again)


def differences(
    source: Collection[LogRecord], target: Collection[LogRecord], ignoring: Collection[str] = ()
) -> Iterator[str]:
    """What became of each record that is not the same on both sides, in the order of offsets."""
    left, right = ({record.offset: record for record in side} for side in (source, target))
    for offset in sorted(left.keys() | right.keys()):
        if offset not in right:
            yield f"offset {offset} is missing on the target: {_show(left[offset])}"
        elif offset not in left:
            yield f"offset {offset} is only on the target: {_show(right[offset])}"
        elif changed := _changed_fields(left[offset], right[offset], ignoring):
            yield f"offset {offset}: {changed}"


def _changed_fields(source: LogRecord, target: LogRecord, ignoring: Collection[str]) -> str:
    names = [field.name for field in fields(LogRecord) if field.name not in ignoring]
    pairs = [(name, getattr(source, name), getattr(target, name)) for name in names]
    return ", ".join(f"{name} {left!r:.80} became {right!r:.80}" for name, left, right in pairs if left != right)


def _show(record: LogRecord) -> str:
    return f"key {record.key!r:.40}, value {record.value!r:.60}, timestamp {record.timestamp}"
