"""`sasl.*` settings -> a login, and what `sparkmirror check` says of those that lack something."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkmirror.config.assertions import Assertion
from sparkmirror.config.jaas import KERBEROS_MODULE, OAUTH_MODULE, PLAIN_MODULE, SCRAM_MODULE
from sparkmirror.config.logins import KerberosLogin, PasswordLogin, TokenLogin, read_login
from sparkmirror.config.mirror import parse_mirror_config
from sparkmirror.config.providers import Surroundings
from sparkmirror.errors import ConfigError

SCRAM = {
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.jaas.config": f'{SCRAM_MODULE} required username="u" password="hush";',
}
URL = "sasl.oauthbearer.token.endpoint.url"
CLIENT = "sasl.oauthbearer.client.credentials.client"
ASSERTION, RETRIEVER = "sasl.oauthbearer.assertion", "sasl.oauthbearer.jwt.retriever.class"
BASE = "clusters = a, b\na.bootstrap.servers = h:1\nb.bootstrap.servers = i:1\na->b.enabled = true\n"


def token(**options: str) -> dict[str, str]:
    given = " ".join(f'{name}="{value}"' for name, value in options.items())
    return {"sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": f"{OAUTH_MODULE} required {given};"}


def kerberos(options: str, **more: str) -> dict[str, str]:
    return {"sasl.jaas.config": f"{KERBEROS_MODULE} required {options};", **more}


def test_passwords() -> None:
    login = read_login(SCRAM)
    assert login == PasswordLogin(mechanism="SCRAM-SHA-512", username="u", password="hush")
    assert "hush" not in repr(login)
    by_token = read_login({**SCRAM, "sasl.jaas.config": SCRAM["sasl.jaas.config"].replace(";", " tokenauth=true;")})
    assert isinstance(by_token, PasswordLogin) and by_token.is_token


def test_kerberos_by_keytab_and_by_tickets() -> None:
    keytab = kerberos('useKeyTab=true keyTab="/k" principal="p@R" serviceName=kafka')
    assert read_login(keytab) == KerberosLogin(service="kafka", principal="p@R", keytab="/k")
    tickets = kerberos("useTicketCache=true", **{"sasl.kerberos.service.name": "broker"})
    assert read_login(tickets) == KerberosLogin(service="broker")


def test_tokens_of_each_kind() -> None:
    assert read_login({**token(), URL: "file:///run/to%20ken"}) == TokenLogin(file="/run/to ken")
    made = read_login(token(unsecuredLoginStringClaim_sub="me", extension_pool="x"))
    assert isinstance(made, TokenLogin)
    assert (made.claims, made.extensions) == ((("unsecuredLoginStringClaim_sub", "me"),), (("pool", "x"),))
    by_options = read_login({**token(clientId="i", clientSecret="hush", scope="s"), URL: "https://h/t"})
    keys = {f"{CLIENT}.id": "i", f"{CLIENT}.secret": "hush", "sasl.oauthbearer.scope": "s"}
    assert by_options == read_login({**token(clientId="old", clientSecret="old"), **keys, URL: "https://h/t"})
    assert isinstance(by_options, TokenLogin) and by_options.client_secret == "hush"
    assert "hush" not in repr(by_options)


def test_a_statement_stands_in_place_of_the_secret_by_kafkas_rules() -> None:
    made = {**token(), URL: "https://h/t", f"{ASSERTION}.claim.iss": "me", f"{ASSERTION}.private.key.file": "/k"}
    login = read_login(made | {f"{ASSERTION}.private.key.passphrase": "hush", f"{ASSERTION}.claim.exp.seconds": "9"})
    assert isinstance(login, TokenLogin) and not login.is_bearer
    expected = Assertion(key_file="/k", passphrase="hush", claims=(("iss", "me"),), valid_s=9)
    assert (login.assertion, login.client_secret) == (expected, "")
    assert "hush" not in repr(login)
    in_file = read_login(made | {f"{ASSERTION}.file": "/a", f"{CLIENT}.id": "i"})
    assert isinstance(in_file, TokenLogin) and (in_file.assertion, in_file.client_id) == (Assertion(file="/a"), "i")
    only_key = {**made, f"{ASSERTION}.claim.iss": "", f"{CLIENT}.id": "i", f"{CLIENT}.secret": "hush"}
    by_secret = read_login(only_key)
    assert isinstance(by_secret, TokenLogin) and by_secret.assertion is None
    bearer = read_login(only_key | {RETRIEVER: "org.apache.kafka.common.security.oauthbearer.JwtBearerJwtRetriever"})
    assert isinstance(bearer, TokenLogin) and bearer.is_bearer and bearer.assertion == Assertion(key_file="/k")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "sasl.jaas.config: expected a login for GSSAPI, here or in section KafkaClient of a file that KAFKA_OPTS"),
        ({"sasl.mechanism": "plain"}, "sasl.mechanism: expected one of GSSAPI, PLAIN, SCRAM-SHA-256"),
        (SCRAM | {"sasl.mechanism": "GSSAPI"}, f"{SCRAM_MODULE} is not for sasl.mechanism GSSAPI: expected com.sun"),
        (SCRAM | {"sasl.jaas.config": f"{SCRAM_MODULE} required username=u;"}, 'ScramLoginModule needs password="..."'),
        (kerberos("useKeyTab=true keyTab=/k principal=p"), "sasl.kerberos.service.name: expected the user name of the"),
        (kerberos("serviceName=a", **{"sasl.kerberos.service.name": "b"}), "and the same as serviceName in sasl.jaas"),
        (kerberos("serviceName=a"), "expected useKeyTab=true or useTicketCache=true"),
        (kerberos("serviceName=a useKeyTab=true"), 'Krb5LoginModule needs keyTab="..."'),
        (token(), f"{URL}: expected file:/PATH of a token or the https address"),
        ({**token(), URL: "ftp://h/x"}, f"{URL}: expected file:/PATH, http://... or https://..."),
        ({**token(), URL: "http://h:x/t"}, f"{URL}: expected file:/PATH, http://... or https://..."),
        ({**token(), URL: "https://[h/t"}, f"{URL}: expected file:/PATH, http://... or https://..."),
        ({**token(), URL: "file:"}, f"{URL}: expected file:/PATH, http://... or https://..."),
        (
            token(unsecuredLoginStringClaim_sub="me", unsecuredLoginNumberClaim_n="hush"),
            "sasl.jaas.config: unsecuredLoginNumberClaim_n: expected a number",
        ),
        ({**token(), URL: "https://h/t", f"{ASSERTION}.claim.iss": "me"}, f"{ASSERTION}.private.key.file: expected"),
        ({**token(), URL: "https://h/t", RETRIEVER: "JwtBearerJwtRetriever"}, f"{ASSERTION}.private.key.file: expect"),
        ({**token(), URL: "file:/t", RETRIEVER: "JwtBearerJwtRetriever"}, "JwtBearerJwtRetriever does not read file:"),
        ({**token(), URL: "http://h/x"}, f"{CLIENT}.id: expected what the token endpoint knows us by"),
        ({**token(extension_auth="x"), URL: "file:/t"}, "extension_auth"),
        (
            {**token(), URL: "file:/t", "sasl.oauthbearer.jwt.retriever.class": "x.ClientCredentialsJwtRetriever"},
            "ClientCredentialsJwtRetriever does not read file: addresses",
        ),
    ],
)
def test_what_is_missing_is_named(settings: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError) as caught:
        read_login(settings)
    assert said in str(caught.value)
    assert "hush" not in str(caught.value)


def test_check_names_the_cluster_and_the_line() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_mirror_config(BASE + "a.security.protocol = SASL_PLAINTEXT\nb.security.protocol = sasl_ssl\n", "f")
    lines = str(caught.value).splitlines()
    assert [line.partition(": expected")[0] for line in lines] == [
        "f:5: cluster a: sasl.jaas.config",
        "f:6: cluster b: sasl.jaas.config",
    ]


def test_a_broken_line_is_reported_once_and_without_the_password() -> None:
    text = f'{BASE}a.security.protocol = SASL_SSL\na.sasl.jaas.config = {PLAIN_MODULE} required password="hush" x;\n'
    with pytest.raises(ConfigError) as caught:
        parse_mirror_config(text, "f")
    assert str(caught.value).startswith("f:6: a.sasl.jaas.config: JAAS line 1, column ")
    assert "\n" not in str(caught.value) and "hush" not in str(caught.value)


def surroundings(options: str, files: dict[str, str]) -> Surroundings:
    def read(file: str) -> str:
        if file not in files:
            raise FileNotFoundError(2, "No such file or directory")
        return files[file]

    return Surroundings(read_text=read, variables={"KAFKA_OPTS": options})


def test_the_jaas_file_of_the_process_holds_for_clients_without_their_own() -> None:
    text = f'KafkaClient {{ {PLAIN_MODULE} required username="u" password="hush"; }};'
    here = surroundings(
        '-Xmx1g "-Djava.security.auth.login.config=/my jaas" -Djava.security.krb5.conf=/k', {"/my jaas": text}
    )
    more = (
        "a.security.protocol = SASL_SSL\na.sasl.mechanism = PLAIN\nb.security.protocol = SASL_SSL\n"
        f"b.sasl.mechanism = PLAIN\nb.sasl.jaas.config = {PLAIN_MODULE} required username=v password=w;\n"
    )
    (flow,) = parse_mirror_config(BASE + more, "f", surroundings=here).flows
    mine, theirs = read_login(flow.security.source_consumer), read_login(flow.security.target_producer)
    assert isinstance(mine, PasswordLogin) and (mine.username, mine.password) == ("u", "hush")
    assert isinstance(theirs, PasswordLogin) and theirs.username == "v"
    (flow,) = parse_mirror_config(BASE, "f", surroundings=here).flows
    assert flow.security.source_consumer == {}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "KAFKA_OPTS: -Djava.security.auth.login.config: can't read /jaas: No such file"),
        (
            'KafkaClient { com.example.Mine required password="hush"; };',
            "KAFKA_OPTS: /jaas: JAAS line 1, column 15: the",
        ),
        ("KafkaServer { };", "cluster a: sasl.jaas.config: expected a login for GSSAPI"),
    ],
)
def test_a_jaas_file_that_does_not_help_is_named(content: str | None, said: str) -> None:
    files = {} if content is None else {"/jaas": content}
    here = surroundings("-Djava.security.auth.login.config=/jaas", files)
    with pytest.raises(ConfigError) as caught:
        parse_mirror_config(BASE + "a.security.protocol = SASL_SSL\n", "f", surroundings=here)
    assert said in str(caught.value)
    assert "hush" not in str(caught.value)
    parse_mirror_config(BASE, "f", surroundings=here)


def test_the_printed_kerberos_block_is_read(tmp_path: Path) -> None:
    printed = (
        "b.security.protocol=SASL_SSL\nb.ssl.truststore.password=x\nb.ssl.truststore.location=/path/to/trust.jks\n"
        "b.sasl.mechanism=GSSAPI\n"
    )
    jaas = (
        f'KafkaClient {{ {KERBEROS_MODULE} required useKeyTab=true keyTab="/k" principal="p@R" serviceName="kafka"; }};'
    )
    here = surroundings("-Djava.security.auth.login.config=/jaas", {"/jaas": jaas})
    (flow,) = parse_mirror_config(BASE + printed, "f", surroundings=here).flows
    assert read_login(flow.security.target_admin) == KerberosLogin(service="kafka", principal="p@R", keytab="/k")
