"""Sessions and tokens that end again and again under load, in the real mirror: nothing lost, nothing double.

`sparkmirror run` reads by SCRAM and writes by a token of an endpoint, both over listeners whose sessions last three
seconds, while tokens last six. Every secret is then looked for in all that the mirror has written.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from sparkmirror.embedded import KafkaCluster, start_clusters
from tests.support import sasl
from tests.support.java_reader import JavaReader
from tests.support.kafka_client import await_condition, create_topic, total
from tests.support.load import small_load
from tests.support.mirror_process import MirrorProcess, properties
from tests.support.same_log import assert_same_log
from tests.support.token_endpoint import CLIENT, SECRET, TokenEndpoint
from tests.support.topic_admin import replicas

pytestmark = pytest.mark.timeout(300)

SESSION_S = 3.0
TOKEN_S = 6.0
LOAD_S = 25.0
PARTITIONS = 4


@pytest.fixture(scope="module")
def clusters() -> Iterator[tuple[KafkaCluster, KafkaCluster]]:
    a, b = (sasl.asking_cluster(f"sessions-{name}", session_ms=int(SESSION_S * 1000)) for name in "AB")
    start_clusters(a, b)
    with a, b:
        sasl.add_user(a)
        sasl.add_user(b)
        yield a, b


def test_a_mirror_under_load_outlives_its_sessions_and_tokens(
    clusters: tuple[KafkaCluster, KafkaCluster], topic: str, java_reader: JavaReader
) -> None:
    a, b = clusters
    create_topic(a.bootstrap_servers, topic, PARTITIONS)
    with TokenEndpoint(sasl.USER) as endpoint:
        endpoint.life_s = TOKEN_S
        text = properties(
            a.servers_of(sasl.SHORT),
            b.servers_of(sasl.SHORT),
            topic,
            {
                **sasl.file_settings("A", sasl.client_settings("SCRAM-SHA-512")),
                **sasl.file_settings("B", sasl.endpoint_settings(endpoint.url, CLIENT, SECRET)),
                "lease.seconds": "20",
            },
        )
        with MirrorProcess(text) as mirror:
            with small_load(a.bootstrap_servers, topic, PARTITIONS, 1, pause_s=0.02):
                await_condition(lambda: has_some(b, f"A.{topic}"), "the first records", 60)
                at_first = len(endpoint.asked)
                time.sleep(LOAD_S)  # the load itself is what is waited for
            at_last = len(endpoint.asked)
            where = (a.bootstrap_servers, topic, b.bootstrap_servers, f"A.{topic}")
            assert_same_log(java_reader, *where, mirrored="read_committed", ends=True, await_s=60)
            written = mirror.log() + str(mirror.status())
            mirror.terminate()
    written += mirror.log()
    offsets = total(a.bootstrap_servers, topic)
    tokens = f"{at_last - at_first} tokens of {TOKEN_S:g} s in {LOAD_S:g} s"
    print(f"\n{offsets} offsets, sessions of {SESSION_S:g} s, {tokens}")
    for line in written.splitlines():
        assert "closed the connection" not in line and "refuses" not in line, line
    for secret in (sasl.PASSWORD, SECRET, *endpoint.given):
        assert secret not in written
    assert at_last - at_first >= LOAD_S / TOKEN_S


def has_some(cluster: KafkaCluster, topic: str) -> bool:
    return topic in replicas(cluster.bootstrap_servers) and total(cluster.bootstrap_servers, topic) > 0
