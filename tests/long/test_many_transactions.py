"""200,000 small transactions, half of them aborted, over 8 partitions: mirrored to one replica and to two.

Timings are printed: `pytest -s tests/long/test_many_transactions.py`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from sparkmirror.embedded import KafkaCluster
from tests.conftest import Pair
from tests.support.java_reader import JavaReader
from tests.support.mirror_process import MirrorProcess, properties
from tests.support.same_log import assert_same_log
from tests.support.source_logs import make_compacted, make_transactions

TRANSACTIONS = int(os.environ.get("TRANSACTIONS", "200000"))

pytestmark = pytest.mark.timeout(1800)


@pytest.fixture(scope="module")
def target(pair: Pair) -> Iterator[KafkaCluster]:
    """Two brokers."""
    with KafkaCluster(2, name="B2") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def transactions(pair: Pair) -> str:
    topic = "many-transactions"
    made = make_transactions(
        pair.source,
        topic,
        transactions=TRANSACTIONS,
        partitions=8,
        producers=32,
        span=1,
        aborted_share=0.5,
        deadline_s=900,
    )
    print(f"\n{TRANSACTIONS:,} transactions, {made.aborted:,} aborted, written in {made.seconds:.0f} s")
    return topic


def test_to_one_replica(pair: Pair, transactions: str, java_reader: JavaReader) -> None:
    mirror_once(pair.source, pair.target, transactions, 1)
    compare(java_reader, pair.source, pair.target, transactions)


def test_to_two_replicas(pair: Pair, target: KafkaCluster, transactions: str, java_reader: JavaReader) -> None:
    mirror_once(pair.source, target.bootstrap_servers, transactions, 2)
    compare(java_reader, pair.source, target.bootstrap_servers, transactions)


def test_a_compacted_topic_to_two_replicas(
    pair: Pair, target: KafkaCluster, topic: str, java_reader: JavaReader
) -> None:
    made = make_compacted(pair.source, topic, keys=2000, rounds=20, tombstones=400, partitions=2)
    print(f"\n{made.removed:,} of {made.written:,} records were removed by the cleaner")
    mirror_once(pair.source, target.bootstrap_servers, topic, 2)
    compare(java_reader, pair.source, target.bootstrap_servers, topic, compacted=True)


def mirror_once(source: str, target: str, topic: str, replicas: int) -> None:
    began = time.monotonic()
    with MirrorProcess(properties(source, target, topic, {"replication.factor": str(replicas)}), "--once") as mirror:
        mirror.await_log("leads, with")
        led = time.monotonic()
        assert mirror.wait(900) == 0, mirror.log()
        status = mirror.status()
        print(
            f"{topic}, {replicas} replicas: {time.monotonic() - led:.1f} s after a start of {led - began:.1f} s; "
            f"{status['records']:,} records, {status['rebuilt']:,} of them rebuilt, {status['holes']:,} holes"
        )


def compare(reader: JavaReader, source: str, target: str, topic: str, *, compacted: bool = False) -> None:
    assert_same_log(
        reader,
        source,
        topic,
        target,
        f"A.{topic}",
        mirrored="read_committed",
        compacted=compacted,
        ends=not compacted,
        deadline_s=300,
    )
