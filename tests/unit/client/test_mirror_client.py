"""What the client makes of its properties and of clusters that are away."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sparkmirror.client import MirrorClient, translate_offsets
from sparkmirror.errors import ConfigError, ConnectionLostError

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples" / "plugins"
SERVERS = {"bootstrap.servers": "h:1,i:2"}


def test_addresses_alone_are_enough() -> None:
    with MirrorClient("h:1,i:2") as client:
        policy = client.replication_policy
    assert (policy.format_remote_topic("a", "t"), policy.checkpoints_topic("a")) == ("a.t", "a.checkpoints.internal")


def test_names_follow_the_properties() -> None:
    policy = MirrorClient(SERVERS | {"replication.policy.separator": "_"}).replication_policy
    assert (policy.topic_source("a_b_t"), policy.checkpoints_topic("a")) == ("a", "a_checkpoints_internal")
    flag = {"replication.policy.separator": "_", "replication.policy.internal.topic.separator.enabled": "false"}
    assert MirrorClient(SERVERS | flag).replication_policy.checkpoints_topic("a") == "a.checkpoints.internal"


@pytest.mark.parametrize("name", ["IdentityReplicationPolicy", "LegacyReplicationPolicy"])
def test_identity_and_legacy_keep_names(name: str) -> None:
    properties = SERVERS | {"replication.policy.class": name, "source.cluster.alias": "a"}
    policy = MirrorClient(properties).replication_policy
    assert (policy.topic_source("t"), policy.topic_source("b.heartbeats")) == ("a", "b")


def test_with_aliases_names_are_known_by_them_and_else_by_the_first_separator() -> None:
    properties = SERVERS | {"replication.policy.separator": "-"}
    assert MirrorClient(properties).replication_policy.topic_source("eu-west-orders") == "eu"
    named = MirrorClient(properties | {"clusters": "eu-west, us"}).replication_policy
    assert named.topic_source("eu-west-orders") == "eu-west"


def test_a_policy_of_ones_own_is_loaded_from_its_folder() -> None:
    properties = SERVERS | {"replication.policy.class": "team_names.TeamPolicy", "plugin.path": str(EXAMPLES)}
    assert MirrorClient(properties).replication_policy.topic_source("orders--from-eu") == "eu"


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({}, "bootstrap.servers is missing"),
        ({"bootstrap.servers": "h"}, "bootstrap.servers: expected host:port"),
        (SERVERS | {"replication.policy.internal.topic.separator.enabled": "yes"}, "expected true or false"),
        (SERVERS | {"replication.policy.class": "com.acme.Policy"}, "looks like a Java class"),
        (SERVERS | {"security.protocol": "tls"}, "security.protocol: expected one of PLAINTEXT, SSL"),
    ],
)
def test_a_wrong_property_is_named(properties: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        MirrorClient(properties)


def test_a_cluster_that_is_away_is_an_error_in_time() -> None:
    began = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(ConnectionLostError, match=f"cluster 127.0.0.1:{port}: no broker answers"):
            translate_offsets(f"127.0.0.1:{port}", "a", "g", timeout_s=0.5)
    with pytest.raises(ConnectionLostError, match=f"no broker answers: 127.0.0.1:{port} can't be reached"):
        translate_offsets(f"127.0.0.1:{port}", "a", "g", timeout_s=0.5)
    assert time.monotonic() - began < 3


def test_the_client_is_imported_without_spark() -> None:
    heavy = ("pyspark", "numba", "pyarrow", "pandas", "confluent_kafka")
    code = f"import sys, sparkmirror.client; print(*(name for name in {heavy} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == []
