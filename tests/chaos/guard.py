"""Who the mirror is to the brokers of a world, and the rights that it has there.

It comes by the listener MIRROR, through proxies: to the source with a user's password, to the target with a
certificate. Traffic and comparisons come by PLAINTEXT, where everybody may do all.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramMechanism,
    UserScramCredentialDeletion,
)

from sparkmirror.embedded import KafkaCluster
from tests.support import sasl
from tests.support.certificates import Authority
from tests.support.tls import PASSWORD, Secured

MIRROR = "MIRROR"
SESSION_MS = 3000  # a user who is gone is noticed when its session is over
DEADLINE_S = 30.0
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
EVERYTHING = (
    (ResourceType.TOPIC, "*"),
    (ResourceType.GROUP, "*"),
    (ResourceType.TRANSACTIONAL_ID, "*"),
    (ResourceType.BROKER, "kafka-cluster"),
)


@dataclass(frozen=True)
class Login:
    """One side's listener for the mirror. `of_mirror` is in Kafka's own keys, `of_probe` in librdkafka's."""

    protocol: str
    principal: str
    of_brokers: dict[str, str]
    of_mirror: dict[str, str]
    of_probe: dict[str, str]


def password_login() -> Login:
    mechanism = "SCRAM-SHA-256"
    logins = {mechanism: sasl.SERVER_LOGINS[mechanism]}
    return Login(
        "SASL_PLAINTEXT",
        f"User:{sasl.USER}",
        AUTHORIZER | sasl.server_settings(MIRROR, logins, session_ms=SESSION_MS),
        sasl.client_settings(mechanism),
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
            "sasl.username": sasl.USER,
            "sasl.password": sasl.PASSWORD,
        },
    )


def certificate_login(folder: Path) -> Login:
    secured = Secured.make(folder)
    secured.me.write_pem(folder / "me.pem")
    Authority("another CA").write_pem(folder / "another.pem")
    of_brokers = AUTHORIZER | secured.of_brokers | {f"listener.name.{MIRROR.lower()}.ssl.client.auth": "required"}
    return Login(
        "SSL",
        "User:CN=me",
        of_brokers,
        secured.of_client(),
        {
            "security.protocol": "SSL",
            "ssl.ca.location": str(folder / "ca.pem"),
            "ssl.keystore.location": str(folder / "me.p12"),
            "ssl.keystore.password": PASSWORD,
        },
    )


def add_user(cluster: KafkaCluster) -> None:
    """Again until it is there: a broker that is asked may not have heard of it yet."""
    until = time.monotonic() + DEADLINE_S
    while True:
        try:
            return sasl.add_user(cluster)
        except KafkaException:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def remove_user(admin: AdminClient) -> None:
    for kind in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):  # a request takes a user once
        gone = UserScramCredentialDeletion(sasl.USER, kind)
        admin.alter_user_scram_credentials([gone])[sasl.USER].result(DEADLINE_S)


def right(principal: str, kind: ResourceType, name: str, *, denied: bool = False) -> AclBinding:
    permission = AclPermissionType.DENY if denied else AclPermissionType.ALLOW
    return AclBinding(kind, name, ResourcePatternType.LITERAL, principal, "*", AclOperation.ALL, permission)


def grant_everything(admin: AdminClient, principal: str) -> None:
    for future in admin.create_acls([right(principal, *each) for each in EVERYTHING]).values():
        future.result(DEADLINE_S)
