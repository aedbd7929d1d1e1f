"""Key and trust stores: of Java's keytool (tests/golden/stores) and of cryptography, each known by its content."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, load_der_private_key

from sparkmirror.errors import ConfigError
from sparkmirror.net.security import Security
from sparkmirror.net.tls.context import build_context
from sparkmirror.net.tls.jks import KeyEntry, open_key, parse_jks
from sparkmirror.net.tls.material import carry_material, load_material
from sparkmirror.net.tls.store import Passwords, read_store
from tests.support.certificates import Authority, Identity

GOLDEN = Path(__file__).parents[2] / "golden" / "stores"
OWN = ssl.PEM_cert_to_DER_cert((GOLDEN / "own.pem").read_text())
BOTH = Passwords(store="storepass", key="keypass")


@pytest.fixture(scope="module")
def ca() -> Authority:
    return Authority()


@pytest.fixture(scope="module")
def own(ca: Authority) -> Identity:
    return ca.issue("me")


def security(**settings: str) -> Security:
    named = {f"ssl.{name.replace('_', '.')}": value for name, value in settings.items()}
    return Security.of({"security.protocol": "SSL", **named}, "a->b source admin")


@pytest.mark.parametrize("name", ["own.jks", "own.p12", "legacy.p12"])
def test_javas_key_stores_open(name: str) -> None:
    store = read_store((GOLDEN / name).read_bytes(), BOTH, wants_key=True)
    assert store.chain == (OWN,)
    public = x509.load_der_x509_certificate(OWN).public_key()
    assert load_der_private_key(store.key, None).public_key() == public
    build_context(security(), load_material(security(keystore_location=str(GOLDEN / name), **given(name))))


def given(name: str) -> dict[str, str]:
    return {"keystore_password": "storepass"} | ({"key_password": "keypass"} if name.endswith("jks") else {})


@pytest.mark.parametrize("name", ["trust.jks", "trust.pkcs12", "own.pem", "own.jks", "own.p12"])
@pytest.mark.parametrize("kind", ["", "JKS", "PKCS12", "PEM"])
def test_what_a_trust_store_is_stands_in_it(name: str, kind: str) -> None:
    found = load_material(
        security(
            truststore_location=str(GOLDEN / name),
            truststore_password="storepass",
            **{"truststore_type": kind} if kind else {},
        )
    )
    assert found.anchors == (OWN,)


def test_a_java_trust_store_needs_no_password() -> None:
    assert read_store((GOLDEN / "trust.jks").read_bytes(), Passwords(), wants_key=False).anchors == (OWN,)


def test_cryptographys_stores_open(ca: Authority, own: Identity, tmp_path: Path) -> None:
    keys = own.write_pkcs12(tmp_path / "own.p12", "pw")
    trust = ca.write_pkcs12(tmp_path / "trust.p12", "pw")
    found = load_material(
        security(
            keystore_location=str(keys),
            keystore_password="pw",
            truststore_location=str(trust),
            truststore_password="pw",
        )
    )
    assert found.anchors == (ca.certificate.public_bytes(Encoding.DER),)
    assert found.chain[0] == own.certificate.public_bytes(Encoding.DER)


@pytest.mark.parametrize("password", [None, "pw"])
def test_pem_stands_in_the_file_itself(ca: Authority, own: Identity, password: str | None) -> None:
    """With blanks where a properties file has no line ends."""
    settings = {
        "keystore_key": own.key_pem(password).replace("\n", " "),
        "keystore_certificate_chain": own.chain_pem.replace("\n", " "),
        "truststore_certificates": ca.pem,
    } | ({"key_password": password} if password else {})
    found = load_material(security(**settings))
    assert len(found.chain) == 2
    build_context(security(), found)


def test_stores_travel_without_their_files(ca: Authority, own: Identity, tmp_path: Path) -> None:
    keys = own.write_pem(tmp_path / "own.pem")
    trust = ca.write_pkcs12(tmp_path / "trust.p12", "pw")
    before = security(
        keystore_location=str(keys),
        truststore_location=str(trust),
        truststore_password="pw",
        endpoint_identification_algorithm="",
    )
    carried = carry_material(before)
    assert load_material(carried) == load_material(before)
    assert {name for name, _ in carried.settings} == {
        "ssl.endpoint.identification.algorithm",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.truststore.certificates",
    }


def test_of_this_machines_cas_nothing_travels() -> None:
    assert carry_material(security()).settings == ()


FAULTS = {
    "no such file": ({"truststore_location": "/none"}, "ssl.truststore.location: /none can't be read"),
    "wrong password of JKS": (
        {"truststore_location": "trust.jks", "truststore_password": "s3cret"},
        "password is wrong.*see ssl.truststore.password",
    ),
    "wrong password of PKCS12": (
        {"keystore_location": "own.p12", "keystore_password": "s3cret"},
        "password is wrong.*see ssl.keystore.password",
    ),
    "wrong password of the key": (
        {"keystore_location": "own.jks", "keystore_password": "storepass", "key_password": "s3cret"},
        "password of the key is wrong.*ssl.key.password",
    ),
    "no password": ({"keystore_location": "own.p12"}, "locked with a password"),
    "JCEKS": (
        {"truststore_location": "trust.jceks", "truststore_password": "storepass"},
        "JCEKS.*expected JKS, PKCS12",
    ),
    "no key": ({"keystore_location": "own.pem"}, "ssl.keystore.location: expected a private key"),
    "no certificate": (
        {"truststore_certificates": "-----BEGIN CERTIFICATE-----\ns3cret==\n-----END CERTIFICATE-----"},
        "a certificate of ssl.truststore can't be read",
    ),
    "no PEM": ({"truststore_certificates": "s3cret"}, "ssl.truststore.certificates: there is no certificate"),
    "broken PEM": (
        {"keystore_key": "-----BEGIN PRIVATE KEY-----\ns3cret!\n-----END PRIVATE KEY-----"},
        "PRIVATE KEY is not base64",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_names_client_and_setting_and_no_secret(fault: str) -> None:
    settings, said = FAULTS[fault]
    settings = {name: str(GOLDEN / value) if name.endswith("location") else value for name, value in settings.items()}
    with pytest.raises(ConfigError, match=f"a->b source admin: .*{said}") as caught:
        build_context(security(), load_material(security(**settings)))
    assert "s3cret" not in str(caught.value)


def test_a_protected_key_that_ends_anywhere_is_named() -> None:
    (entry,) = parse_jks((GOLDEN / "own.jks").read_bytes(), "storepass").keys
    for size in range(len(entry.protected)):
        with pytest.raises(ValueError):
            open_key(KeyEntry(entry.protected[:size], entry.chain), "keypass")
