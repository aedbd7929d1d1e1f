"""1,000 groups at random places of 10,000,000 offsets: each goes on at the same record on the other cluster.

    plain      4 partitions: records, transactions (a quarter of them aborted), records, transactions; two begin late,
               after a retention cut
    compacted  2 partitions: of each 1,000 offsets the cleaner has removed 200

What a group reads next is asked of librdkafka on both sides, by the numbers in the records' values; the offsets on the
target are those that the mirror committed there. Timings are printed: `pytest -s`. OFFSETS and SEED as you like.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from sparkmirror.net.cluster import Cluster
from sparkmirror.net.group_offsets import commit_group_offsets, fetch_group_offsets
from sparkmirror.net.log import read_log
from sparkmirror.protocol.committed import Committed
from tests.conftest import Pair
from tests.support.command import run_command
from tests.support.group_rounds import KEYS
from tests.support.kafka_client import await_condition, create_topic, watermarks
from tests.support.leases import address
from tests.support.leases import ends as log_ends
from tests.support.mirror_process import MirrorProcess, properties
from tests.support.numbered import BATCH_RECORDS, append_numbered
from tests.support.source_logs.compaction import HOUR_MS, impatient_cleaner
from tests.support.source_logs.log_start import remove_records
from tests.support.topic_admin import change_configs

OFFSETS = int(os.environ.get("OFFSETS", "10000000"))
GROUPS = 1000
SEED = int(os.environ.get("SEED", random.randrange(1_000_000)))
TRANSACTION_RECORDS = 100
REPEATED = 200  # keys that come again in each thousand
PLAIN, COMPACTED = 4, 2  # partitions
SEGMENTS = 10  # of a compacted partition
READERS = 4
BEYOND = OFFSETS // 100  # for what the transactions' dice leave out

pytestmark = pytest.mark.timeout(900)

Place = tuple[str, int]
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Source:
    """`starts` and `ends` of each partition."""

    plain: str
    compacted: str
    starts: Mapping[Place, int]
    ends: Mapping[Place, int]


def timed(what: str, do: Callable[[], Answer]) -> Answer:
    began = time.monotonic()
    answer = do()
    print(f"{what:40} {time.monotonic() - began:6.1f} s")
    return answer


@pytest.fixture(scope="module")
def source(pair: Pair) -> Source:
    print(f"\n{OFFSETS:,} offsets, {GROUPS:,} groups, seed {SEED}")
    plain, compacted = f"plain-{SEED}", f"compacted-{SEED}"
    make_topic(pair.source, plain, PLAIN)
    timed("records and transactions", lambda: write_plain(pair.source, plain))
    timed("records with keys that come again", lambda: write_compacted(pair.source, compacted))
    timed("cleaned", lambda: await_clean(pair.source, compacted))
    for partition in (1, 3):
        end = watermarks(pair.source, plain)[partition][1]
        remove_records(pair.source, plain, random.Random(SEED + partition).randrange(end // 20, end // 3), partition)
    found = {(topic, p): w for topic in (plain, compacted) for p, w in watermarks(pair.source, topic).items()}
    made = Source(plain, compacted, {k: w[0] for k, w in found.items()}, {k: w[1] for k, w in found.items()})
    assert sum(made.ends.values()) >= OFFSETS
    print(f"{'offsets':40} {sum(made.ends.values()):,}, from {sum(made.starts.values()):,} on")
    return made


def make_topic(servers: str, topic: str, partitions: int, config: Mapping[str, str] | None = None) -> None:
    """Until its leaders know that they lead."""
    create_topic(servers, topic, partitions, config=config)
    await_condition(lambda: len(log_ends(servers, topic)) == partitions, f"leaders of {topic}")


def write_plain(servers: str, topic: str) -> None:
    """Four fifths of all offsets, and more: an eighth of these in transactions, in two turns."""
    bulk = OFFSETS * 8 // 10 * 14 // 15 // PLAIN
    transactions = OFFSETS * 8 // 10 // 15 // (PLAIN * TRANSACTION_RECORDS)

    def write(partition: int) -> None:
        numbers = itertools.count(partition << 40)
        stamp = int(time.time() * 1000)
        with Cluster(address(servers)) as cluster:
            for size in (bulk // 2, bulk - bulk // 2):
                values = np.fromiter(itertools.islice(numbers, size), np.uint64, size)
                append_numbered(cluster, topic, partition, values, values, itertools.repeat(stamp))
                write_transactions(servers, topic, partition, transactions, numbers)

    with ThreadPoolExecutor(PLAIN) as pool:
        list(pool.map(write, range(PLAIN)))
    await_condition(lambda: log_ends(servers, topic) == log_ends(servers, topic, committed=False), "the last markers")


def write_transactions(servers: str, topic: str, partition: int, count: int, numbers: Iterator[int]) -> None:
    dice = random.Random(SEED + partition)
    producer = Producer({"bootstrap.servers": servers, "transactional.id": f"{topic}-{partition}", "linger.ms": 1})
    producer.init_transactions(30)
    for _ in range(count):
        producer.begin_transaction()
        for number in itertools.islice(numbers, dice.randint(1, 2 * TRANSACTION_RECORDS)):
            producer.produce(topic, number.to_bytes(8, "big"), partition=partition)
        producer.flush(30)  # a transaction that the broker never heard of can't be aborted
        if dice.random() < 0.25:
            producer.abort_transaction(30)
        else:
            producer.commit_transaction(30)


def write_compacted(servers: str, topic: str) -> None:
    """Segments are rolled by time, and all but the last can be cleaned."""
    size = OFFSETS * 2 // 10 // COMPACTED + BEYOND
    settings = {"cleanup.policy": "compact", "segment.ms": str(HOUR_MS // 2), "min.cleanable.dirty.ratio": "0.001"}
    make_topic(servers, topic, COMPACTED, settings | {"retention.ms": "-1"})
    places = np.arange(size, dtype=np.uint64)
    repeats = places % 1000 < REPEATED
    began, segment = int(time.time() * 1000) - 2000 * HOUR_MS, max(1, size // BATCH_RECORDS // SEGMENTS)
    with Cluster(address(servers)) as cluster:
        for partition in range(COMPACTED):
            values = places + np.uint64((8 + partition) << 40)
            keys = np.where(repeats, places % 1000, values)
            hours = (began + n // segment * HOUR_MS for n in itertools.count())
            append_numbered(cluster, topic, partition, keys, values, hours)


def await_clean(servers: str, topic: str) -> None:
    """Until most of what can be removed is. From then on nothing more is: a record might be gone on one side alone."""

    def removed() -> int:
        with Cluster(address(servers)) as cluster:
            info = cluster.fetch_metadata([topic]).topics[topic]
            found = log_ends(servers, topic)
            left = sum(h.records for p, end in found.items() for h, _ in read_log(cluster, info, p, 0, end))
            return sum(found.values()) - left

    total = OFFSETS * 2 // 10 * REPEATED // 1000
    with impatient_cleaner(servers):
        await_condition(lambda: removed() > 0.7 * total, f"the cleaner to clean {topic}", 120)
    change_configs(servers, topic, {"cleanup.policy": "delete"})
    print(f"{'removed by the cleaner':40} {removed():,}")


@pytest.mark.parametrize("preserve", ["auto", "never"])
def test_every_group_goes_on_at_the_same_record(pair: Pair, source: Source, preserve: str) -> None:
    dice = random.Random(SEED)
    alias, prefix = f"{preserve}-{SEED}", f"g-{preserve}-{SEED}-"
    groups = {f"{prefix}{number}": random_places(dice, source) for number in range(GROUPS)}
    keys = KEYS | {
        "offsets.preserve": preserve,
        "groups": f"{prefix}.*",
        "lease.seconds": "3",
        "refresh.groups.interval.seconds": "1",
        "emit.checkpoints.interval.seconds": "1",
        "sync.group.offsets.interval.seconds": "1",
    }
    text = properties(pair.source, pair.target, f"{source.plain},{source.compacted}", keys, alias=alias)
    with MirrorProcess(text) as mirror:
        mirror.await_log("leads, with")
        timed(f"mirrored, offsets.preserve={preserve}", lambda: await_copied(mirror, len(source.ends)))
        print(f"{'records, holes':40} {mirror.status()['records']:,}, {mirror.status()['holes']:,}")
        with Cluster(address(pair.source)) as cluster:
            wanted = {group: {p: Committed(o) for p, o in offsets.items()} for group, offsets in groups.items()}
            done = timed("groups committed", lambda: commit_group_offsets(cluster, wanted))
            assert all(isinstance(codes, dict) and not any(codes.values()) for codes in done.values())
        timed("groups synced", lambda: await_synced(mirror, sum(map(len, groups.values()))))
        assert mirror.terminate(30)[0] == 0
    with Cluster(address(pair.target)) as cluster:
        found = fetch_group_offsets(cluster, groups)
    pairs = []
    for group, offsets in groups.items():
        there = found[group]
        assert isinstance(there, dict) and len(there) == len(offsets)
        pairs += [((place, o), ((f"{alias}.{place[0]}", place[1]), there[f"{alias}.{place[0]}", place[1]].offset))
                  for place, o in offsets.items()]  # fmt: skip
    here = timed("records read on the source", lambda: read_next(pair.source, [a for a, _ in pairs]))
    other = timed("records read on the target", lambda: read_next(pair.target, [b for _, b in pairs]))
    wrong = [(a, b, x, y) for (a, b), x, y in zip(pairs, here, other, strict=True) if x != y]
    assert not wrong, f"{len(wrong)} of {len(pairs)} differ, seed {SEED}: {wrong[:5]}"
    moved = sum(a[1] != b[1] for a, b in pairs)
    print(f"{'offsets that differ from the source':40} {moved:,} of {len(pairs):,}; ends of logs: {here.count(None)}")
    assert (moved == 0) == (preserve == "auto")


def random_places(dice: random.Random, source: Source) -> dict[Place, int]:
    """One place in each topic: anywhere, also in holes, before the log's beginning, and at its end."""
    places = [(source.plain, dice.randrange(PLAIN)), (source.compacted, dice.randrange(COMPACTED))]
    return {
        place: dice.choice((0, source.starts[place], source.ends[place]))
        if dice.random() < 0.02
        else dice.randint(0, source.ends[place])
        for place in places
    }


def await_copied(mirror: MirrorProcess, partitions: int) -> None:
    def is_copied() -> bool:
        flows = mirror.status().get("flows") or [{}]
        found = flows[0].get("partitions", ())
        return len(found) == partitions and all(p["lag"] == 0 for p in found)

    await_condition(is_copied, "all records to be copied", 400)
    assert not [p for p in mirror.status()["flows"][0]["partitions"] if p["error"]]


def await_synced(mirror: MirrorProcess, rows: int) -> None:
    def is_synced() -> bool:
        done = run_command("groups", str(mirror.file), "--json", deadline_s=120)
        found = json.loads(done.stdout)["flows"][0]["rows"]
        return len(found) == rows and all(row["state"] == "synced" for row in found)

    await_condition(is_synced, "all groups to be synced", 120)


def read_next(servers: str, places: list[tuple[Place, int]]) -> list[int | None]:
    """The number in the value that a consumer reads first from each place on; None at the end of a log."""
    found: list[int | None] = [None] * len(places)
    indexes = iter(range(len(places)))
    guard = threading.Lock()

    def read(_: int) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": "read-next",
                "log_level": 3,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "fetch.message.max.bytes": 200_000,
                "fetch.wait.max.ms": 10,
                "fetch.queue.backoff.ms": 1,
                "queued.max.messages.kbytes": 256,
            }
        )
        try:
            while True:
                with guard:
                    index = next(indexes, None)
                if index is None:
                    return
                (topic, partition), offset = places[index]
                consumer.assign([TopicPartition(topic, partition, offset)])
                message = consumer.poll(30)
                assert message is not None, f"nothing came from {topic}-{partition} at {offset}"
                error = message.error()
                assert error is None or error.code() == KafkaError._PARTITION_EOF, error
                found[index] = None if error else int.from_bytes(message.value() or b"", "big")
        finally:
            consumer.close()

    with ThreadPoolExecutor(READERS) as pool:
        list(pool.map(read, range(READERS)))
    return found
