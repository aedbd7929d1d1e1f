"""Remote topics are made like their sources and kept so, on real brokers: a keeper without Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from sparkmirror.config.mirror import load_mirror_config
from sparkmirror.config.model import FlowConfig
from sparkmirror.control.flow_plan import plan_flow
from sparkmirror.control.survey import survey_flow
from sparkmirror.embedded import KafkaCluster
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.delete import delete_records
from sparkmirror.offsets.claims import read_memory
from sparkmirror.offsets.internal_topic import InternalTopic
from sparkmirror.topology.storage import Storage
from tests.conftest import Pair
from tests.support.flows import only_flow, write_flow
from tests.support.kafka_client import (
    add_partitions,
    await_condition,
    create_topic,
    delete_topic,
    produce,
    topics,
    watermarks,
)
from tests.support.keepers import keeping
from tests.support.topic_admin import KEEPS_TIMES, change_configs, topic_configs

MakeFlow = Callable[..., FlowConfig]
OFTEN = {
    "refresh.topics.interval.seconds": "0.3",
    "sync.topic.configs.interval.seconds": "0.3",
    "heartbeats.replication.enabled": "false",
}


@pytest.fixture
def make_flow(pair: Pair, tmp_path: Path) -> MakeFlow:
    def make(names: str, extra: Mapping[str, str] | None = None, target: str = pair.target) -> FlowConfig:
        return only_flow(write_flow(tmp_path, pair.source, target, names, OFTEN | dict(extra or {})))

    return make


def records_written(flow: FlowConfig) -> int:
    """How far the claim topic is, which tells of every configuration that is set."""
    with Cluster(ClusterAddress(alias="B", bootstrap=flow.target.bootstrap_servers)) as cluster:
        topic = InternalTopic(cluster, Storage.of(flow).claims, partitions=1, replication_factor=-1)
        return sum(b'"configs"' in (record.key or b"") for record in topic.read())


def remembered(flow: FlowConfig, topic: str) -> dict[str, tuple[str | None, ...]]:
    """What the mirror wrote."""
    with Cluster(ClusterAddress(alias="B", bootstrap=flow.target.bootstrap_servers)) as cluster:
        return dict(read_memory(cluster, Storage.of(flow)).configs[topic].known.written)


def each_once(configs: Mapping[str, str]) -> dict[str, tuple[str | None, ...]]:
    return {name: (value,) for name, value in configs.items()}


def test_a_topic_is_made_with_the_sources_partitions_and_configurations(
    pair: Pair, topic: str, make_flow: MakeFlow
) -> None:
    set_there = {"retention.ms": "123456789", "cleanup.policy": "compact", "segment.bytes": "1048576"}
    create_topic(
        pair.source,
        topic,
        3,
        config=set_there | {"min.insync.replicas": "1", "message.timestamp.type": "LogAppendTime"},
    )
    flow = make_flow(topic)
    remote = f"{flow.source.alias}.{topic}"
    with keeping(flow):
        await_condition(lambda: remote in topics(pair.target), "the topic")
        assert len(watermarks(pair.target, remote)) == 3
        # The default exclude list leaves two out.
        assert topic_configs(pair.target, remote) == set_there | KEEPS_TIMES
        await_condition(lambda: remembered(flow, remote) == each_once(set_there | KEEPS_TIMES), "the memory of it")


def test_only_what_changed_is_written_and_what_a_user_set_by_hand_stays(
    pair: Pair, topic: str, make_flow: MakeFlow
) -> None:
    create_topic(pair.source, topic, 1, config={"retention.ms": "1000000", "segment.bytes": "2000000"})
    flow = make_flow(topic)
    remote = f"{flow.source.alias}.{topic}"
    with keeping(flow):
        await_condition(lambda: remote in topics(pair.target), "the topic")
        change_configs(pair.target, remote, {"max.message.bytes": "5000", "min.insync.replicas": "1"})
        change_configs(
            pair.source, topic, {"retention.ms": "2000000", "delete.retention.ms": "77", "segment.bytes": None}
        )
        wanted = {"retention.ms": "2000000", "delete.retention.ms": "77"} | KEEPS_TIMES
        by_hand = {"max.message.bytes": "5000", "min.insync.replicas": "1"}
        await_condition(lambda: topic_configs(pair.target, remote) == wanted | by_hand, "the changes")
        await_condition(lambda: remembered(flow, remote) == each_once(wanted), "the memory of it")
        before = records_written(flow)
        change_configs(pair.source, topic, {"flush.ms": "1000"})
        await_condition(lambda: remembered(flow, remote) == each_once(wanted | {"flush.ms": "1000"}), "one more")
        assert records_written(flow) == before + 2  # before and after, and nothing in the runs between


def test_what_is_changed_on_the_target_by_hand_stays_also_where_the_source_sets_the_same_key(
    pair: Pair, topic: str, make_flow: MakeFlow
) -> None:
    create_topic(pair.source, topic, 1, config={"retention.ms": "1000000", "segment.bytes": "2000000"})
    flow = make_flow(topic)
    remote = f"{flow.source.alias}.{topic}"

    def change_and_await(values: Mapping[str, str | None], mark: str) -> dict[str, str]:
        """When the mark is there, so is whatever else was to come. Without the mark."""
        change_configs(pair.source, topic, {**values, "flush.ms": mark})
        await_condition(lambda: topic_configs(pair.target, remote).get("flush.ms") == mark, "the mark")
        return {n: v for n, v in topic_configs(pair.target, remote).items() if n not in {"flush.ms", *KEEPS_TIMES}}

    with keeping(flow):
        await_condition(lambda: remote in topics(pair.target), "the topic")
        change_configs(pair.target, remote, {"retention.ms": "-1", "segment.bytes": None})
        assert change_and_await({"retention.ms": "2000000"}, "1001") == {"retention.ms": "-1"}
        notes = "\n".join(plan_flow(flow).notes)
        assert f"{remote}: retention.ms=-1 stays, set by hand" in notes
        assert f"{remote}: no segment.bytes stays, set by hand" in notes
        (row,) = [row for row in survey_flow(flow).topics if row.target_topic == remote]
        assert row.by_hand == {"retention.ms": "-1", "segment.bytes": None}
    with keeping(flow):  # the next driver
        assert change_and_await({"retention.ms": "3000000", "segment.bytes": None}, "1002") == {"retention.ms": "-1"}
        change_configs(pair.target, remote, {"retention.ms": "3000000"})  # as the source's: given back to the mirror
        assert change_and_await({}, "1003") == {"retention.ms": "3000000"}
        assert change_and_await({"retention.ms": "4000000"}, "1004") == {"retention.ms": "4000000"}


def test_strict_is_mirrormakers_rule(pair: Pair, topic: str, make_flow: MakeFlow) -> None:
    create_topic(pair.source, topic, 1, config={"retention.ms": "1000000"})
    flow = make_flow(topic, {"sync.topic.configs.strict": "true"})
    remote = f"{flow.source.alias}.{topic}"
    create_topic(pair.target, remote, 1, config={"delete.retention.ms": "5000", "min.insync.replicas": "1"})
    with keeping(flow):
        wanted = {"retention.ms": "1000000", "min.insync.replicas": "1"}  # what is excluded stays
        await_condition(lambda: topic_configs(pair.target, remote) == wanted, "MirrorMaker 2's configurations")


def test_defaults_of_the_source_are_set_where_they_are_asked_for(pair: Pair, topic: str, make_flow: MakeFlow) -> None:
    create_topic(pair.source, topic, 1)
    flow = make_flow(topic, {"FLOW.use.defaults.from": "source"})
    remote = f"{flow.source.alias}.{topic}"
    with keeping(flow):
        await_condition(lambda: remote in topics(pair.target), "the topic")
        assert topic_configs(pair.target, remote)["retention.ms"] == "604800000"


def test_configurations_are_left_alone_where_their_sync_is_off(pair: Pair, topic: str, make_flow: MakeFlow) -> None:
    create_topic(pair.source, topic, 1, config={"retention.ms": "1000000"})
    flow = make_flow(topic, {"sync.topic.configs.enabled": "false"})
    remote = f"{flow.source.alias}.{topic}"
    create_topic(pair.target, remote, 1)
    with keeping(flow) as (keeper, _):
        await_condition(lambda: keeper.view.landscape is not None, "a look")
        assert topic_configs(pair.target, remote) == {}


def test_a_long_refresh_holds_up_neither_heartbeats_nor_configurations_nor_the_lag(
    pair: Pair, topic: str, make_flow: MakeFlow
) -> None:
    """Of MirrorMaker 2's ten minutes only new topics know."""
    create_topic(pair.source, topic, 1)
    extra = {"refresh.topics.interval.seconds": "600", "heartbeats.topic.replication.factor": "1"}
    flow = make_flow(topic, extra)
    remote = f"{flow.source.alias}.{topic}"
    with keeping(flow) as (keeper, _):
        await_condition(lambda: keeper.plan_heartbeat() is not None, "heartbeats", 20)
        change_configs(pair.source, topic, {"retention.ms": "2000000"})
        wanted = {"retention.ms": "2000000"} | KEEPS_TIMES
        await_condition(lambda: topic_configs(pair.target, remote) == wanted, "it", 20)
        produce(pair.source, topic, [{"value": b"x"}])
        await_condition(lambda: bool(keeper.view.ends) and keeper.view.ends[topic, 0].lag == 1, "the lag", 20)  # type: ignore[index]
    delete_topic(pair.target, "heartbeats")


def test_without_refresh_only_what_is_there_at_the_start_is_mirrored(
    pair: Pair, topic: str, make_flow: MakeFlow
) -> None:
    create_topic(pair.source, f"{topic}-old", 1)
    flow = make_flow(f"{topic}.*", {"refresh.topics.enabled": "false"})
    with keeping(flow) as (keeper, _):
        await_condition(lambda: f"{flow.source.alias}.{topic}-old" in topics(pair.target), "the topic")
        create_topic(pair.source, f"{topic}-new", 1)
        add_partitions(pair.source, f"{topic}-old", 2)
        for _ in range(2):
            seen = keeper.view.landscape
            await_condition(lambda s=seen: keeper.view.landscape is not s, "a look")  # type: ignore[misc]
        assert keeper.view.landscape and [(p.topic, p.partition) for p in keeper.view.landscape.partitions] == [
            (f"{topic}-old", 0)
        ]
        assert f"{flow.source.alias}.{topic}-new" not in topics(pair.target)


def test_a_missing_target_topic_is_made_again_by_the_mirror_and_not_by_asking_for_it(
    pair: Pair, topic: str, make_flow: MakeFlow
) -> None:
    """With auto.create.topics.enable on, a careless request would make it with one partition."""
    create_topic(pair.source, topic, 3, config={"retention.ms": "1000000"})
    with KafkaCluster(name="auto", overrides={"auto.create.topics.enable": "true"}) as auto:
        flow = make_flow(topic, target=auto.bootstrap_servers)
        remote = f"{flow.source.alias}.{topic}"
        with keeping(flow):
            await_condition(lambda: remote in topics(auto.bootstrap_servers), "the topic")
            delete_topic(auto.bootstrap_servers, remote)
            await_condition(lambda: remote in topics(auto.bootstrap_servers), "the topic again")
            await_condition(lambda: len(watermarks(auto.bootstrap_servers, remote)) == 3, "its partitions")
            assert topic_configs(auto.bootstrap_servers, remote) == {"retention.ms": "1000000"} | KEEPS_TIMES
        made = {name for name in topics(auto.bootstrap_servers) if not name.startswith(("__", "mm2-"))}
        assert made == {remote}


@pytest.mark.parametrize("enabled", [True, False])
def test_deletion_reaches_the_target_only_where_it_is_asked_for(
    pair: Pair, topic: str, make_flow: MakeFlow, enabled: bool
) -> None:
    kept = f"{topic}-by-hand"
    create_topic(pair.source, topic, 1)
    create_topic(pair.source, kept, 1)
    flow = make_flow(f"{topic}.*", {"sync.topic.deletes.enabled": str(enabled)})
    remote, by_hand = f"{flow.source.alias}.{topic}", f"{flow.source.alias}.{kept}"
    create_topic(pair.target, by_hand, 1)
    with keeping(flow) as (keeper, _):
        await_condition(lambda: remote in topics(pair.target), "the topic")
        delete_topic(pair.source, topic)
        delete_topic(pair.source, kept)
        await_condition(lambda: keeper.view.landscape is not None and not keeper.view.landscape.pairs, "a look")
        if enabled:
            await_condition(lambda: remote not in topics(pair.target), "its end")
        else:
            looked = keeper.view.landscape
            await_condition(lambda: keeper.view.landscape is not looked, "another look")
        left = topics(pair.target)
        assert (remote in left) is not enabled
        assert by_hand in left  # somebody else made it


def test_a_topic_that_others_share_or_write_to_outlives_its_source(
    pair: Pair, topic: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Two regions in one topic, which the first of them made; and one that an application writes to."""
    shared, written = f"{topic}-all", f"{topic}-written"
    file = write_flow(
        tmp_path,
        pair.source,
        pair.target,
        f"{topic}-eu, {written}",
        OFTEN | {"sync.topic.deletes.enabled": "true", "FLOW.topics.map": f"{topic}-eu:{shared}"},
    )
    alias = only_flow(file).source.alias
    us = {"clusters": f"{alias}, US, B", "US.bootstrap.servers": pair.source, "US->B.enabled": "true"}
    us |= {"US->B.topics": f"{topic}-us", "US->B.topics.map": f"{topic}-us:{shared}"}
    file.write_text(file.read_text() + "".join(f"{key} = {value}\n" for key, value in us.items()))
    for name in (f"{topic}-eu", f"{topic}-us", written):
        create_topic(pair.source, name, 1)
    flow = next(flow for flow in load_mirror_config(file).flows if flow.source.alias == alias)
    remotes = {shared, f"{alias}.{written}"}
    with keeping(flow) as (keeper, _):
        await_condition(lambda: remotes <= set(topics(pair.target)), "the topics")
        for remote in remotes:
            produce(pair.target, remote, [{"value": b"of another"}])
        delete_topic(pair.source, f"{topic}-eu")
        delete_topic(pair.source, written)
        await_condition(lambda: caplog.text.count("is not deleted, though") == 2, "both reasons")
        landscape = keeper.view.landscape
        await_condition(lambda: keeper.view.landscape is not landscape, "another look")
        assert remotes <= set(topics(pair.target))
        refused = {step.topic: step.refusal for step in plan_flow(flow).steps if step.action == "delete"}
        assert "other topics are written into it" in refused[shared]
        assert "records that the mirror did not write" in refused[f"{alias}.{written}"]


def test_factors_are_compared_with_live_brokers_before_anything_is_made(
    pair: Pair, topic: str, make_flow: MakeFlow, caplog: pytest.LogCaptureFixture
) -> None:
    create_topic(pair.source, topic, 1)
    flow = make_flow(topic, {"offset.storage.replication.factor": "2", "replication.factor": "1"})
    before = topics(pair.target)
    with pytest.raises(AssertionError, match="the lead"), keeping(flow, deadline_s=2):
        pass
    assert "offset.storage.replication.factor is 2, but cluster B has 1 live broker: set it to 1" in caplog.text
    assert topics(pair.target) == before


def test_the_sources_factor_is_capped_with_a_warning(
    topic: str, tmp_path: Path, pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    with KafkaCluster(brokers=2, name="wide") as wide:
        create_topic(wide.bootstrap_servers, topic, 1, replicas=2)
        extra = OFTEN | {"replication.factor": "source"}
        flow = only_flow(write_flow(tmp_path, wide.bootstrap_servers, pair.target, topic, extra))
        remote = f"{flow.source.alias}.{topic}"
        with keeping(flow):
            await_condition(lambda: remote in topics(pair.target), "the topic")
    assert "the source topic has 2 replicas, and cluster B has 1 live broker: it gets 1" in caplog.text


def test_internal_topics_are_made_with_mirrormakers_names_and_cleanup(
    pair: Pair, topic: str, make_flow: MakeFlow
) -> None:
    factors = {f"{kind}.topic.replication.factor": "1" for kind in ("checkpoints", "offset-syncs")}
    flow = make_flow(
        topic,
        factors | {"emit.heartbeats.enabled": "false", "checkpoints.topic.retention.ms": "86400000"},
    )
    checkpoints, syncs = f"{flow.source.alias}.checkpoints.internal", "mm2-offset-syncs.B.internal"
    with keeping(flow):
        await_condition(lambda: checkpoints in topics(pair.target) and syncs in topics(pair.source), "both topics")
    aged = {"cleanup.policy": "compact,delete", "retention.ms": "86400000"}
    assert topic_configs(pair.target, checkpoints) == aged | {"segment.bytes": "1048576"}
    assert topic_configs(pair.source, syncs) == {"cleanup.policy": "compact"}
    assert len(watermarks(pair.target, checkpoints)) == len(watermarks(pair.source, syncs)) == 1
    delete_topic(pair.source, syncs)


def test_compaction_waits_until_the_log_can_begin_above_0(pair: Pair, topic: str, make_flow: MakeFlow) -> None:
    """A compacted topic takes no filler; offsets would have to be translated."""
    create_topic(pair.source, topic, 1, config={"cleanup.policy": "compact,delete"})
    produce(pair.source, topic, ({"key": b"%d" % i, "value": b"x"} for i in range(20)))
    with Cluster(ClusterAddress(alias="A", bootstrap=(pair.source,))) as source:
        leader = source.fetch_metadata([topic]).topics[topic].leaders[0]
        assert delete_records(source, {(topic, 0): leader}, {(topic, 0): 10}) == {(topic, 0): 0}
    flow = make_flow(topic)
    remote = f"{flow.source.alias}.{topic}"
    with keeping(flow):
        await_condition(lambda: remote in topics(pair.target), "the topic")
        assert topic_configs(pair.target, remote) == KEEPS_TIMES
        produce(pair.target, remote, ({"key": b"%d" % i, "value": b"x"} for i in range(10)))  # the copy's filler
        await_condition(
            lambda: topic_configs(pair.target, remote) == {"cleanup.policy": "compact,delete"} | KEEPS_TIMES,
            "compaction",
        )
