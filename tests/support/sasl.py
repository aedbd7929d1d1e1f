"""Brokers that ask who is there, and the settings of clients that can say it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from sparkmirror.config.jaas import OAUTH_MODULE, PLAIN_MODULE, SCRAM_MODULE
from sparkmirror.embedded import KafkaCluster
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.client import Client
from sparkmirror.net.security import Security
from tests.support.flows import write_flow
from tests.support.kafka_client import await_condition

USER, PASSWORD = "mirror", 's3cret";= of\\mirror'
SASL, SHORT, NARROW = "SASLALL", "SASLSHORT", "SASLNARROW"  # all mechanisms; sessions of seconds; SCRAM-SHA-256 alone
PASSWORD_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS = (*PASSWORD_MECHANISMS, "OAUTHBEARER")
SESSION_MS = 1400


def quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def jaas(module: str, **options: str) -> str:
    return f"{module} required " + " ".join(f"{name}={quote(value)}" for name, value in options.items()) + ";"


SERVER_LOGINS = {
    "PLAIN": jaas(PLAIN_MODULE, username="broker", password="b", **{f"user_{USER}": PASSWORD}),
    "SCRAM-SHA-256": jaas(SCRAM_MODULE),
    "SCRAM-SHA-512": jaas(SCRAM_MODULE),
    "OAUTHBEARER": jaas(OAUTH_MODULE, unsecuredLoginStringClaim_sub="broker"),
}


def server_settings(
    listener: str, logins: Mapping[str, str] = SERVER_LOGINS, session_ms: int | None = None
) -> dict[str, str]:
    """What a broker is told of one listener."""
    prefix = f"listener.name.{listener.lower()}"
    found = {f"{prefix}.sasl.enabled.mechanisms": ",".join(logins)}
    for mechanism, login in logins.items():
        found[f"{prefix}.{mechanism.lower()}.sasl.jaas.config"] = login
        if session_ms is not None:
            found[f"{prefix}.{mechanism.lower()}.connections.max.reauth.ms"] = str(session_ms)
    return found


def asking_cluster(
    name: str,
    *,
    protocol: str = "SASL_PLAINTEXT",
    session_ms: int = SESSION_MS,
    overrides: Mapping[str, str] | None = None,
    **more: object,
) -> KafkaCluster:
    """One broker with three such listeners. Who comes by PLAINTEXT need not say anything."""
    logins = {"SCRAM-SHA-256": SERVER_LOGINS["SCRAM-SHA-256"]}
    return KafkaCluster(
        name=name,
        listeners=dict.fromkeys((SASL, SHORT, NARROW), protocol),
        overrides={
            **server_settings(SASL),
            **server_settings(SHORT, session_ms=session_ms),
            **server_settings(NARROW, logins),
            **(overrides or {}),
        },
        **more,  # type: ignore[arg-type]
    )


def add_user(cluster: KafkaCluster, user: str = USER, password: str = PASSWORD) -> None:
    """SCRAM users; `PLAIN`'s stand in the broker's settings."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    for kind in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):  # a request takes a user once
        how = ScramCredentialInfo(kind, 4096)
        wanted = UserScramCredentialUpsertion(user, how, password.encode(), b"salt-of-%d" % kind.value)
        admin.alter_user_scram_credentials([wanted])[user].result(30)
    await_condition(
        lambda: len(admin.describe_user_scram_credentials([user])[user].result(30).scram_credential_infos) == 2,
        "a user",
    )


def client_settings(mechanism: str, *, protocol: str = "SASL_PLAINTEXT", password: str = PASSWORD) -> dict[str, str]:
    """A client that comes as USER. The token is an unsecured one."""
    if mechanism == "OAUTHBEARER":
        login = jaas(OAUTH_MODULE, unsecuredLoginStringClaim_sub=USER)
    else:
        login = jaas(PLAIN_MODULE if mechanism == "PLAIN" else SCRAM_MODULE, username=USER, password=password)
    return {"security.protocol": protocol, "sasl.mechanism": mechanism, "sasl.jaas.config": login}


def file_settings(alias: str, settings: Mapping[str, str]) -> dict[str, str]:
    """As lines of a properties file, where a backslash needs another."""
    return {f"{alias}.{key}": value.replace("\\", "\\\\") for key, value in settings.items()}


def write_asking_flow(
    folder: Path, source: str, target: str, topics: str, *, read: Mapping[str, str], write: Mapping[str, str]
) -> Path:
    """A flow that says at the source who it is by `read`, at the target by `write`."""
    return write_flow(folder, source, target, topics, file_settings("SOURCE", read) | file_settings("B", write))


def address(
    servers: str, settings: Mapping[str, str], alias: str = "A", owner: str = "A->B source admin"
) -> ClusterAddress:
    client = Client(security=Security.of(settings, owner))
    return ClusterAddress(alias=alias, bootstrap=tuple(servers.split(",")), client=client)


def write_token(file: Path, text: str) -> dict[str, str]:
    """Settings of a client whose token stands in a file."""
    file.write_text(text)
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": jaas(OAUTH_MODULE),
        "sasl.oauthbearer.token.endpoint.url": f"file://{file}",
    }


def endpoint_settings(url: str, client: str, secret: str) -> dict[str, str]:
    """Settings of a client whose token comes from an endpoint."""
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": jaas(OAUTH_MODULE),
        "sasl.login.callback.handler.class": OAUTH_MODULE.replace("Module", "CallbackHandler"),
        "sasl.oauthbearer.token.endpoint.url": url,
        "sasl.oauthbearer.client.credentials.client.id": client,
        "sasl.oauthbearer.client.credentials.client.secret": secret,
    }
