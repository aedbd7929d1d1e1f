"""Every Kafka version as source and as target: the same records at the same offsets, holes and resumption included."""

from __future__ import annotations

import pytest

from sparkmirror.embedded import KafkaCluster
from sparkmirror.net.offsets import EARLIEST
from tests.conftest import Pair
from tests.support.java_reader import JavaReader
from tests.support.kafka_client import create_topic, produce
from tests.support.leases import ends, new_producer_id, run_lease
from tests.support.same_log import assert_same_log
from tests.support.source_logs import make_late_start, make_transactions, write

pytestmark = pytest.mark.timeout(240)  # a version's first use fetches it

Ways = tuple[str, str]


@pytest.fixture(params=["as source", "as target"])
def ways(request: pytest.FixtureRequest, versioned: KafkaCluster, pair: Pair) -> Ways:
    old = versioned.bootstrap_servers
    return (old, pair.target) if request.param == "as source" else (pair.source, old)


def test_transactions_and_what_comes_after_a_restart(ways: Ways, topic: str, java_reader: JavaReader) -> None:
    source, target = ways
    make_transactions(source, topic, transactions=30, partitions=2, producers=2, aborted_share=0.5)
    create_topic(target, topic, 2)
    producer_id = new_producer_id(target)
    first = run_lease(source, target, topic, producer_id)
    assert first.facts == [] and first.total("holes") > 0
    produce(source, topic, ({"value": b"%d" % i, "partition": i % 2} for i in range(100)))
    without_hints = run_lease(source, target, topic, producer_id)
    assert without_hints.facts == [] and without_hints.total("records") == 100
    assert_same_log(java_reader, source, topic, target, topic, mirrored="read_committed", ends=True)
    with_hints = run_lease(source, target, topic, producer_id, hints=without_hints.standings)
    assert with_hints.facts == [] and with_hints.total("records") == 0


def test_a_log_that_begins_above_zero(ways: Ways, topic: str, java_reader: JavaReader) -> None:
    source, target = ways
    make_late_start(source, topic)
    create_topic(target, topic, 1)
    run_lease(source, target, topic, new_producer_id(target))
    assert ends(target, topic, EARLIEST) == ends(source, topic, EARLIEST)
    assert_same_log(java_reader, source, topic, target, topic, beginnings=True, ends=True)


@pytest.mark.parametrize("versioned", ["2.4.1"], indirect=True)
@pytest.mark.parametrize("format_version", ["0.9.0", "0.10.2"])
def test_old_message_formats_become_the_new_one(
    versioned: KafkaCluster, pair: Pair, topic: str, java_reader: JavaReader, format_version: str
) -> None:
    source = versioned.bootstrap_servers
    create_topic(source, topic, 1, config={"message.format.version": format_version})
    for codec in ("none", "gzip", "snappy", "lz4"):
        records = [{"key": b"k%d" % (i % 7), "value": b"value %d" % i, "partition": 0} for i in range(50)]
        write(source, topic, records, compression_type=codec, linger_ms=50)
    create_topic(pair.target, topic, 1)
    copied = run_lease(source, pair.target, topic, new_producer_id(pair.target))
    assert copied.facts == [] and copied.total("rebuilt") == 200
    assert_same_log(java_reader, source, topic, pair.target, topic, ignoring=["timestamp_type"], ends=True)
