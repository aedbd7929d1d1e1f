"""Configurations and rights of topics, read and set by an independent client (librdkafka)."""

from __future__ import annotations

from collections.abc import Mapping

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourcePatternType,
    ResourceType,
)

from tests.support.kafka_client import await_condition

DEADLINE_S = 30.0
OF_TOPIC = 1
KEEPS_TIMES = {"message.timestamp.type": "CreateTime"}  # of every topic that the mirror makes


def topic_configs(servers: str, topic: str) -> dict[str, str]:
    """What is set on the topic itself."""
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    admin = AdminClient({"bootstrap.servers": servers})
    described = admin.describe_configs([resource])[resource].result(DEADLINE_S)
    return {name: entry.value for name, entry in described.items() if entry.source == OF_TOPIC}


def change_configs(servers: str, topic: str, values: Mapping[str, str | None]) -> None:
    """None removes."""
    entries = [
        ConfigEntry(
            name,
            value or "",
            incremental_operation=AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET,
        )
        for name, value in values.items()
    ]
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=entries)
    admin = AdminClient({"bootstrap.servers": servers})
    admin.incremental_alter_configs([resource])[resource].result(DEADLINE_S)


def replicas(servers: str) -> dict[str, int]:
    """How many each topic has."""
    found = AdminClient({"bootstrap.servers": servers}).list_topics(timeout=DEADLINE_S).topics
    return {name: max((len(p.replicas) for p in topic.partitions.values()), default=0) for name, topic in found.items()}


def remove_all(servers: str) -> None:
    """Topics and rights of earlier tests; the brokers' own topics stay."""
    admin = AdminClient({"bootstrap.servers": servers})
    if ours := [name for name in replicas(servers) if not name.startswith("__")]:
        for future in admin.delete_topics(ours).values():
            future.result(DEADLINE_S)
    await_condition(lambda: not [n for n in replicas(servers) if not n.startswith("__")], "the end of topics")
    remove_acls(servers, *topic_acls(servers))


def binding(
    topic: str,
    operation: AclOperation,
    principal: str = "User:ANONYMOUS",
    permission: AclPermissionType = AclPermissionType.ALLOW,
    pattern: ResourcePatternType = ResourcePatternType.LITERAL,
) -> AclBinding:
    return AclBinding(ResourceType.TOPIC, topic, pattern, principal, "*", operation, permission)


def add_acls(servers: str, *bindings: AclBinding) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    for future in admin.create_acls(list(bindings)).values():
        future.result(DEADLINE_S)


def remove_acls(servers: str, *bindings: AclBinding) -> None:
    filters = [
        AclBindingFilter(
            a.restype, a.name, a.resource_pattern_type, a.principal, a.host, a.operation, a.permission_type
        )
        for a in bindings
    ]
    admin = AdminClient({"bootstrap.servers": servers})
    for future in (admin.delete_acls(filters) if filters else {}).values():
        future.result(DEADLINE_S)


def topic_acls(servers: str) -> set[AclBinding]:
    wanted = AclBindingFilter(
        ResourceType.TOPIC, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
    )
    admin = AdminClient({"bootstrap.servers": servers})
    return set(admin.describe_acls(wanted).result(DEADLINE_S))
