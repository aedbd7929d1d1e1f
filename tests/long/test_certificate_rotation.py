"""Certificates and CAs of both sides are replaced while records flow: nothing lost, nothing twice, no restart."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from sparkmirror.embedded import KafkaCluster, start_clusters
from tests.conftest import Pair
from tests.support.certificates import Authority, Identity
from tests.support.java_reader import JavaReader
from tests.support.kafka_client import await_condition, create_topic, topics, total
from tests.support.load import small_load
from tests.support.mirror_process import MirrorProcess, properties
from tests.support.same_log import assert_same_log
from tests.support.tls import LISTENERS, Secured

pytestmark = pytest.mark.timeout(300)

LEASE_S = 1
STEP_S = 8 * LEASE_S  # each round connects anew, and lasts for six leases


@pytest.fixture
def own(tmp_path: Path) -> Iterator[tuple[Pair, Secured]]:
    secured = Secured.make(tmp_path)
    a, b = (KafkaCluster(name=name, overrides=secured.of_brokers, listeners=LISTENERS) for name in "AB")
    start_clusters(a, b)
    with a, b:
        yield Pair(a, b), secured


def replace_file(path: Path, text: str) -> None:
    """At once, as one does with files that others read."""
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").replace(path)


def pem_of(identity: Identity) -> str:
    return identity.key_pem() + identity.chain_pem


def tell_brokers(pair: Pair, folder: Path) -> None:
    """Brokers look at their stores again when they are told where these are."""
    for servers in (pair.source, pair.target):
        entries = [
            ConfigEntry(
                f"listener.name.mtls.ssl.{store}.location",
                str(folder / file),
                incremental_operation=AlterConfigOpType.SET,
            )
            for store, file in (("keystore", "broker.pem"), ("truststore", "ca.pem"))
        ]
        resource = ConfigResource(ConfigResource.Type.BROKER, "1", incremental_configs=entries)
        admin = AdminClient({"bootstrap.servers": servers})
        admin.incremental_alter_configs([resource])[resource].result(30)


def test_nothing_is_lost_or_doubled_while_all_certificates_change(
    own: tuple[Pair, Secured], topic: str, java_reader: JavaReader
) -> None:
    pair, secured = own
    folder, old, new = secured.folder, secured.ca, Authority("new CA")
    create_topic(pair.source, topic, 2)
    ours = {
        "ssl.truststore.location": str(folder / "trust.pem"),
        "ssl.keystore.location": str(folder / "me.pem"),
        "security.protocol": "SSL",
        "lease.seconds": str(LEASE_S),
    }
    replace_file(folder / "trust.pem", old.pem)
    replace_file(folder / "me.pem", pem_of(secured.me))
    remote = f"A.{topic}"
    text = properties(pair.a.servers_of("MTLS"), pair.b.servers_of("MTLS"), topic, ours)

    def keeps_copying(what: str) -> None:
        """For some rounds of leases after each step."""
        until = time.monotonic() + STEP_S
        while time.monotonic() < until:
            before = total(pair.target, remote)
            await_condition(lambda b=before: total(pair.target, remote) > b, f"more records after {what}", 90)  # type: ignore[misc]

    with MirrorProcess(text) as mirror:
        with small_load(pair.source, topic, 2, seed=1, pause_s=0.05):
            await_condition(lambda: remote in topics(pair.target), remote, 60)
            keeps_copying("the start")
            both = old.pem + new.pem
            replace_file(folder / "trust.pem", both)
            replace_file(folder / "ca.pem", both)
            tell_brokers(pair, folder)
            keeps_copying("both CAs are trusted")
            replace_file(folder / "me.pem", pem_of(new.issue("me")))
            keeps_copying("we have a new certificate")
            replace_file(folder / "broker.pem", pem_of(new.issue("broker")))
            tell_brokers(pair, folder)
            keeps_copying("brokers have new certificates")
            replace_file(folder / "trust.pem", new.pem)
            replace_file(folder / "ca.pem", new.pem)
            tell_brokers(pair, folder)
            keeps_copying("the old CA is trusted by nobody")
        where = (pair.source, topic, pair.target, remote)
        assert_same_log(java_reader, *where, mirrored="read_committed", ends=True, await_s=60)
        status = mirror.status()["flows"][0]
        assert (status["failed"], status["problem"]) == (0, "")
        assert mirror.terminate()[0] == 0
        trouble = [line for line in mirror.log().splitlines() if "WARN" in line or "ERROR" in line]
        print(*trouble, sep="\n")
        assert not [line for line in trouble if "certificate" in line or "handshake" in line]
