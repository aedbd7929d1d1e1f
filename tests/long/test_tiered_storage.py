"""Topics whose older segments are in remote storage are mirrored like others; what a target can't take is left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sparkmirror.embedded import KafkaCluster
from tests.conftest import Pair
from tests.support.command import run_command
from tests.support.flows import write_flow
from tests.support.java_reader import JavaReader
from tests.support.kafka_client import await_condition, create_topic, produce, watermarks
from tests.support.local_mirror import mirroring
from tests.support.same_log import assert_same_log
from tests.support.source_logs.log_start import remove_records
from tests.support.source_logs.transactions import make_transactions
from tests.support.tiered import local_segments, tiered_cluster
from tests.support.topic_admin import change_configs, topic_configs

TIERED = {"remote.storage.enable": "true", "local.retention.bytes": "1"}
SETTINGS = TIERED | {"segment.bytes": "1048576", "retention.ms": "864000000"}
OFTEN = {"sync.topic.configs.interval.seconds": "1", "refresh.topics.interval.seconds": "1"}


@pytest.fixture(scope="module")
def tiered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    with tiered_cluster("tiered", tmp_path_factory.mktemp("remote")) as cluster:
        yield cluster


def await_remote(cluster: KafkaCluster, topic: str, partitions: int = 1, first: int = 0) -> None:
    """Until the broker itself has only the end of each log."""

    def is_remote() -> bool:
        return all(local_segments(cluster, topic, p)[0] > first for p in range(partitions))

    await_condition(is_remote, "segments that are only remote", 60)


def test_remote_segments_are_copied_to_a_target_that_has_none(
    pair: Pair,
    tiered: KafkaCluster,
    topic: str,
    tmp_path: Path,
    java_reader: JavaReader,
    caplog: pytest.LogCaptureFixture,
) -> None:
    source = tiered.bootstrap_servers
    made = make_transactions(
        source, topic, partitions=3, transactions=250, producers=4, span=1, value_bytes=10_000, config=SETTINGS
    )
    await_remote(tiered, topic, partitions=3)
    file = write_flow(tmp_path, source, pair.target, topic, OFTEN)
    said = "takes no local.retention.bytes, remote.storage.enable"
    assert f"{topic}: cluster B {said}" in run_command("plan", str(file)).stdout
    assert f"{topic} can be made on B only without" in run_command("doctor", str(file)).stdout
    with mirroring(file) as mirror:
        mirror.await_topics(3)
        mirror.catch_up(topic)
        remote = f"{mirror.flow.source.alias}.{topic}"
        assert f"topic {remote}: cluster B {said}" in caplog.text
        others = {name: value for name, value in SETTINGS.items() if name not in TIERED}
        assert topic_configs(pair.target, remote) == others
        change_configs(source, topic, {"retention.ms": "964000000", "local.retention.bytes": "2"})
        await_condition(lambda: topic_configs(pair.target, remote)["retention.ms"] == "964000000", "the change")
    assert made.aborted > 0
    assert_same_log(
        java_reader, source, topic, pair.target, remote, mirrored="read_committed", beginnings=True, ends=True
    )


def test_a_target_with_remote_storage_gets_its_settings_and_the_same_log_start(
    tiered: KafkaCluster, topic: str, tmp_path: Path, java_reader: JavaReader
) -> None:
    """From the cluster to itself, under another name."""
    servers = tiered.bootstrap_servers
    create_topic(servers, topic, 1, config=SETTINGS)
    records = ({"key": b"%d" % i, "value": bytes([i % 256]) * 5000, "partition": 0} for i in range(1000))
    produce(servers, topic, records)
    await_remote(tiered, topic)
    remove_records(servers, topic, 300)
    file = write_flow(tmp_path, servers, servers, topic, OFTEN)
    with mirroring(file) as mirror:
        mirror.await_topics(1)
        mirror.catch_up(topic)
        remote = f"{mirror.flow.source.alias}.{topic}"
        assert topic_configs(servers, remote) == SETTINGS
        await_remote(tiered, remote, first=300)
        produce(servers, topic, ({"value": b"more", "partition": 0} for _ in range(10)))
        mirror.hints.clear()
        mirror.catch_up(topic)
    assert watermarks(servers, remote) == {0: (300, 1010)}
    assert_same_log(java_reader, servers, topic, servers, remote, beginnings=True, ends=True)
