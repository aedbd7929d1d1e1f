"""Brokers of old releases that ask who is there: records go in and out by a password, and sessions are renewed."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparkmirror.embedded import KafkaCluster
from tests.support import sasl
from tests.support.console_tools import run_tool
from tests.support.kafka_client import assert_same, create_topic, produce, read_all
from tests.support.local_mirror import mirroring

pytestmark = pytest.mark.timeout(180)

LISTENER = "OLD"
PASSWORD = "s3cret-of-old"  # the tool takes no signs
MECHANISMS = ("PLAIN", "SCRAM-SHA-256")
SESSION_MS = 1500
RECORDS = 300


@pytest.fixture(scope="module", params=["3.2.0", "2.4.1"])
def old(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    logins = {mechanism: sasl.SERVER_LOGINS[mechanism] for mechanism in MECHANISMS}
    with KafkaCluster(
        name=f"old-{request.param}",
        version=request.param,
        listeners={LISTENER: "SASL_PLAINTEXT"},
        overrides=sasl.server_settings(LISTENER, logins, session_ms=SESSION_MS),
    ) as cluster:
        add_user(cluster)
        yield cluster


def add_user(cluster: KafkaCluster) -> None:
    """As it was done before KIP-554: past the brokers."""
    settings = (cluster.brokers[0].log_path.parent / "server.properties").read_text()
    (zookeeper,) = re.findall(r"^zookeeper.connect=(.*)$", settings, re.MULTILINE)
    scram = f"SCRAM-SHA-256=[iterations=4096,password={PASSWORD}]"
    words = ("--alter", "--add-config", scram, "--entity-type", "users", "--entity-name", sasl.USER)
    run_tool("kafka.admin.ConfigCommand", "--zookeeper", zookeeper, *words)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_records_go_in_and_out(old: KafkaCluster, topic: str, tmp_path: Path, mechanism: str) -> None:
    servers, asking = old.bootstrap_servers, old.servers_of(LISTENER)
    login = sasl.client_settings(mechanism, password=sasl.PASSWORD if mechanism == "PLAIN" else PASSWORD)
    create_topic(servers, topic, 2)
    produce(servers, topic, [{"value": b"%d" % n, "partition": n % 2} for n in range(RECORDS)])
    began = time.monotonic()
    file = sasl.write_asking_flow(tmp_path, asking, asking, topic, read=login, write=login)
    with mirroring(file) as mirror:
        mirror.await_topics(2)
        assert sum(receipt.records for receipt in mirror.round(2 * SESSION_MS / 1000)) == RECORDS
        produce(servers, topic, [{"value": b"%d" % n, "partition": n % 2} for n in range(RECORDS)])
        assert sum(receipt.records for receipt in mirror.round()) == RECORDS
    assert_same(read_all(servers, topic), read_all(servers, f"{mirror.flow.source.alias}.{topic}"))
    print(f"\nKafka {old.version} | {mechanism:13} | {2 * RECORDS} records in {time.monotonic() - began:.1f} s")
