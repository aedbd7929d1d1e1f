"""A target topic that is deleted and made anew under a lease, on brokers whose appends name it and not its id."""

from __future__ import annotations

import threading

import pytest

from sparkmirror.copy.lease import CONTINUE, LeasePartition, Rules
from sparkmirror.copy.receipt import STOPPED
from sparkmirror.embedded import KafkaCluster
from tests.conftest import Pair
from tests.support.grantor import LocalGrantor
from tests.support.java_reader import JavaReader
from tests.support.kafka_client import await_condition, create_topic, delete_topic, produce, topics
from tests.support.leases import Copied, ends, new_producer_id, plan_lease, run_copy, run_lease
from tests.support.source_logs import remove_records

pytestmark = pytest.mark.timeout(120)

LARGE = 300_000  # such a batch is passed, not merged


def values(reader: JavaReader, servers: str, topic: str) -> list[bytes | None]:
    return [record.value for record in reader.read(servers, topic)[0].records]


@pytest.mark.parametrize("versioned", ["3.9.2"], indirect=True)
@pytest.mark.parametrize(("foreign", "removed"), [(False, 0), (True, 0), (False, 50)])
def test_what_was_under_way_is_named_and_neither_doubled_nor_out_of_order(
    pair: Pair, versioned: KafkaCluster, topic: str, java_reader: JavaReader, foreign: bool, removed: int
) -> None:
    """`removed`: from the source's beginning, so that it holds nothing where these appends stand in the target."""
    source, target = pair.source, versioned.bootstrap_servers
    create_topic(source, topic, 1)
    create_topic(target, topic, 1)
    produce(source, topic, ({"value": b"%d" % number} for number in range(100)))
    producer_id = new_producer_id(target)
    partition = LeasePartition(topic=topic, partition=0, remote=topic)
    leased = plan_lease(source, target, producer_id, [partition], Rules(), seconds=60.0)
    with LocalGrantor() as grantor:
        first: list[Copied] = []
        lease = threading.Thread(target=lambda: first.append(run_copy(leased, grantor)))
        lease.start()
        await_condition(lambda: ends(target, topic) == {0: 100}, "the first records", 30)
        delete_topic(target, topic)
        await_condition(lambda: topic not in topics(target), "the deletion")
        if removed:
            remove_records(source, topic, removed)
        create_topic(target, topic, 1)
        produce(source, topic, ({"value": b"%0*d" % (LARGE, number)} for number in range(20)), batch_num_messages=1)
        await_condition(
            lambda: any(receipt.kind == STOPPED for receipt in grantor.receipts), "the partition to stop", 30
        )
        grantor.recall()
        lease.join()
    there = ends(target, topic)[0]
    assert 0 < there <= 5, "each a batch that was under way"
    (fact,) = [fact for fact in first[0].facts if "stopped" in fact]
    assert f"stopped target-recreated: the target topic {topic} was deleted and created anew" in fact
    assert f"stand at its offsets 0..{there - 1};" in fact
    if foreign:
        produce(target, topic, [{"value": b"foreign"}])
    rules = Rules(on_recreate=CONTINUE, on_gap=CONTINUE)
    second = run_lease(source, target, topic, producer_id, hints=first[0].standings, rules=rules)
    if foreign:
        assert "stopped foreign-writer" in second.facts[-1] and ends(target, topic) == {0: there + 1}
        return
    assert all(" noted target-recreated" in fact for fact in second.facts)
    assert values(java_reader, target, topic) == values(java_reader, source, topic)
    assert ends(target, topic) == {0: there + 120 - removed}
    third = run_lease(source, target, topic, producer_id, hints=second.standings)
    assert third.facts == [] and third.total("records") == 0
