"""Each way in which two sides do not trust each other: found before a run, said with side and setting, tried seldom."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from sparkmirror.config.mirror import load_mirror_config
from sparkmirror.config.model import FlowConfig
from sparkmirror.control.address import check_stores
from sparkmirror.control.flow import FlowKeeper
from sparkmirror.control.ledger import Ledger
from sparkmirror.doctor.examine import examine_clusters
from sparkmirror.doctor.verdict import Level
from sparkmirror.errors import ConfigError
from sparkmirror.net.channel import Channel
from tests.support import sasl
from tests.support.flows import only_flow, write_flow
from tests.support.kafka_client import await_condition, create_topic, produce, topics, total
from tests.support.kdc import Kdc, find_kit
from tests.support.mirror_process import MirrorProcess, properties
from tests.support.mirror_traces import all_files, all_of_mirror, shown_by_spark
from tests.support.security_faults import (
    ASKING,
    ASKING_TLS,
    KERBEROS,
    KEY,
    OPEN,
    SECRETS,
    WRONG,
    Fault,
    World,
    all_faults,
    faulty_world,
)
from tests.support.tls import PASSWORD

pytestmark = pytest.mark.timeout(300)

SIDES = ("source", "target")
MINUTE_S = 60.0
MOST_A_MINUTE = 10
RECORDS = 500
REFUSED_S = 30.0
MOST_TRIES = 30  # a few a process


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with faulty_world(tmp_path_factory.mktemp("faults")) as made:
        yield made


def write_faulty(folder: Path, world: World, fault: Fault, side: str) -> Path:
    """A flow whose other side is well."""
    folder.mkdir()
    well, ill = world.servers_of(OPEN), world.servers_of(fault.listener)
    servers = (ill, well) if side == "source" else (well, ill)
    told = sasl.file_settings("SOURCE" if side == "source" else "B", fault.settings)
    return write_flow(folder, *servers, "x", told | {"replication.internal.topic.replication.factor": "1"})


def alias_of(flow: FlowConfig, side: str) -> str:
    return flow.source.alias if side == "source" else flow.target.alias


def found_by_doctor(file: Path, side: str) -> str:
    """What it says of the one side that is ill."""
    verdicts = examine_clusters(load_mirror_config(file))
    assert not [secret for secret in SECRETS if secret in str(verdicts)]
    (verdict,) = [each for each in verdicts if each.level is Level.FAIL]
    alias = alias_of(only_flow(file), side)
    assert verdict.about == alias and alias in verdict.cure
    return f"{verdict.said}; cure: {verdict.cure}"


def is_begun(flow: FlowConfig) -> bool:
    """Whether `sparkmirror run` gets beyond its settings."""
    try:
        check_stores(flow)
    except ConfigError:
        return False
    return True


def missing(said: str, fault: Fault) -> list[str]:
    return [words for words in fault.says if words not in said]


def test_the_doctor_and_a_driver_name_each_fault_and_try_seldom(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The drivers of all flows at once, for a minute."""
    faults = all_faults(world)
    sides = {name: SIDES[number % 2] for number, name in enumerate(faults)}
    files = {
        name: write_faulty(tmp_path / str(number), world, fault, sides[name])
        for number, (name, fault) in enumerate(faults.items())
    }
    doctors = {name: found_by_doctor(file, sides[name]) for name, file in files.items()}
    flows = {name: only_flow(file) for name, file in files.items()}
    with counting(monkeypatch) as tries, caplog.at_level(logging.WARNING), driving(flows) as keepers:
        time.sleep(MINUTE_S)  # the minute is what is counted
        problems = {name: keeper.view.problem for name, keeper in keepers.items()}
    ports = {name: int(world.servers_of(fault.listener).rpartition(":")[2]) for name, fault in faults.items()}
    counts = {name: tries[flow.name, ports[name]] for name, flow in flows.items()}
    for name in faults:
        begins = "begins" if is_begun(flows[name]) else "does not begin"
        print(f"\n{name} ({sides[name]}): {counts[name]} tries a minute, a run {begins}")
        print(f"  doctor: {doctors[name]}\n  driver: {problems[name]}")
    if isinstance(world.realm, str):
        print(f"Kerberos was left out: {world.realm}")
    for name, fault in faults.items():
        assert not missing(doctors[name], fault), name
        assert not missing(problems[name], fault), name
        assert alias_of(flows[name], sides[name]) in problems[name], name
        assert 1 < counts[name] <= MOST_A_MINUTE or not is_begun(flows[name]), name
    written = caplog.text + str(problems)
    for secret in (*SECRETS, *world.endpoint.given):
        assert secret not in written


@contextlib.contextmanager
def counting(patch: pytest.MonkeyPatch) -> Iterator[Counter[tuple[str, int]]]:
    """Connections that are tried, by flow and port."""
    tries: Counter[tuple[str, int]] = Counter()
    lock, real = threading.Lock(), Channel.__init__

    def counted(self: Channel, host: str, port: int, client: object, *more: float) -> None:
        with lock:
            tries[client.client_id.partition("|")[0], port] += 1  # type: ignore[attr-defined]
        real(self, host, port, client, *more)  # type: ignore[arg-type]

    patch.setattr(Channel, "__init__", counted)
    yield tries


@contextlib.contextmanager
def driving(flows: Mapping[str, FlowConfig]) -> Iterator[dict[str, FlowKeeper]]:
    keepers = {name: FlowKeeper(flow, Ledger(), lambda: None) for name, flow in flows.items()}
    for keeper in keepers.values():
        keeper.start()
        keeper.lead.allow()
    try:
        yield keepers
    finally:
        for keeper in keepers.values():
            keeper.stop()


def test_the_doctor_names_a_clock_that_kerberos_does_not_like(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(world.realm, str):
        pytest.skip(world.realm)
    kit = find_kit()
    assert not isinstance(kit, str)
    with Kdc(kit, tmp_path / "ahead", twin_of=world.realm.kdc, ahead_s=3600) as ahead:
        early = world.realm.settings_of("early")
        monkeypatch.setenv("KRB5_CONFIG", str(ahead.krb5_conf))
        said = found_by_doctor(write_faulty(tmp_path / "flow", world, Fault(KERBEROS, early, ()), "target"), "target")
    print(f"\nKDC's clock is ahead: {said}")
    assert "clocks" in said or "the same time" in said


def test_a_run_tries_seldom_and_shows_no_secret(
    world: World, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One flow is well. Of two others the consumer alone is refused, so that each task is refused by the source."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    create_topic(world.servers_of(OPEN), topic, 2)
    produce(world.servers_of(OPEN), topic, ({"value": b"%d" % n, "partition": n % 2} for n in range(RECORDS)))
    right, wrong = (sasl.client_settings("SCRAM-SHA-512", password=word) for word in (sasl.PASSWORD, WRONG))
    trust = world.secured.of_client(shows=False)
    asking = world.servers_of(ASKING)
    more = {
        **shown_by_spark(scratch),
        **sasl.file_settings("well", right | trust | {"security.protocol": "SASL_SSL"}),
        **sasl.file_settings("B", world.signing()),
        "clusters": "well, wrong, mute, B",
        "emit.heartbeats.enabled": "false",
        "replication.internal.topic.replication.factor": "1",
    }
    for alias, consumer in (
        ("wrong", {"sasl.jaas.config": wrong["sasl.jaas.config"]}),
        ("mute", {"security.protocol": "PLAINTEXT"}),
    ):
        more |= sasl.file_settings(alias, right | {"bootstrap.servers": asking})
        more |= sasl.file_settings(f"{alias}.consumer", consumer)
        more |= {f"{alias}->B.enabled": "true", f"{alias}->B.topics": topic}
    text = properties(world.servers_of(ASKING_TLS), asking, topic, more, alias="well")
    with MirrorProcess(text) as mirror:
        servers, remote = world.servers_of(OPEN), f"well.{topic}"
        await_condition(lambda: remote in topics(servers) and total(servers, remote) == RECORDS, "the copy", 90)
        for said in ("refuses user", "a listener with SASL does so"):
            mirror.await_log(said, 60)
        before, began = refusals(world), time.monotonic()
        time.sleep(REFUSED_S)  # the time is what is counted
        tries, seconds = refusals(world) - before, time.monotonic() - began
        seen = all_of_mirror(mirror)
        assert mirror.terminate()[0] == 0
        seen |= {"whole log": mirror.log().encode(), "last status": mirror.status_file.read_bytes()}
        seen |= dict(all_files(scratch))
    print(f"\n{dict(tries)} tries in {seconds:.0f} s; {len(seen)} texts, {sum(map(len, seen.values())):,} bytes")
    log = mirror.log()
    assert "wrong->B source consumer" in log and "check username and password in sasl.jaas.config" in log
    assert 0 < tries["wrong"] <= MOST_TRIES and 0 < tries["mute"] <= MOST_TRIES
    assert any(name.startswith(str(scratch / "events")) for name in seen)
    signed = [form[0] for asked in world.endpoint.asked for form in asked.form.values() if form[0].count(".") == 2]
    numbers = KEY.private_numbers()
    for secret in (*SECRETS, *world.endpoint.given, *signed, str(numbers.p), PASSWORD):
        assert [name for name, shown in seen.items() if secret.encode() in shown] == [], secret


def refusals(world: World) -> Counter[str]:
    """What the broker noted of who has a wrong password, and of who asks without saying who he is."""
    log = "".join(broker.log_path.read_text() for broker in world.cluster.brokers)
    return Counter(wrong=log.count("Failed authentication with"), mute=log.count("Unexpected error from"))
