"""GSSAPI with a real KDC: tickets from a keytab, sessions that are renewed, and what is said when Kerberos refuses."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sparkmirror.config.logins import KerberosLogin, read_login
from sparkmirror.embedded import KafkaCluster, start_clusters
from sparkmirror.embedded.java import STOCK_JVM_FLAGS
from sparkmirror.embedded.ports import HOST
from sparkmirror.errors import ConnectionLostError
from sparkmirror.net.cluster import METADATA_TIMEOUT_S, Cluster
from sparkmirror.net.sasl import tickets
from tests.support import sasl
from tests.support.certificates import Authority
from tests.support.java_reader import JavaReader
from tests.support.kafka_client import assert_same, await_condition, create_topic, produce, read_all, topics, total
from tests.support.kdc import REALM, Kdc, find_kit
from tests.support.kerberos import SERVICE, Realm, kerberos_realm
from tests.support.local_mirror import mirroring
from tests.support.mirror_process import MirrorProcess
from tests.support.same_log import assert_same_log

pytestmark = pytest.mark.timeout(300)

SEEDS = Path(__file__).parents[1] / "fixtures" / "seeds"
SHORT = "KRBSHORT"
SESSION_S = 2.0
TICKET_S = 10
LONGEST_WAIT_S = 2.0


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    with kerberos_realm(tmp_path_factory.mktemp("kdc")) as made:
        if isinstance(made, str):
            pytest.skip(made)
        yield made


@pytest.fixture(scope="module")
def broker(realm: Realm) -> Iterator[KafkaCluster]:
    logins = {"GSSAPI": realm.server_login}
    with KafkaCluster(
        name="kerberos",
        listeners={SHORT: "SASL_PLAINTEXT"},
        overrides={**sasl.server_settings(SHORT, logins, session_ms=int(SESSION_S * 1000)), **SERVICE},
        jvm_flags=[*STOCK_JVM_FLAGS, realm.jvm_flag],
    ) as cluster:
        yield cluster


def refused(broker: KafkaCluster, settings: Mapping[str, str]) -> str:
    servers = broker.servers_of(SHORT)
    with Cluster(sasl.address(servers, settings)) as cluster, pytest.raises(ConnectionLostError) as caught:
        cluster.fetch_metadata()
    said = str(caught.value)
    assert "cluster A" in said and "A->B source admin" in said and servers in said
    return said


def test_a_flow_goes_on_through_the_ends_of_its_sessions(
    realm: Realm, broker: KafkaCluster, topic: str, tmp_path: Path
) -> None:
    servers, short = broker.bootstrap_servers, broker.servers_of(SHORT)
    create_topic(servers, topic, 3)
    settings = realm.client_settings()
    file = sasl.write_asking_flow(tmp_path, short, short, topic, read=settings, write=settings)
    with mirroring(file) as mirror:
        mirror.await_topics(3)
        for number in range(3):
            produce(servers, topic, [{"value": b"%d" % n, "partition": n % 3} for n in range(500)])
            assert sum(receipt.records for receipt in mirror.round(1.2 * SESSION_S)) == 500, number
    assert_same(read_all(servers, topic), read_all(servers, f"{mirror.flow.source.alias}.{topic}"))


def test_tickets_are_renewed_before_they_end_and_a_kdc_that_hangs_holds_nothing_up(
    realm: Realm, broker: KafkaCluster, topic: str, tmp_path: Path
) -> None:
    """One lease, over sessions of 2 s and three lives of tickets. The KDC hangs when it is asked for one of them."""
    servers, short = broker.bootstrap_servers, broker.servers_of(SHORT)
    create_topic(servers, topic, 1)
    settings = realm.settings_of("shortlived", TICKET_S)
    file = sasl.write_asking_flow(tmp_path, short, short, topic, read=settings, write=settings)
    login = read_login(settings)
    assert isinstance(login, KerberosLogin)
    with mirroring(file) as mirror, ThreadPoolExecutor(1) as pool:
        mirror.await_topics(1)
        lease = pool.submit(mirror.round, 3.2 * TICKET_S)
        keeper, waits = tickets._keeper(login), []

        def copy_for(seconds: float) -> None:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                produce(servers, topic, [{"value": b"x"}])
                began = time.monotonic()
                await_condition(lambda: total(servers, remote) == total(servers, topic), "the record", 20)
                waits.append(time.monotonic() - began)

        remote = f"{mirror.flow.source.alias}.{topic}"
        await_condition(lambda: remote in topics(servers), remote)
        seen = [keeper._tickets]
        copy_for(1.1 * TICKET_S)
        seen.append(keeper._tickets)
        left_s = keeper._tickets.left_s  # type: ignore[union-attr]
        with realm.kdc.held():
            copy_for(0.8 * left_s)  # in this time the next ones are due
            assert keeper._tickets is seen[-1]
        copy_for(TICKET_S)
        seen.append(keeper._tickets)
        lease.result()
    assert len(set(map(id, seen))) == 3
    print(f"\n{len(waits)} records over tickets of {TICKET_S} s, the slowest after {max(waits):.2f} s")
    assert max(waits) < LONGEST_WAIT_S
    assert_same(read_all(servers, topic), read_all(servers, remote))


def test_a_kdc_that_never_answers_holds_a_connection_no_longer_than_that_may_take(
    realm: Realm, broker: KafkaCluster
) -> None:
    settings = realm.settings_of("held-up")
    with realm.kdc.held():
        began = time.monotonic()
        assert "the KDC has not answered for" in refused(broker, settings)
        took_s = time.monotonic() - began
    print(f"\nrefused after {took_s:.1f} s")
    assert took_s < METADATA_TIMEOUT_S + 2.0


def test_each_refusal_says_what_to_do(
    realm: Realm, broker: KafkaCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = realm.client_settings(keyTab="/no/such")
    others = realm.client_settings(principal=f"eve@{REALM}")
    service = realm.client_settings() | {"sasl.kerberos.service.name": "other"}
    cases = {
        "keytab missing": (refused(broker, missing), "the keytab /no/such is not there"),
        "another's keytab": (
            refused(broker, others),
            f"see that the keytab {realm.keytab} holds the newest key of eve",
        ),
        "unknown service": (refused(broker, service), f"see that the realm knows other/{HOST}"),
    }
    late = realm.settings_of("late")
    nowhere = tmp_path / "krb5.conf"
    nowhere.write_text(realm.kdc.krb5_conf.read_text().replace("kdc = 127.0.0.1:", "kdc = 127.0.0.1:1\n#"))
    monkeypatch.setenv("KRB5_CONFIG", str(nowhere))
    cases["KDC away"] = (refused(broker, late), "see that the KDC of the realm in krb5.conf is well")
    for case, (said, _) in cases.items():
        print(f"{case:20} {said}")
    for case, (said, wanted) in cases.items():
        assert wanted in said, case


def test_a_clock_that_is_ahead_is_named(
    realm: Realm, broker: KafkaCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit = find_kit()
    assert not isinstance(kit, str)
    with Kdc(kit, tmp_path / "ahead", twin_of=realm.kdc, ahead_s=3600) as ahead:
        early = realm.settings_of("early")
        monkeypatch.setenv("KRB5_CONFIG", str(ahead.krb5_conf))
        began = time.monotonic()
        said = refused(broker, early)
    print(f"{'clock ahead':20} {said}")
    assert "clocks" in said or "the same time" in said
    assert time.monotonic() - began < 30


def test_the_printed_sample_mirrors(
    realm: Realm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, java_reader: JavaReader
) -> None:
    """Seed 000: SASL_SSL with Kerberos, the login in the JAAS file of KAFKA_OPTS; names and passwords replaced."""
    ca, password = Authority(), "of the stores"
    stores = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(ca.issue().write_pem(tmp_path / "broker.pem")),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(ca.write_pem(tmp_path / "ca.pem")),
        "ssl.client.auth": "required",
    }
    source = KafkaCluster(name="printed-source")
    destination = KafkaCluster(
        3,
        name="printed-destination",
        heap_mb=256,
        listeners={"KRBTLS": "SASL_SSL"},
        overrides={**sasl.server_settings("KRBTLS", {"GSSAPI": realm.server_login}), **stores, **SERVICE},
        jvm_flags=[*STOCK_JVM_FLAGS, realm.jvm_flag],
    )
    jaas = tmp_path / "jaas.conf"
    jaas.write_text(f"KafkaClient {{ {realm.client_login(serviceName='kafka')} }};\n")
    monkeypatch.setenv("KAFKA_OPTS", f"-Djava.security.auth.login.config={jaas} {realm.jvm_flag}")
    monkeypatch.delenv("KRB5_CONFIG")
    start_clusters(source, destination)
    with source, destination:
        text = (SEEDS / "000-ssl.properties").read_text()
        for servers, there in (("src", source.bootstrap_servers), ("dest", destination.servers_of("KRBTLS"))):
            text = re.sub(
                rf"^(\w+\.bootstrap\.servers = )wn0-{servers}-.*$", rf"\g<1>{there}", text, flags=re.MULTILINE
            )
        trust = ca.write_pkcs12(tmp_path / "truststore.jks", password)
        key = ca.issue("mirror").write_pkcs12(tmp_path / "keystore.jks", password)
        text = text.replace("/path/to/kafka.server.truststore.jks", str(trust))
        text = text.replace("/path/to/kafka.server.keystore.jks", str(key)).replace("<password>", password)
        topic = "toa.evehicles-latest-dev"
        create_topic(source.bootstrap_servers, topic, 2)
        produce(source.bootstrap_servers, topic, [{"value": b"%d" % n, "partition": n % 2} for n in range(1000)])
        with MirrorProcess(text, "--once") as mirror:
            assert mirror.wait(120) == 0, mirror.log()
        assert_same_log(java_reader, source.bootstrap_servers, topic, destination.bootstrap_servers, f"source.{topic}")
        assert password not in mirror.log()
