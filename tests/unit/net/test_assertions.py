"""Signed statements for a token endpoint: what stands in them, who signs, and what is said when they can't be made."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from sparkmirror.config.assertions import Assertion
from sparkmirror.config.logins import Refreshing, TokenLogin
from sparkmirror.errors import AuthenticationError
from sparkmirror.net.sasl.assertions import make_assertion
from sparkmirror.net.sasl.tokens import TokenKeeper
from tests.support.token_endpoint import TokenEndpoint, decode

PASSPHRASE = "s3cret-of-the-key"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
NOW = 1_000_000.7


@pytest.fixture
def endpoint() -> Iterator[TokenEndpoint]:
    with TokenEndpoint(key=KEY.public_key()) as started:
        yield started


def write_key(file: Path, key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey, passphrase: str = "") -> str:
    lock = serialization.BestAvailableEncryption(passphrase.encode()) if passphrase else serialization.NoEncryption()
    file.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, lock))
    return str(file)


@pytest.fixture
def signed(tmp_path: Path) -> Assertion:
    key_file = write_key(tmp_path / "key.pem", KEY, PASSPHRASE)
    return Assertion(key_file=key_file, passphrase=PASSPHRASE, claims=(("iss", "me"), ("sub", "me")))


def login(of: TokenEndpoint, assertion: Assertion, **more: object) -> TokenLogin:
    rule = Refreshing(retry_s=0.01, retry_max_s=0.05)
    known = TokenLogin(endpoint=of.url, client_id="mirror", assertion=assertion, refreshing=rule)
    return replace(known, **more)  # type: ignore[arg-type]


def parts(assertion: str) -> tuple[dict[str, object], dict[str, object]]:
    header, payload, _ = assertion.split(".")
    return json.loads(decode(header)), json.loads(decode(payload))


def test_claims_template_and_times_lie_over_one_another(signed: Assertion, tmp_path: Path) -> None:
    template = tmp_path / "template.json"
    given = {"header": {"kid": "7", "alg": "none"}, "payload": {"sub": "other", "scope": ["a"], "exp": 1}}
    template.write_text(json.dumps(given))
    made = make_assertion(replace(signed, template_file=str(template), has_id=True, valid_s=9, valid_before_s=5), NOW)
    header, payload = parts(made)
    assert header == {"kid": "7", "alg": "RS256", "typ": "JWT"}
    assert len(str(payload.pop("jti"))) == 36
    times = {"iat": 1_000_000, "exp": 1_000_009, "nbf": 999_995}
    assert payload == {"iss": "me", "sub": "other", "scope": ["a"], **times}


def test_a_key_on_a_curve_signs_as_the_standard_has_it(tmp_path: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    made = make_assertion(Assertion(key_file=write_key(tmp_path / "ec.pem", key), algorithm="ES256"), NOW)
    content, _, signature = made.rpartition(".")
    both = decode(signature)
    assert len(both) == 64
    der = encode_dss_signature(int.from_bytes(both[:32]), int.from_bytes(both[32:]))
    key.public_key().verify(der, content.encode(), ec.ECDSA(hashes.SHA256()))


def test_the_endpoint_gives_a_token_to_who_signs(endpoint: TokenEndpoint, signed: Assertion) -> None:
    assert TokenKeeper(login(endpoint, signed, scope="s")).take(may_wait=True).text == endpoint.given[0]
    (asked,) = endpoint.asked
    form = dict(asked.form)
    assert len(form.pop("client_assertion")) == 1 and asked.credentials == ""
    assert form == {
        "grant_type": ["client_credentials"],
        "scope": ["s"],
        "client_id": ["mirror"],
        "client_assertion_type": ["urn:ietf:params:oauth:client-assertion-type:jwt-bearer"],
    }


def test_a_statement_of_a_file_is_sent_as_the_grant_itself(
    endpoint: TokenEndpoint, signed: Assertion, tmp_path: Path
) -> None:
    file = tmp_path / "assertion"
    file.write_text(make_assertion(signed, time.time()) + "\n")
    bearer = login(endpoint, Assertion(file=str(file)), is_bearer=True)
    assert TokenKeeper(bearer).take(may_wait=True).text == endpoint.given[0]
    (asked,) = endpoint.asked
    assert asked.form == {
        "grant_type": ["urn:ietf:params:oauth:grant-type:jwt-bearer"],
        "assertion": [file.read_text().strip()],
    }


def test_each_fault_names_the_setting_and_no_secret(endpoint: TokenEndpoint, signed: Assertion, tmp_path: Path) -> None:
    def refused(**more: object) -> str:
        with pytest.raises(AuthenticationError) as caught:
            TokenKeeper(login(endpoint, replace(signed, **more))).take(may_wait=True)  # type: ignore[arg-type]
        assert PASSPHRASE not in str(caught.value) and "PRIVATE" not in str(caught.value)
        return str(caught.value)

    broken = tmp_path / "broken"
    broken.write_text("[1]")
    other = write_key(tmp_path / "other.pem", rsa.generate_private_key(public_exponent=65537, key_size=2048))
    curve = write_key(tmp_path / "curve.pem", ec.generate_private_key(ec.SECP256R1()))
    prefix = "sasl.oauthbearer.assertion"
    assert refused(file="/none") == f"{prefix}.file: can't read /none on this machine: No such file or directory"
    assert refused(key_file="/none").startswith(f"{prefix}.private.key.file: can't read /none on this machine")
    assert f"{prefix}.private.key.file: {signed.key_file}: it is locked: see {prefix}" in refused(passphrase="")
    assert f"the passphrase is wrong: see {prefix}.private.key.passphrase" in refused(passphrase="wrong")
    assert "it is not locked: see" in refused(key_file=other)
    assert f"RS256 needs an RSA key, and {curve} is none" in refused(key_file=curve, passphrase="")
    assert "ES256 needs a key on the curve P-256" in refused(algorithm="ES256")
    assert f"{prefix}.template.file: {broken}: expected JSON" in refused(template_file=str(broken))
    assert endpoint.asked == []
    assert f"refuses with status 401 (invalid_client): check {prefix}.*" in refused(key_file=other, passphrase="")
    assert f"refuses with status 401 (invalid_client): check {prefix}.*" in refused(valid_s=0)
