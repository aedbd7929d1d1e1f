"""A topic that was deleted and made anew has its name and nothing else: what was mirrored of the old one stays."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka import ConsumerGroupState
from confluent_kafka.admin import AdminClient

from sparkmirror.control.flow_plan import plan_flow
from sparkmirror.copy.receipt import STOPPED, WAITING, Receipt
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.sync.deletes import is_gone
from tests.conftest import Pair
from tests.support.flows import write_flow
from tests.support.group_rounds import KEYS, commit, groups_of
from tests.support.kafka_client import (
    add_partitions,
    await_condition,
    create_topic,
    delete_topic,
    produce,
    topics,
    watermarks,
)
from tests.support.local_mirror import LocalMirror, await_looks, mirroring, no_looks
from tests.support.source_logs.log_start import remove_records
from tests.support.topic_admin import change_configs, topic_configs

RECORDS = 100
DAY_MS = "86400000"
OFTEN = {
    "refresh.topics.interval.seconds": "0.2",
    "sync.topic.configs.interval.seconds": "0.2",
    "heartbeats.replication.enabled": "false",
}


def fill(servers: str, topic: str) -> None:
    produce(servers, topic, ({"value": b"%d" % i} for i in range(RECORDS)))


def recreate(servers: str, topic: str, configs: Mapping[str, str] | None = None, partitions: int = 1) -> None:
    delete_topic(servers, topic)
    await_condition(lambda: topic not in topics(servers), "its end")
    create_topic(servers, topic, partitions, config=configs)
    fill(servers, topic)


@contextlib.contextmanager
def mirrored(pair: Pair, topic: str, folder: Path, extra: Mapping[str, str] | None = None) -> Iterator[LocalMirror]:
    """A topic with a day's retention that was copied."""
    create_topic(pair.source, topic, 1, config={"retention.ms": DAY_MS})
    fill(pair.source, topic)
    file = write_flow(folder, pair.source, pair.target, topic, OFTEN | dict(extra or {}))
    with mirroring(file) as mirror:
        mirror.await_topics(1)
        mirror.catch_up(topic)
        yield mirror


def remote_of(mirror: LocalMirror, topic: str) -> str:
    return f"{mirror.flow.source.alias}.{topic}"


def test_the_targets_log_begins_where_the_sources_does_and_never_where_a_new_topics_does(
    pair: Pair, topic: str, tmp_path: Path
) -> None:
    with mirrored(pair, topic, tmp_path, {"sync.log.start.enabled": "true"}) as mirror:
        remote = remote_of(mirror, topic)
        remove_records(pair.source, topic, 10)
        await_condition(lambda: watermarks(pair.target, remote)[0] == (10, RECORDS), "the log to begin at 10")
        recreate(pair.source, topic)
        remove_records(pair.source, topic, 50)
        await_looks(mirror)
        assert watermarks(pair.target, remote)[0] == (10, RECORDS), "no lease has met the new topic yet"
        mirror.round()
        assert mirror.facts()[topic, 0].name == "source-recreated"
        remove_records(pair.source, topic, 60)
        await_looks(mirror)
        assert watermarks(pair.target, remote)[0] == (10, RECORDS)


def test_nothing_is_removed_from_a_partition_that_stands_still(pair: Pair, topic: str, tmp_path: Path) -> None:
    with mirrored(pair, topic, tmp_path, {"sync.log.start.enabled": "true"}) as mirror:
        remote = remote_of(mirror, topic)
        said = "diverged: the target's last records are not what the source holds there"
        stop = Receipt(flow=mirror.flow.name, topic=topic, partition=0, kind=STOPPED, error=said)
        mirror.ledger.take([stop])
        remove_records(pair.source, topic, 10)
        await_looks(mirror)
        assert watermarks(pair.target, remote)[0] == (0, RECORDS)
        mirror.round()  # it goes on
        await_condition(lambda: watermarks(pair.target, remote)[0] == (10, RECORDS), "the log to begin at 10")


def test_configurations_of_a_new_topic_do_not_reach_the_old_ones_copy(pair: Pair, topic: str, tmp_path: Path) -> None:
    """A shorter retention would remove the only copy."""
    with mirrored(pair, topic, tmp_path) as mirror:
        remote = remote_of(mirror, topic)
        recreate(pair.source, topic, {"retention.ms": "3600000"})
        await_looks(mirror)
        assert topic_configs(pair.target, remote)["retention.ms"] == DAY_MS
        plan = plan_flow(mirror.flow)
        assert f"{remote} keeps its configurations: the source topic was deleted and made anew" in plan.notes
        assert not [step for step in plan.steps if step.topic == remote]


@pytest.mark.parametrize("copied", [True, False])
def test_the_old_topics_settings_stay_where_a_new_one_is_appended_or_nothing_was_copied_yet(
    pair: Pair, topic: str, tmp_path: Path, copied: bool
) -> None:
    """A retention that falls to the target's default would remove what the target alone still has."""
    file = write_flow(tmp_path, pair.source, pair.target, topic, OFTEN | {"on.recreate": "continue"})
    create_topic(pair.source, topic, 1, config={"retention.ms": "-1"})
    with mirroring(file) as mirror:
        mirror.await_topics(1)
        remote = remote_of(mirror, topic)
        if copied:
            fill(pair.source, topic)
            mirror.catch_up(topic)
        recreate(pair.source, topic, {"retention.bytes": "1000000"})
        if copied:
            mirror.round()
            await_condition(lambda: watermarks(pair.target, remote)[0][1] == 2 * RECORDS, "the new records")
        await_looks(mirror)
        change_configs(pair.source, topic, {"flush.ms": "1000"})
        await_condition(lambda: "flush.ms" in topic_configs(pair.target, remote), "what the new one sets later")
        kept = topic_configs(pair.target, remote)
        assert kept["retention.ms"] == "-1" and "retention.bytes" not in kept
        assert f"{remote}: retention.ms=-1 stays, set by hand" in "\n".join(plan_flow(mirror.flow).notes)


def test_partitions_of_a_new_topic_are_not_added_to_the_old_ones_copy(pair: Pair, topic: str, tmp_path: Path) -> None:
    with mirrored(pair, topic, tmp_path) as mirror:
        add_partitions(pair.source, topic, 2)
        mirror.await_topics(2)
        recreate(pair.source, topic, partitions=3)
        await_condition(lambda: (topic, 2) in mirror.facts(), "the fact")
        assert "can't be extended: the source topic was deleted and made anew" in mirror.facts()[topic, 2].error
        assert len(watermarks(pair.target, remote_of(mirror, topic))) == 2


def test_a_topic_whose_copy_stood_still_is_not_deleted_with_its_source(
    pair: Pair, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mirrored(pair, topic, tmp_path, {"sync.topic.deletes.enabled": "true"}) as mirror:
        remote = remote_of(mirror, topic)
        with no_looks(mirror, monkeypatch):
            recreate(pair.source, topic)
            mirror.round()
            assert mirror.facts()[topic, 0].name == "source-recreated"
            delete_topic(pair.source, topic)
            await_condition(lambda: topic not in topics(pair.source), "its end")
            receipts = mirror.round()
            assert {(r.kind, r.error.split(" (")[0]) for r in receipts} == {(WAITING, f"the source has no {topic}-0")}
        mirror.await_topics(0)
        await_looks(mirror)
        assert remote in topics(pair.target)
        assert mirror.facts()[topic, 0].name == "source-recreated", "it says why the topic stays"
    with mirroring(mirror.file) as mirror:
        mirror.await_topics(0)
        await_looks(mirror)
        assert remote in topics(pair.target), "also under the next driver"


def test_a_topic_is_deleted_with_its_source_and_not_with_another_of_that_name(
    pair: Pair, topic: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """No lease has met the new one, so no fact says that it was there."""
    keys = {"sync.topic.deletes.enabled": "true", "FLOW.topics": f"{topic}.*"}
    with mirrored(pair, f"{topic}-stays", tmp_path, keys) as mirror:
        goes, stays = (remote_of(mirror, f"{topic}-{end}") for end in ("goes", "stays"))
        create_topic(pair.source, f"{topic}-goes", 1)
        fill(pair.source, f"{topic}-goes")
        mirror.await_topics(2)
        mirror.catch_up(f"{topic}-goes")
        recreate(pair.source, f"{topic}-stays")
        await_looks(mirror)
        for end in ("goes", "stays"):
            delete_topic(pair.source, f"{topic}-{end}")
        await_condition(lambda: goes not in topics(pair.target), "the end of the copy")
        await_looks(mirror)
        assert stays in topics(pair.target)
        assert f"{stays} is not deleted, though {topic}-stays is gone: the source topic was deleted and" in caplog.text
        (step,) = [step for step in plan_flow(mirror.flow).steps if step.topic == stays]
        assert "made anew" in step.refusal
    with mirroring(mirror.file) as mirror:
        mirror.await_topics(0)
        await_looks(mirror)
        assert stays in topics(pair.target), "also under the next driver"


def test_a_topic_is_gone_only_if_the_very_cluster_says_so_that_it_was_mirrored_from(pair: Pair, topic: str) -> None:
    with Cluster(ClusterAddress(alias="A", bootstrap=(pair.source,))) as source:
        cluster_id = source.fetch_metadata([]).cluster_id
        assert is_gone(source, topic, cluster_id)
        assert not is_gone(source, topic, "another")
        assert not is_gone(source, topic, "")


def test_groups_that_ended_with_their_topic_stay_on_the_target(pair: Pair, topic: str, tmp_path: Path) -> None:
    """A broker forgets what was committed in a topic that is deleted, and sooner or later the group."""
    group, deleted, elsewhere = f"{topic}-group", f"{topic}-deleted", f"{topic}-elsewhere"
    keys = KEYS | {"groups": f"{topic}.*", "sync.group.deletes.enabled": "true", "refresh.groups.interval.seconds": "1"}
    with mirrored(pair, topic, tmp_path, keys) as mirror, groups_of(mirror) as groups:
        for each in (group, deleted, elsewhere):
            commit(pair.source, each, {(topic, 0): 50})
        assert groups.round()[group].committed == 1
        marks = groups.keeper._marks._read().groups
        assert marks[elsewhere].cluster == mirror.keeper.source.fetch_metadata([]).cluster_id
        marks[elsewhere] = marks[elsewhere]._replace(cluster="another")  # so it was before the source was built anew
        for each in (deleted, elsewhere):
            delete_group(pair.source, each)
        groups.round()
        assert is_there(pair.target, group)
        assert is_there(pair.target, elsewhere)
        assert not is_there(pair.target, deleted)
        recreate(pair.source, topic)
        await_looks(mirror)
        commit(pair.source, group, {(topic, 0): 90})
        report = groups.round()[group]
        assert "made anew since it was mirrored" in report.unknown and not report.committed and not report.emitted
        delete_group(pair.source, group)
        groups.round()
        assert is_there(pair.target, group)


def delete_group(servers: str, group: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.delete_consumer_groups([group])[group].result(timeout=20)


def is_there(servers: str, group: str) -> bool:
    admin = AdminClient({"bootstrap.servers": servers})
    found = admin.describe_consumer_groups([group])[group].result(timeout=20)
    return bool(found.state != ConsumerGroupState.DEAD)
