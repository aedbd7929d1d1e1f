"""Settings of TLS and SASL: who gets them, and who never sees them."""

from __future__ import annotations

from sparkmirror.config.jaas import PLAIN_MODULE
from sparkmirror.control.address import flow_address, reader_address, writer_address
from sparkmirror.copy.lease import Lease
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.client import Client
from sparkmirror.net.security import Security
from tests.support.flow_text import flow_of

SETTINGS = {"security.protocol": "ssl", "ssl.key.password": "s3cret", "sasl.jaas.config": "s3cret"}


def test_each_client_has_its_own_settings() -> None:
    flow = flow_of(
        "a.security.protocol=SSL\na.ssl.truststore.password=one\na.consumer.ssl.truststore.password=two\n"
        "b.security.protocol=sasl_plaintext\nb.sasl.mechanism=PLAIN\n"
        f"b.sasl.jaas.config={PLAIN_MODULE} required username=u password=p;\nb.ssl.key.password=of no use\n"
    )
    reader, writer = reader_address(flow).client.security, writer_address(flow).client.security
    admin = flow_address(flow.source, flow).client.security
    assert (reader.protocol, reader.owner, reader.get("ssl.truststore.password")) == (
        "SSL",
        "a->b source consumer",
        "two",
    )
    assert (admin.owner, admin.settings) == ("a->b source admin", (("ssl.truststore.password", "one"),))
    assert (writer.protocol, [key for key, _ in writer.settings]) == (
        "SASL_PLAINTEXT",
        ["sasl.jaas.config", "sasl.mechanism"],
    )


def test_nothing_shows_a_secret() -> None:
    address = ClusterAddress(
        alias="A", bootstrap=("a:1",), client=Client(security=Security.of(SETTINGS, "A->B source consumer"))
    )
    lease = Lease(
        lease_id="0.0", flow="A->B", source=address, target=address, producer_id=1, fence=0, seconds=5.0, partitions=()
    )
    assert "s3cret" not in repr(lease)
    assert "s3cret" not in lease.to_json()
    crossed = Lease.from_json(lease.to_json()).source.client.security
    assert crossed == Security(protocol="SSL", owner="A->B source consumer", is_sealed=True)
