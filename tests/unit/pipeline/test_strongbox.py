"""Secrets reach tasks over the desk; stores go along with them and are read again when they change."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparkmirror.net.address import ClusterAddress, read_address, to_fields
from sparkmirror.net.client import Client
from sparkmirror.net.security import Security
from sparkmirror.net.tls.material import load_material
from sparkmirror.pipeline import cord as cord_module
from sparkmirror.pipeline.cord import Cord
from sparkmirror.pipeline.desk import Desk
from sparkmirror.pipeline.desk_keys import KEY_VARIABLE, make_keys
from sparkmirror.pipeline.strongbox import Strongbox, unseal
from tests.support.certificates import Authority

OWNER = "A->B source consumer"


@pytest.fixture
def trust(tmp_path: Path) -> Path:
    return Authority("first").write_pem(tmp_path / "ca.pem")


@pytest.fixture
def security(trust: Path) -> Security:
    settings = {"security.protocol": "SASL_SSL", "sasl.jaas.config": "s3cret", "ssl.truststore.location": str(trust)}
    return Security.of(settings, OWNER)


@pytest.fixture
def desk(security: Security, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    one = Desk(lambda _: 1.0, strongbox=Strongbox([security]))
    for name, value in one.environment.items():
        monkeypatch.setenv(name, value)
    yield one
    one.close()


def crossed(security: Security) -> ClusterAddress:
    """As a task finds it in its lease."""
    address = ClusterAddress(alias="A", bootstrap=("a:1",), client=Client(security=security))
    return read_address(json.loads(json.dumps(to_fields(address))))


def test_a_task_gets_its_clients_settings_and_stores(desk: Desk, security: Security, trust: Path) -> None:
    sealed = crossed(security)
    assert sealed.client.security.settings == ()
    opened = unseal(sealed).client.security
    trust.unlink()  # executors have no such file
    assert opened.get("sasl.jaas.config") == "s3cret"
    assert not opened.get("ssl.truststore.location")
    assert load_material(opened).anchors


def test_new_stores_go_to_the_next_task(desk: Desk, security: Security, trust: Path) -> None:
    def borrowed() -> object:
        return unseal(crossed(security)).client.security

    first = borrowed()
    assert borrowed() == first
    trust.write_text("half a fi")
    assert borrowed() == first
    Authority("second").write_pem(trust)
    assert borrowed() != first


def test_nothing_is_lent_to_who_is_not_known(desk: Desk) -> None:
    cord = Cord.to_desk()
    assert dict(cord.borrow(OWNER) or ())["sasl.jaas.config"] == "s3cret"
    assert cord.borrow("somebody else") is None
    cord.close()


def test_a_stranger_gets_nothing(desk: Desk, security: Security, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cord_module, "CONNECT_TIMEOUT_S", 0.3)
    monkeypatch.setenv(KEY_VARIABLE, make_keys()[1].to_text())
    with pytest.raises(OSError, match=r"certificate|closed|reset|EOF"):
        unseal(crossed(security))


def test_who_needs_no_secrets_asks_nobody() -> None:
    address = crossed(Security())
    assert unseal(address) is address
