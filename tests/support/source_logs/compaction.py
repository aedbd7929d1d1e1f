"""A compacted log after its cleaner has really removed records."""

from __future__ import annotations

import contextlib
import itertools
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tests.support.broker_configs import brokers_set
from tests.support.java_reader import LogRecord
from tests.support.kafka_client import Record, await_condition, create_topic, end_offsets, read_all
from tests.support.source_logs.write import Written, now_ms, write

HOUR_MS = 3600 * 1000
CLEANER_PAUSE = "log.cleaner.backoff.ms"  # 15 s unless told otherwise
LAST_KEY = b"last"

# Keys and values to write, by partition.
Content = dict[int, list[tuple[bytes, bytes | None]]]


@dataclass(frozen=True, slots=True)
class MadeCompacted:
    """The last record of each key, tombstones included, and how many records of all were `written` and `removed`."""

    latest: dict[int, dict[bytes, LogRecord]]
    written: int
    removed: int


def make_compacted(
    servers: str,
    topic: str,
    *,
    partitions: int = 1,
    keys: int = 50,
    rounds: int = 5,
    tombstones: int = 10,
    remove_tombstones: bool = True,
    seed: int = 0,
    deadline_s: float = 60.0,
) -> MadeCompacted:
    """Each key is written `rounds` times, then some get a tombstone; waits until no key is there twice.

    With `remove_tombstones` it waits until those are gone too, else they stay for a day. A segment for each round:
    the timestamps are an hour apart, so none has to be waited for. The last segment is never cleaned and has one
    record of a key of its own.
    """
    assert tombstones <= keys
    create_topic(servers, topic, partitions, config=_settings(remove_tombstones))
    hours = itertools.count(now_ms() - 1000 * HOUR_MS, HOUR_MS)
    made: Written = {}
    _write_rounds(servers, topic, made, hours, partitions, keys, rounds, tombstones, seed)

    def is_clean() -> bool:
        # The cleaner looks only at logs with new segments, and takes a tombstone away the second time it meets it.
        _write_round(
            servers, topic, made, next(hours), {partition: [(LAST_KEY, b"")] for partition in range(partitions)}
        )
        return all(_is_clean(log, remove_tombstones) for log in read_all(servers, topic).values())

    with impatient_cleaner(servers):
        await_condition(is_clean, f"the cleaner to clean {topic}", deadline_s)
    written = sum(end_offsets(servers, topic).values())
    left = sum(len(log) for log in read_all(servers, topic).values())
    latest = {partition: {r.key: r for r in log if r.key is not None} for partition, log in made.items()}
    return MadeCompacted(latest, written, written - left)


def _settings(remove_tombstones: bool) -> dict[str, str]:
    return {
        "cleanup.policy": "compact",
        "segment.ms": str(HOUR_MS // 2),
        "min.cleanable.dirty.ratio": "0.001",
        "max.compaction.lag.ms": str(HOUR_MS // 2),
        "delete.retention.ms": "1" if remove_tombstones else str(24 * HOUR_MS),
    }


def _write_rounds(
    servers: str,
    topic: str,
    made: Written,
    hours: Iterator[int],
    partitions: int,
    keys: int,
    rounds: int,
    tombstones: int,
    seed: int,
) -> None:
    dice = random.Random(seed)
    for number in range(rounds + 1):
        chosen = dice.sample(range(keys), keys if number < rounds else tombstones)
        content: Content = {partition: [] for partition in range(partitions)}
        for key in chosen:
            content[key % partitions].append((b"key-%d" % key, b"round %d" % number if number < rounds else None))
        _write_round(servers, topic, made, next(hours), content)


def _write_round(servers: str, topic: str, made: Written, timestamp: int, content: Content) -> None:
    records = [
        {"key": key, "value": value, "timestamp": timestamp, "partition": partition}
        for partition, pairs in content.items()
        for key, value in pairs
    ]
    for partition, log in write(servers, topic, records).items():
        made.setdefault(partition, []).extend(log)


def _is_clean(log: list[Record], remove_tombstones: bool) -> bool:
    counts = Counter(record.key for record in log if record.key != LAST_KEY)
    has_tombstone = any(record.value is None for record in log)
    return all(count == 1 for count in counts.values()) and not (remove_tombstones and has_tombstone)


@contextlib.contextmanager
def impatient_cleaner(servers: str) -> Iterator[None]:
    """The cleaner looks for work all the time. It can be told so while the broker runs (KIP-226)."""
    with brokers_set(servers, CLEANER_PAUSE, "50"):
        yield
