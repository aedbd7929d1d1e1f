"""A broker that asks for rights: they are given to the mirror's user by an admin who may do all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from sparkmirror.embedded import KafkaCluster
from sparkmirror.embedded.ports import HOST, reserve_port

ALL, DENY, ALLOW = AclOperation.ALL, AclPermissionType.DENY, AclPermissionType.ALLOW
TOPIC, IDS = ResourceType.TOPIC, ResourceType.TRANSACTIONAL_ID
LITERAL, PREFIXED = ResourcePatternType.LITERAL, ResourcePatternType.PREFIXED
MIRROR = "User:ANONYMOUS"
LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" password="x" user_admin="x";'
AS_ADMIN = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "admin",
    "sasl.password": "x",
}


@dataclass(frozen=True)
class Guarded:
    """A broker that knows who does not say who he is as the mirror's user, and on another port the admin."""

    cluster: KafkaCluster
    for_admin: str
    admin: AdminClient
    given: list[AclBinding] = field(default_factory=list)

    @property
    def servers(self) -> str:
        return self.cluster.bootstrap_servers

    def add(self, kind: Any, name: str, operation: Any, permission: Any, pattern: Any = LITERAL) -> AclBinding:
        acl = AclBinding(kind, name, pattern, MIRROR, "*", operation, permission)
        self.admin.create_acls([acl])[acl].result(30)
        self.given.append(acl)
        return acl

    def remove(self, acl: AclBinding) -> None:
        where = acl.restype, acl.name, acl.resource_pattern_type
        one = AclBindingFilter(*where, acl.principal, acl.host, acl.operation, acl.permission_type)
        self.admin.delete_acls([one])[one].result(30)
        self.given.remove(acl)


def start_guarded(name: str = "guarded", users: Iterable[str] = (), heap_mb: int = 512) -> tuple[KafkaCluster, str]:
    """Not started yet, and the admin's address: there `users` can log in, too, each with the password x."""
    client, internal, controller = (reserve_port() for _ in range(3))
    ports = [port.number for port in (client, internal, controller)]
    for port in (client, internal, controller):
        port.release()
    listeners = f"PLAINTEXT://{HOST}:{ports[0]},INTERNAL://{HOST}:{ports[1]}"
    known = LOGIN.removesuffix(";") + "".join(f' user_{user}="x"' for user in users) + ";"
    login = {f"listener.name.{listener}.plain.sasl.jaas.config": known for listener in ("internal", "controller")}
    overrides = {
        "listeners": f"{listeners},CONTROLLER://{HOST}:{ports[2]}",
        "advertised.listeners": listeners,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INTERNAL:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
        "inter.broker.listener.name": "INTERNAL",
        "controller.quorum.voters": f"1@{HOST}:{ports[2]}",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:admin",
        "producer.id.expiration.check.interval.ms": "1000",
    }
    cluster = KafkaCluster(name=name, ports=ports[:1], overrides={**overrides, **login}, heap_mb=heap_mb)
    return cluster, f"{HOST}:{ports[1]}"
