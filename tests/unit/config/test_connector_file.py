"""A connector's own file, as Connect takes it, is one flow."""

from __future__ import annotations

import pytest

from sparkmirror.config.mirror import parse_mirror_config
from sparkmirror.errors import ConfigError
from sparkmirror.topology.select import TopicSelector

FILE = """\
name = mine
connector.class = org.apache.kafka.connect.mirror.MirrorSourceConnector
source.cluster.alias = west
source.cluster.bootstrap.servers = h:1
target.cluster.bootstrap.servers = i:1
source.cluster.security.protocol = SSL
consumer.fetch.min.bytes = 9
topics = x
use.defaults.from = source
offset.storage.replication.factor = 1
spark.master = local[2]
"""


def test_its_keys_are_the_flow_s() -> None:
    config = parse_mirror_config(FILE, "f")
    (flow,) = config.flows
    assert (flow.name, flow.connector_name, flow.topics) == ("west->target", "mine", ("x",))
    assert flow.source.bootstrap_servers == ("h:1",)
    assert flow.consumer.fetch_min_bytes == 9
    assert flow.sync.defaults_from == "source"
    assert flow.internal_replication_factor == 1
    assert flow.security.source_consumer == {"security.protocol": "SSL"}
    assert flow.security.target_producer == {}
    assert config.spark == {"spark.master": "local[2]"}
    assert config.warnings == ()


def test_what_is_not_in_force_is_listed_as_written() -> None:
    listed = parse_mirror_config(FILE + "nonsense = 1\n", "f").not_in_force
    assert "nonsense" in listed and not any("->" in key for key in listed)


def test_the_source_connector_alone_emits_nothing_and_all_three_do() -> None:
    (alone,) = parse_mirror_config(FILE, "f").flows
    assert alone.heartbeats.interval_s is None and not alone.checkpoints_topic.is_wanted
    (whole,) = parse_mirror_config(FILE.replace("connector.class", "#"), "f").flows
    assert whole.heartbeats.interval_s == 1.0 and whole.checkpoints_topic.is_wanted


def test_nothing_goes_the_other_way() -> None:
    assert parse_mirror_config(FILE, "f").heartbeat_pairs == ()


def test_the_heartbeat_connector_alone_emits_and_mirrors_nothing_whatever_its_file_says() -> None:
    config = parse_mirror_config(FILE.replace("MirrorSourceConnector", "MirrorHeartbeatConnector"), "f")
    (flow,) = config.flows
    selector = TopicSelector.of(flow)
    assert not any(map(selector.should_replicate, ("x", "heartbeats", "other")))
    assert flow.heartbeats.interval_s == 1.0
    assert not flow.checkpoints_topic.is_wanted and not flow.offset_syncs.topic.is_wanted
    assert config.heartbeat_pairs == ()


@pytest.mark.parametrize(
    ("name", "why"), [("MirrorCheckpointConnector", "from what a flow copies"), ("JdbcConnector", "no such connector")]
)
def test_what_can_not_run_alone_is_refused_with_the_reason(name: str, why: str) -> None:
    with pytest.raises(ConfigError, match=f"f:2: connector.class: {name} can't run alone: .*{why}.*expected Mirror"):
        parse_mirror_config(FILE.replace("MirrorSourceConnector", name), "f")
