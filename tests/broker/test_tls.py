"""TLS with real brokers: records both ways, and each fault said with the setting that mends it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from sparkmirror.client import MirrorClient
from sparkmirror.config.mirror import load_mirror_config
from sparkmirror.control.address import check_stores
from sparkmirror.doctor.examine import examine_clusters
from sparkmirror.doctor.verdict import Level
from sparkmirror.errors import AuthenticationError, ConfigError, ConnectionLostError
from sparkmirror.net.channel import Channel
from sparkmirror.net.client import Client
from sparkmirror.net.security import Security
from tests.conftest import Pair
from tests.support.certificates import DAY, Authority
from tests.support.flows import only_flow, write_flow
from tests.support.kafka_client import assert_same, create_topic, produce, read_all
from tests.support.local_mirror import mirroring
from tests.support.tls import PASSWORD, Secured

pytestmark = pytest.mark.timeout(120)

OWNER = "a->b target admin"


def test_records_and_offsets_pass_through_tls_both_ways(
    pair: Pair, secured: Secured, topic: str, tmp_path: Path
) -> None:
    """Small ones, large ones and many at once; the target wants our certificate."""
    create_topic(pair.source, topic, 3)
    sizes = [*range(0, 3_000, 10), 100_000, 900_000, 5_000_000]
    produce(
        pair.source,
        topic,
        ({"value": bytes([i % 256]) * size, "partition": i % 3} for i, size in enumerate(sizes)),
        message_max_bytes=8_000_000,
    )
    file = write_flow(tmp_path, pair.a.servers_of("SSL"), pair.b.servers_of("MTLS"), topic, secured.of_client())
    with mirroring(file) as mirror:
        mirror.await_topics(3)
        assert sum(receipt.records for receipt in mirror.round(2.5) if receipt.topic == topic) == len(sizes)
    assert_same(read_all(pair.source, topic), read_all(pair.target, f"{mirror.flow.source.alias}.{topic}"))


def refusal(servers: str, settings: Mapping[str, str]) -> str:
    host, _, port = servers.rpartition(":")
    with pytest.raises(ConnectionLostError) as caught:
        Channel(host, int(port), Client(security=Security.of(settings, OWNER)))
    if settings:
        assert isinstance(caught.value, AuthenticationError)
        assert str(caught.value).startswith(f"{OWNER}: {servers}")
    assert PASSWORD not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_a_broker_that_does_not_take_us_is_understood(
    pair: Pair, secured: Secured, tmp_path: Path, version: str
) -> None:
    only = {"ssl.enabled.protocols": version}
    bare = secured.of_client(shows=False) | only
    assert "it wants a certificate of ours" in refusal(pair.b.servers_of("MTLS"), bare)
    stranger = Authority("stranger").issue("me").write_pem(tmp_path / "stranger.pem")
    assert "it refuses our certificate" in refusal(
        pair.b.servers_of("MTLS"), bare | {"ssl.keystore.location": str(stranger)}
    )
    other = Authority("other").write_pem(tmp_path / "other.pem")
    trusts_other = secured.of_client() | only | {"ssl.truststore.location": str(other)}
    assert f"from no CA that stands in ssl.truststore.location={other}" in refusal(
        pair.b.servers_of("SSL"), trusts_other
    )
    assert "the TLS handshake" in refusal(pair.target, bare)
    assert "TLS" in (said := refusal(pair.b.servers_of("SSL"), {})) and "security.protocol" in said


def test_the_doctor_names_the_setting(pair: Pair, secured: Secured, topic: str, tmp_path: Path) -> None:
    """Of the driver's own client, and of those that only tasks use."""
    create_topic(pair.source, topic, 1)
    other = Authority("other").write_pem(tmp_path / "other.pem")
    mine = {"replication.internal.topic.replication.factor": "1"} | secured.of_client()
    servers = pair.a.servers_of("SSL"), pair.b.servers_of("MTLS")

    def found(extra: dict[str, str]) -> dict[str, str]:
        verdicts = examine_clusters(load_mirror_config(write_flow(tmp_path, *servers, topic, mine | extra)))
        assert PASSWORD not in str(verdicts)
        failed = {v.check: f"{v.said}; {v.cure}" for v in verdicts if v.level is Level.FAIL}
        return failed | {v.check: v.said for v in verdicts if v.level is Level.WARN}

    assert found({}) == {}
    said = found({"B.ssl.truststore.location": str(other)})["reach"]
    assert "target admin" in said and f"ssl.truststore.location={other}" in said and "of B" in said
    said = found({"B.producer.ssl.keystore.location": ""})["login"]
    assert "target producer" in said and "it wants a certificate of ours" in said
    assert "can't be read" in found({"B.ssl.truststore.location": "/none"})["reach"]
    short = secured.ca.issue("me", ends=3 * DAY).write_pem(tmp_path / "short.pem")
    assert "ends in 2 days" in found({"B.ssl.keystore.location": str(short)})["certificates"]


def test_a_run_with_a_store_that_can_not_be_read_does_not_begin(secured: Secured, tmp_path: Path) -> None:
    wrong = secured.of_client() | {"ssl.keystore.password": "wrong"}
    flow = only_flow(write_flow(tmp_path, "h:1", "h:2", "t", wrong))
    with pytest.raises(ConfigError, match=r"source consumer: ssl\.keystore\.location .*password is wrong"):
        check_stores(flow)


def test_applications_ask_over_tls(pair: Pair, secured: Secured) -> None:
    properties = secured.of_client() | {"bootstrap.servers": pair.b.servers_of("MTLS")}
    with MirrorClient(properties) as client:
        assert isinstance(client.remote_topics(), set)
