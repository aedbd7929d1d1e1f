"""Each mechanism, with and without TLS, mirrors data both ways, also with an older Kafka; a table of the runs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from sparkmirror.embedded import KafkaCluster, start_clusters
from sparkmirror.embedded.java import STOCK_JVM_FLAGS
from tests.support import sasl
from tests.support.certificates import Authority
from tests.support.kafka_client import assert_same, create_topic, produce, read_all
from tests.support.kerberos import SERVICE, kerberos_realm
from tests.support.local_mirror import mirroring

pytestmark = pytest.mark.timeout(600)

LISTENERS = {"SASL_PLAINTEXT": "GUARDED", "SASL_SSL": "GUARDEDTLS"}
MECHANISMS = (*sasl.MECHANISMS, "GSSAPI")
RECORDS = 300


@dataclass(frozen=True)
class Guarded:
    """Two clusters that ask the same, and how a client answers by each mechanism; `absent`: why one can't be tried."""

    a: KafkaCluster
    b: KafkaCluster
    logins: Mapping[str, Mapping[str, str]]
    absent: Mapping[str, str]


@pytest.fixture(scope="module", params=["4.3.1", "3.9.2"])
def guarded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("guarded")
    ca = Authority()
    trust = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(ca.write_pem(folder / "ca.pem"))}
    identity = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(ca.issue().write_pem(folder / "broker.pem"))}
    asked, answers = dict(sasl.SERVER_LOGINS), {each: sasl.client_settings(each) for each in sasl.MECHANISMS}
    with kerberos_realm(folder / "kdc") as realm:
        flags, absent = [*STOCK_JVM_FLAGS], {}
        if isinstance(realm, str):
            absent["GSSAPI"] = realm
        else:
            asked["GSSAPI"], answers["GSSAPI"] = realm.server_login, realm.client_settings()
            flags.append(realm.jvm_flag)
        settings = {key: text for name in LISTENERS.values() for key, text in sasl.server_settings(name, asked).items()}
        a, b = (
            KafkaCluster(
                name=f"guarded-{name}",
                version=request.param,
                listeners={name: protocol for protocol, name in LISTENERS.items()},
                overrides={**settings, **identity, **SERVICE},
                jvm_flags=flags,
                heap_mb=256,
            )
            for name in "AB"
        )
        start_clusters(a, b)
        with a, b:
            for cluster in (a, b):
                sasl.add_user(cluster)
            yield Guarded(a, b, {each: {**answer, **trust} for each, answer in answers.items()}, absent)


def test_each_mechanism_mirrors_both_ways_with_and_without_tls(guarded: Guarded, topic: str, tmp_path: Path) -> None:
    rows = []
    for number, (protocol, mechanism) in enumerate((p, m) for p in LISTENERS for m in MECHANISMS):
        if mechanism in guarded.absent:
            rows.append((protocol, mechanism, f"skipped: {guarded.absent[mechanism]}"))
            continue
        login = {**guarded.logins[mechanism], "security.protocol": protocol}
        for source, target in ((guarded.a, guarded.b), (guarded.b, guarded.a)):
            began = time.monotonic()
            folder = tmp_path / f"{number}-{source.name}"
            folder.mkdir()
            copied = mirror(folder, source, target, f"{topic}-{number}", protocol, login)
            way = f"{source.name[-1]} -> {target.name[-1]}"
            rows.append((protocol, mechanism, f"{way}: {copied} records in {time.monotonic() - began:.1f} s"))
    print(f"\nKafka {guarded.a.version}")
    for row in rows:
        print("  {:15} {:14} {}".format(*row))


def mirror(
    folder: Path, source: KafkaCluster, target: KafkaCluster, topic: str, protocol: str, login: Mapping[str, str]
) -> int:
    """How many records arrived, all of them as they were."""
    listener = LISTENERS[protocol]
    create_topic(source.bootstrap_servers, topic, 2)
    produce(source.bootstrap_servers, topic, [{"value": b"%d" % n, "partition": n % 2} for n in range(RECORDS)])
    file = sasl.write_asking_flow(
        folder, source.servers_of(listener), target.servers_of(listener), topic, read=login, write=login
    )
    with mirroring(file) as running:
        running.await_topics(2)
        running.round(1.0)
    copied = read_all(target.bootstrap_servers, f"{running.flow.source.alias}.{topic}")
    assert_same(read_all(source.bootstrap_servers, topic), copied)
    assert sum(map(len, copied.values())) == RECORDS
    return RECORDS
