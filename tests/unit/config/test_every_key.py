"""Each key: parsed, defaulted, overridden at each level, refused where it is wrong."""

from __future__ import annotations

from itertools import product

import pytest

from sparkmirror.config.jaas import PLAIN_MODULE, SCRAM_MODULE
from sparkmirror.config.keys import KNOWN_KEYS, Key, Reader, State
from sparkmirror.config.keys.security import ROLES, SECURITY
from sparkmirror.config.keys.unread import UNREAD
from sparkmirror.config.mirror import parse_mirror_config
from sparkmirror.config.model import FlowConfig
from sparkmirror.config.secrecy import is_secret
from sparkmirror.errors import ConfigError
from tests.support.key_rows import ROWS, KeyRow

BASE = "clusters = a, b\na.bootstrap.servers = h:1\nb.bootstrap.servers = i:1\na->b.enabled = true\n"
OF_A_FILE = [
    "clusters",
    "bootstrap.servers",
    "enabled",
    "config.providers",
    "listeners",
    "rest.advertised.host.name",
    "rest.advertised.port",
    "rest.advertised.listener",
    "access.control.allow.origin",
    "access.control.allow.methods",
    "response.http.headers.config",
    "ssl.client.auth",
    "metric.names.formats",
    "transform.sql",
]

rows = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


def flow(more: str = "") -> FlowConfig:
    (built,) = parse_mirror_config(BASE + more, "f").flows
    return built


def written(key: Key[object], reader: Reader | None = None) -> list[str]:
    """The forms of the flow a->b, the strongest first."""
    return [form.format(flow="a->b", source="a", target="b") for form in key.forms(reader)]


def test_no_key_is_forgotten() -> None:
    elsewhere = {key.name for key in (*UNREAD, *SECURITY)}
    assert {row.name for row in ROWS} == KNOWN_KEYS.keys() - elsewhere - set(OF_A_FILE)


@rows
def test_a_key_has_its_default(row: KeyRow) -> None:
    assert row.arrives(flow()) == row.default


@rows
def test_a_stronger_form_wins_over_every_weaker_one(row: KeyRow) -> None:
    forms = written(row.key, row.key.readers[0])
    for (text, typed), (other, _) in ((row.one, row.two), (row.two, row.one)):
        for rank, form in enumerate(forms):
            weaker = "".join(f"{each} = {other}\n" for each in forms[rank + 1 :])
            assert row.arrives(flow(f"{row.needs}\n{weaker}{form} = {text}\n")) == typed, form


@pytest.mark.parametrize("row", [row for row in ROWS if row.wrong is not None], ids=lambda row: row.name)
def test_a_wrong_value_is_refused_at_each_level(row: KeyRow) -> None:
    for form in written(row.key):
        with pytest.raises(ConfigError) as caught:
            flow(f"{form} = {row.wrong}\n")
        assert str(caught.value).startswith(f"f:5: {form}: ")
        assert "expected" in str(caught.value) or "bad regular expression" in str(caught.value)


@pytest.mark.parametrize("key", SECURITY, ids=lambda key: key.name)
@pytest.mark.parametrize("role", ROLES)
def test_security_is_resolved_for_each_client(key: Key[object], role: str) -> None:
    one, two = _two_values(key)
    forms = written(key, ROLES[role])
    for rank, form in enumerate(forms):
        weaker = "".join(f"{each} = {two}\n" for each in forms[rank + 1 :])
        assert getattr(flow(f"{weaker}{form} = {one}\n").security, role) == {key.name: one}, form


_JAVAS_TLS = (
    ("SunX509", "PKIX"),
    ("SunJSSE", "SUN"),
    ("NativePRNG", "DRBG"),
    ("DefaultSslEngineFactory", "org.apache.kafka.common.security.ssl.DefaultSslEngineFactory"),
)
_SASL_VALUES = (
    ("PLAIN", "GSSAPI"),
    (f'{PLAIN_MODULE} required username="a" password="b";', f'{SCRAM_MODULE} required username="c" password="d";'),
    ("FileJwtRetriever", "DefaultJwtRetriever"),
    ("RS256", "ES256"),
    ("SaslClientCallbackHandler", "OAuthBearerSaslClientCallbackHandler"),
    ("OAuthBearerLoginCallbackHandler", "OAuthBearerUnsecuredLoginCallbackHandler"),
    ("DefaultLogin", "KerberosLogin"),
    ("DefaultJwtValidator", "ClientJwtValidator"),
)


def _two_values(key: Key[object]) -> tuple[str, str]:
    for pair in (
        ("SSL", "PLAINTEXT"),
        ("true", "false"),
        ("2", "1"),
        ("1", "0"),
        ("x", "y"),
        *_JAVAS_TLS,
        *_SASL_VALUES,
    ):
        try:
            if key.parse(pair[0]) != key.parse(pair[1]):
                return pair
        except ValueError:
            continue
    raise AssertionError(key.name)


def test_security_protocol_is_taken_in_any_case_and_else_refused() -> None:
    assert flow("a.security.protocol = sSl").security.source_admin == {"security.protocol": "sSl"}
    with pytest.raises(ConfigError, match=r"f:5: a\.security\.protocol: expected one of PLAINTEXT, SSL"):
        flow("a.security.protocol = TLS")


def test_the_admin_of_the_target_has_settings_of_its_own() -> None:
    built = flow("a.admin.client.id = x\nb.admin.client.id = y\n")
    assert (built.source_admin.client_id, built.target_admin.client_id) == ("x", "y")


IMPOSSIBLE = [key for key in KNOWN_KEYS.values() if key.state is State.IMPOSSIBLE]


@pytest.mark.parametrize("key", IMPOSSIBLE, ids=lambda key: key.name)
def test_what_is_impossible_is_refused_by_name_with_the_reason(key: Key[object]) -> None:
    form = written(key, next(reader for reader in key.readers if reader is not Reader.CLUSTER))[0]
    with pytest.raises(ConfigError) as caught:
        flow(f"{form} = com.example.Mine\n")
    assert f"f:5: {form}: 'com.example.Mine' is impossible here: {key.why}; expected" in str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
        "metric.reporters = org.apache.kafka.common.metrics.JmxReporter",
        "forwarding.admin.class = org.apache.kafka.clients.admin.ForwardingAdmin",
        "b.key.converter = org.apache.kafka.connect.converters.ByteArrayConverter",
        "transforms =",
    ],
)
def test_values_of_the_impossible_that_change_nothing_are_fine(line: str) -> None:
    assert parse_mirror_config(BASE + line, "f").not_in_force == ()


def test_what_is_better_by_design_is_neither_refused_nor_listed() -> None:
    keys = [key for key in KNOWN_KEYS.values() if key.state is State.BETTER]
    text = "".join(f"{form} = 1\n" for key in keys for form in written(key))
    config = parse_mirror_config(BASE + text, "f")
    assert (config.not_in_force, config.warnings) == ((), ())


def test_what_is_not_in_force_is_listed_in_every_form() -> None:
    for row, index in product(ROWS, (0, -1)):
        form = written(row.key)[index]
        listed = parse_mirror_config(f"{BASE}{form} = {row.one[0]}\n", "f").not_in_force
        assert listed == ((form,) if row.key.state is State.LATER else ())


def test_secrets_are_known_by_their_words() -> None:
    secrets = {key.name for key in SECURITY if is_secret(key.name)}
    assert secrets == {
        "ssl.key.password",
        "ssl.keystore.key",
        "ssl.keystore.password",
        "ssl.truststore.password",
        "sasl.jaas.config",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.client.credentials.client.secret",
    }
