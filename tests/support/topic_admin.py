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

DEADLINE_S = 30.0
OF_TOPIC = 1


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


def topic_acls(servers: str) -> set[AclBinding]:
    wanted = AclBindingFilter(
        ResourceType.TOPIC, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
    )
    admin = AdminClient({"bootstrap.servers": servers})
    return set(admin.describe_acls(wanted).result(DEADLINE_S))
