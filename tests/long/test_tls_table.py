"""Each kind of store, with and without a certificate of ours, in each version of TLS, both ways, with each broker.

A flow's source and target are two listeners of one cluster: one of them has TLS, then the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sparkmirror.embedded import KAFKA_VERSION, KafkaCluster
from tests.support.flows import write_flow
from tests.support.kafka_client import assert_same, create_topic, produce, read_all
from tests.support.keytool import convert_keys, make_trust
from tests.support.local_mirror import mirroring
from tests.support.tls import LISTENERS, PASSWORD, Secured

pytestmark = pytest.mark.timeout(120)

RELEASES = (KAFKA_VERSION, "3.9.2")
STORES = ("JKS", "PKCS12", "PEM", "inline")
VERSIONS = ("TLSv1.2", "TLSv1.3")
RECORDS = 500


@dataclass
class Release:
    cluster: KafkaCluster
    secured: Secured
    stores: Mapping[str, Mapping[str, str]]
    rows: list[str] = field(default_factory=list)


def make_stores(secured: Secured) -> dict[str, dict[str, str]]:
    """The same certificates in each format, Java's own by Java's keytool."""
    folder = secured.folder
    keys = {
        "JKS": convert_keys(folder / "me.p12", folder / "me.jks", "JKS", PASSWORD),
        "PKCS12": convert_keys(folder / "me.p12", folder / "me-java.p12", "PKCS12", PASSWORD),
    }
    found = {
        kind: {
            "ssl.truststore.location": str(make_trust(folder / "ca.pem", folder / f"trust.{kind}", kind, PASSWORD)),
            "ssl.truststore.password": PASSWORD,
            "ssl.keystore.location": str(path),
            "ssl.keystore.password": PASSWORD,
            "ssl.key.password": PASSWORD,
        }
        for kind, path in keys.items()
    }
    found["PEM"] = {
        "ssl.truststore.location": str(folder / "ca.pem"),
        "ssl.keystore.location": str(secured.me.write_pem(folder / "me.pem")),
        "ssl.keystore.type": "PEM",
    }
    found["inline"] = {
        "ssl.truststore.certificates": secured.ca.pem.replace("\n", "\\n"),
        "ssl.keystore.key": secured.me.key_pem(PASSWORD).replace("\n", "\\n"),
        "ssl.keystore.certificate.chain": secured.me.chain_pem.replace("\n", "\\n"),
        "ssl.key.password": PASSWORD,
    }
    return found


@pytest.fixture(scope="module", params=RELEASES)
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Release]:
    secured = Secured.make(tmp_path_factory.mktemp("table"))
    with KafkaCluster(version=request.param, listeners=LISTENERS, overrides=secured.of_brokers) as cluster:
        made = Release(cluster, secured, make_stores(secured))
        yield made
    print("\n" + "\n".join(made.rows))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("store", STORES)
def test_records_arrive(release: Release, topic: str, tmp_path: Path, store: str, version: str) -> None:
    plain = release.cluster.bootstrap_servers
    create_topic(plain, topic, 2)
    produce(plain, topic, ({"value": b"%d" % i, "partition": i % 2} for i in range(RECORDS)))
    for listener in LISTENERS:
        secure = release.cluster.servers_of(listener)
        settings = {"security.protocol": "SSL", "ssl.enabled.protocols": version} | dict(release.stores[store])
        shown = settings if listener == "MTLS" else {k: v for k, v in settings.items() if "ssl.key" not in k}
        for side, servers in (("SOURCE", (secure, plain)), ("B", (plain, secure))):
            extra = {f"{side}.{key}": value for key, value in shown.items()}
            file = write_flow(tmp_path, *servers, topic, extra)
            with mirroring(file) as mirror:
                mirror.await_topics(2)
                copied = sum(receipt.records for receipt in mirror.round())
            assert copied == RECORDS
            assert_same(read_all(plain, topic), read_all(plain, f"{mirror.flow.source.alias}.{topic}"))
            way = "source" if side == "SOURCE" else "target"
            release.rows.append(
                f"Kafka {release.cluster.version} | {listener:4} {way} | {store:6} | {version} | {copied}"
            )
