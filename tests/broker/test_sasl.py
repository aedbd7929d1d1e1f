"""Real brokers that ask who is there: each mechanism, sessions that end, and refusals in words."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from kafka.protocol.metadata import MetadataRequest

from sparkmirror.config.jaas import PLAIN_MODULE
from sparkmirror.config.mirror import load_mirror_config
from sparkmirror.doctor.examine import examine_clusters
from sparkmirror.doctor.verdict import Level
from sparkmirror.embedded import KafkaCluster
from sparkmirror.errors import AuthenticationError, ConnectionLostError
from sparkmirror.net.address import parse_host_port
from sparkmirror.net.channel import Channel
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.sasl.tokens import make_unsecured
from sparkmirror.protocol import metadata
from tests.support import sasl
from tests.support.kafka_client import assert_same, create_topic, produce, read_all
from tests.support.local_mirror import mirroring
from tests.support.token_endpoint import CLIENT, SECRET, TokenEndpoint

pytestmark = pytest.mark.timeout(120)

SESSION_S = sasl.SESSION_MS / 1000


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaCluster]:
    with sasl.asking_cluster("asking") as cluster:
        sasl.add_user(cluster)
        yield cluster


def open_channel(servers: str, settings: Mapping[str, str]) -> Channel:
    return Channel(*parse_host_port(servers), sasl.address(servers, settings).client)


def count_brokers(servers: str, settings: Mapping[str, str]) -> int:
    with Cluster(sasl.address(servers, settings)) as cluster:
        return len(cluster.fetch_metadata().brokers)


@pytest.mark.parametrize("mechanism", sasl.MECHANISMS)
def test_each_mechanism_is_let_in(broker: KafkaCluster, mechanism: str) -> None:
    assert count_brokers(broker.servers_of(sasl.SASL), sasl.client_settings(mechanism)) == 1


def test_tokens_of_a_file_and_of_an_endpoint_are_let_in(broker: KafkaCluster, tmp_path: Path) -> None:
    text = make_unsecured({"unsecuredLoginStringClaim_sub": sasl.USER}, time.time()).text
    servers = broker.servers_of(sasl.SASL)
    assert count_brokers(servers, sasl.write_token(tmp_path / "token", text)) == 1
    with TokenEndpoint(sasl.USER) as endpoint:
        assert count_brokers(servers, sasl.endpoint_settings(endpoint.url, CLIENT, SECRET)) == 1
        assert len(endpoint.asked) == 1


def ask(channel: Channel, tag: int) -> None:
    body = metadata.encode_metadata(metadata.WITH_IDS, [])
    channel.send(metadata.API_KEY, metadata.WITH_IDS, [body], flexible=True, tag=tag)


def test_a_session_is_renewed_between_requests_and_their_order_stays(broker: KafkaCluster) -> None:
    """Five requests are always under way, while the broker's session ends twice."""
    channel = open_channel(broker.servers_of(sasl.SHORT), sasl.client_settings("SCRAM-SHA-512"))
    asked = answered = 0
    until = time.monotonic() + 2.2 * SESSION_S
    renewals = set()
    while time.monotonic() < until or channel.pending:
        while len(channel.pending) < 5 and time.monotonic() < until:
            ask(channel, asked)
            asked += 1
        for pending, frame in channel.receive():
            assert pending.tag == answered
            assert len(metadata.parse_metadata(metadata.WITH_IDS, frame).brokers) == 1
            answered += 1
        channel.flush()
        renewals.add(channel._renew_at)
    channel.close()
    assert asked == answered > 100
    assert len(renewals) >= 3


def test_a_broker_ends_a_session_that_is_not_renewed(broker: KafkaCluster) -> None:
    """Else the test above would show nothing. The first request after a long calm renews it in time."""
    settings = sasl.client_settings("PLAIN")
    renewed, forgetful = (open_channel(broker.servers_of(sasl.SHORT), settings) for _ in range(2))
    forgetful._renew_at = float("inf")
    time.sleep(1.1 * SESSION_S)  # nothing tells that a session has ended but its clock
    assert len(renewed.call(MetadataRequest(topics=[])).brokers) == 1
    with pytest.raises(ConnectionLostError, match="closed the connection"):
        forgetful.call(MetadataRequest(topics=[]))
    renewed.close()
    forgetful.close()


def test_a_flow_goes_on_through_the_ends_of_its_sessions(broker: KafkaCluster, topic: str, tmp_path: Path) -> None:
    create_topic(broker.bootstrap_servers, topic, 3)
    read, write = sasl.client_settings("SCRAM-SHA-512"), sasl.client_settings("OAUTHBEARER")
    short = broker.servers_of(sasl.SHORT)
    file = sasl.write_asking_flow(tmp_path, short, short, topic, read=read, write=write)
    with mirroring(file) as mirror:
        mirror.await_topics(3)
        produce(broker.bootstrap_servers, topic, rows(500))
        more = threading.Timer(1.2 * SESSION_S, produce, (broker.bootstrap_servers, topic, rows(500)))
        more.start()
        receipts = mirror.round(2.5 * SESSION_S)
        more.join()
    assert sum(receipt.records for receipt in receipts) == 1000
    copied = read_all(broker.bootstrap_servers, f"{mirror.flow.source.alias}.{topic}")
    assert_same(read_all(broker.bootstrap_servers, topic), copied)


def rows(number: int) -> list[dict[str, object]]:
    return [{"value": b"%d" % n, "partition": n % 3} for n in range(number)]


def refused(servers: str, settings: Mapping[str, str]) -> str:
    with Cluster(sasl.address(servers, settings)) as cluster, pytest.raises(ConnectionLostError) as caught:
        cluster.fetch_metadata()
    said = str(caught.value)
    for secret in (sasl.PASSWORD, "wr0ng", SECRET):
        assert secret not in said
    return said


def test_each_refusal_names_side_place_and_setting(broker: KafkaCluster, tmp_path: Path) -> None:
    all_of_them, narrow, open_one = (
        broker.servers_of(sasl.SASL),
        broker.servers_of(sasl.NARROW),
        broker.bootstrap_servers,
    )
    unknown = {
        **sasl.client_settings("PLAIN"),
        "sasl.jaas.config": sasl.jaas(PLAIN_MODULE, username="eve", password="wr0ng"),
    }
    ended = make_unsecured({"unsecuredLoginLifetimeSeconds": "-600"}, time.time()).text
    cases = {
        "wrong password, PLAIN": (
            refused(all_of_them, sasl.client_settings("PLAIN", password="wr0ng")),
            f"{all_of_them}: the broker refuses user 'mirror' (Authentication failed: Invalid username or password): ",
        ),
        "wrong password, SCRAM": (
            refused(all_of_them, sasl.client_settings("SCRAM-SHA-256", password="wr0ng")),
            f"{all_of_them}: the broker refuses user 'mirror' (",
        ),
        "unknown user": (refused(all_of_them, unknown), f"{all_of_them}: the broker refuses user 'eve' ("),
        "disabled mechanism": (
            refused(narrow, sasl.client_settings("PLAIN")),
            f"{narrow}: sasl.mechanism PLAIN is not enabled there, only SCRAM-SHA-256: expected one of these",
        ),
        "no SASL there": (
            refused(open_one, sasl.client_settings("PLAIN")),
            f"{open_one}: security.protocol has SASL and this listener has not: correct it, or the port in bootstrap",
        ),
        "SASL there": (
            refused(all_of_them, {}),
            f"{all_of_them} closed the connection at the first request: a listener with SASL does so",
        ),
        "token that has ended": (refused(all_of_them, sasl.write_token(tmp_path / "t", ended)), "the token in "),
    }
    with TokenEndpoint(sasl.USER) as endpoint:
        endpoint.life_s = 4.0
        old = sasl.endpoint_settings(endpoint.url, CLIENT, "wr0ng")
        cases["token endpoint refuses"] = (refused(all_of_them, old), "refuses with status 401 (invalid_client): check")
    gone = sasl.endpoint_settings(endpoint.url, CLIENT, SECRET) | {"sasl.login.retry.backoff.max.ms": "100"}
    cases["token endpoint away"] = (
        refused(all_of_them, gone),
        "does not answer: Connection refused: see that it is well",
    )
    for case, (said, wanted) in cases.items():
        print(f"{case:24} {said}")
        assert wanted in said, case
        if case != "SASL there":
            assert "cluster A" in said and "A->B source admin" in said, case


@pytest.mark.parametrize("settings", [sasl.client_settings("SCRAM-SHA-512", password="wr0ng"), {}])
def test_a_refused_client_does_not_come_back_in_a_hurry(
    broker: KafkaCluster, caplog: pytest.LogCaptureFixture, settings: Mapping[str, str]
) -> None:
    """Also one that does not say who he is, and is only noticed at his first request."""
    servers = broker.servers_of(sasl.SASL)
    tries = []
    with pytest.MonkeyPatch.context() as patch:
        real = Channel.__init__

        def counting(self: Channel, *given: object) -> None:
            tries.append(time.monotonic())
            real(self, *given)  # type: ignore[arg-type]

        patch.setattr(Channel, "__init__", counting)
        until = time.monotonic() + 1.3
        asked = 0
        while time.monotonic() < until:
            with Cluster(sasl.address(servers, settings)) as cluster, pytest.raises(AuthenticationError):
                cluster.fetch_metadata()
            asked += 1
    assert asked > 20
    assert len(tries) <= 2
    assert sasl.PASSWORD not in caplog.text


def test_doctor_says_what_is_wrong_before_a_run(broker: KafkaCluster, tmp_path: Path) -> None:
    servers = broker.servers_of(sasl.SASL)
    wrong, right = sasl.client_settings("PLAIN", password="wr0ng"), sasl.client_settings("SCRAM-SHA-256")
    config = load_mirror_config(sasl.write_asking_flow(tmp_path, servers, servers, "x", read=wrong, write=right))
    found, alias = examine_clusters(config), config.flows[0].source.alias
    (verdict,) = [each for each in found if each.about == alias and each.level is Level.FAIL]
    assert "the broker refuses user 'mirror'" in verdict.said and "sasl.jaas.config" in verdict.cure + verdict.said
    assert not [each for each in found if each.about == "B" and each.level is Level.FAIL]
    assert "wr0ng" not in str(found)


def test_doctor_tries_the_consumer_and_the_producer_too(broker: KafkaCluster, tmp_path: Path) -> None:
    servers = broker.servers_of(sasl.SASL)
    right, wrong = sasl.client_settings("PLAIN"), sasl.client_settings("PLAIN", password="wr0ng")
    file = sasl.write_asking_flow(tmp_path, servers, servers, "x", read=right, write=right)
    more = sasl.file_settings("B.producer", {"sasl.jaas.config": wrong["sasl.jaas.config"]})
    file.write_text(file.read_text() + "".join(f"{key} = {value}\n" for key, value in more.items()))
    config = load_mirror_config(file)
    (verdict,) = [each for each in examine_clusters(config) if each.check == "login"]
    assert verdict.level is Level.FAIL and verdict.about == config.flows[0].name
    assert "target producer" in verdict.said and "the broker refuses user 'mirror'" in verdict.said
