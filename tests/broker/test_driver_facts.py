"""Facts that the driver finds, keeps in the target and takes over from the driver before: a keeper without Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from confluent_kafka import Producer

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.survey import survey_flow
from sparkmirror.copy.receipt import GOES_ON, STOPPED, Receipt
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.facts_topic import FactsTopic
from sparkmirror.topology.fact import Fact
from sparkmirror.topology.storage import Storage
from tests.conftest import Pair
from tests.support.flows import only_flow, write_flow
from tests.support.kafka_client import add_partitions, await_condition, create_topic, produce, topics
from tests.support.keepers import keeping

SINCE = "2026-01-31T10:00:00.000Z"
GAP = Fact(kind=STOPPED, name="gap", error="source offsets 10..19 were removed", since=SINCE)

Facts = dict[tuple[str, int], Fact]


@pytest.fixture
def make_flow(pair: Pair, tmp_path: Path) -> Callable[[str, Mapping[str, str]], FlowConfig]:
    def make(names: str, extra: Mapping[str, str]) -> FlowConfig:
        often = {"refresh.topics.interval.seconds": "0.3"} | dict(extra)
        return only_flow(write_flow(tmp_path, pair.source, pair.target, names, often))

    return make


def read_facts(flow: FlowConfig) -> Facts:
    target = ClusterAddress(alias="B", bootstrap=flow.target.bootstrap_servers)
    with Cluster(target) as cluster:
        return FactsTopic(cluster, Storage.of(flow)).read()


def write_facts(flow: FlowConfig, facts: Facts) -> None:
    target = ClusterAddress(alias="B", bootstrap=flow.target.bootstrap_servers)
    with Cluster(target) as cluster:
        topic = FactsTopic(cluster, Storage.of(flow), 1)
        topic.ensure()
        topic.write(facts)


def test_a_transaction_that_stays_open_is_named_with_its_producer_until_it_ends(
    pair: Pair, topic: str, make_flow: Callable[..., FlowConfig]
) -> None:
    create_topic(pair.source, topic, 1)
    produce(pair.source, topic, [{"value": b"before"}])
    producer = Producer({"bootstrap.servers": pair.source, "transactional.id": topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"held")
    producer.flush(30)
    flow = make_flow(topic, {"open.transaction.warn.seconds": "1"})
    with keeping(flow):
        await_condition(lambda: (topic, 0) in read_facts(flow), "the fact", 30)
        fact = read_facts(flow)[topic, 0]
        assert (fact.kind, fact.name) == ("waiting", "open-transaction")
        for part in ("last stable offset 1 ", "high watermark 2: producer id ", "--start-offset 1"):
            assert part in fact.error
        row = survey_flow(flow).partitions[0]
        assert (row.state, row.bounds.source_stable, row.bounds.source_end) == ("waiting", 1, 2)
        producer.commit_transaction(30)
        await_condition(lambda: not read_facts(flow), "its end", 30)


def test_an_open_transaction_keeps_its_time_over_a_restart(
    pair: Pair, topic: str, make_flow: Callable[..., FlowConfig]
) -> None:
    create_topic(pair.source, topic, 1)
    producer = Producer({"bootstrap.servers": pair.source, "transactional.id": topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"held")
    producer.flush(30)
    flow = make_flow(topic, {"open.transaction.warn.seconds": "60"})
    write_facts(flow, {(topic, 0): Fact(kind="waiting", name="open-transaction", error="held", since=SINCE)})
    with keeping(flow):
        await_condition(lambda: "producer id" in read_facts(flow)[topic, 0].error, "the fact with its producer", 30)
        assert read_facts(flow)[topic, 0].since == SINCE
    producer.abort_transaction(30)


def test_topics_that_are_refused_or_wider_are_facts_until_it_is_put_right(
    pair: Pair, topic: str, make_flow: Callable[..., FlowConfig]
) -> None:
    refused, wide = f"{topic}-refused", f"{topic}-wide"
    flow = make_flow(f"{topic}.*", {"replication.factor": "3"})
    create_topic(pair.source, refused, 2)
    create_topic(pair.source, wide, 1)
    create_topic(pair.target, f"{flow.source.alias}.{wide}", 3)
    with keeping(flow):
        await_condition(lambda: len(read_facts(flow)) == 2, "both facts", 30)
        facts = read_facts(flow)
        assert (facts[refused, -1].kind, facts[refused, -1].name) == ("stopped", "topic-refused")
        assert "replication.factor is 3, but cluster B has 1 live broker: set it to 1" in facts[refused, -1].error
        assert (facts[wide, -1].kind, facts[wide, -1].name) == ("noted", "partition-count")
        survey = survey_flow(flow)
        assert [(row.topic, row.state) for row in survey.partitions] == [
            (refused, "stopped"),
            (refused, "stopped"),
            (wide, "copied"),
        ]
        create_topic(pair.target, f"{flow.source.alias}.{refused}", 2)
        add_partitions(pair.source, wide, 3)
        await_condition(lambda: not read_facts(flow), "the end of both", 30)


def test_facts_of_the_driver_before_trouble_the_leases_and_clear_when_the_copy_goes_on(
    pair: Pair, topic: str, make_flow: Callable[..., FlowConfig]
) -> None:
    create_topic(pair.source, topic, 2)
    flow = make_flow(topic, {})
    write_facts(flow, {(topic, 0): GAP, ("gone", 0): GAP})
    with keeping(flow) as (keeper, ledger):
        await_condition(lambda: read_facts(flow) == {(topic, 0): GAP}, "the topic that is gone to be forgotten", 30)
        await_condition(lambda: len(keeper.view.landscape.partitions if keeper.view.landscape else ()) == 2, "it", 30)
        known = ledger.troubled(flow.name)
        (lease,) = keeper.plan(1, 0, hints={}, weights={}, troubled=known, stop_at=None)
        assert [(p.partition, p.troubled) for p in lease.partitions] == [(0, True), (1, False)]
        ledger.take([Receipt(flow=flow.name, topic=topic, partition=0, kind=GOES_ON)])
        keeper.write_facts()
        assert read_facts(flow) == {}


@pytest.mark.long
def test_only_the_leader_writes_facts(pair: Pair, topic: str, make_flow: Callable[..., FlowConfig]) -> None:
    create_topic(pair.source, topic, 1)
    flow = make_flow(topic, {})
    stop = Receipt(flow=flow.name, topic=topic, partition=0, kind=STOPPED, error="gap: offsets 1..2")
    with keeping(flow) as (first, known_to_first), keeping(flow) as (second, known_to_second):
        await_condition(lambda: not first.view.leads, "the first to stand by", 30)
        known_to_first.take([stop])
        first.write_facts()
        assert read_facts(flow) == {}
        known_to_second.take([stop])
        second.write_facts()
        assert set(read_facts(flow)) == {(topic, 0)}
        second.stop()
        await_condition(lambda: first.view.leads, "the first to lead again", 30)
        assert known_to_first.facts(flow.name)[topic, 0].name == "gap"
    assert Storage.of(flow).status in topics(pair.target)
