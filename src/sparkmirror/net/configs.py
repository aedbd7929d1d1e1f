"""Configurations of brokers and topics: described; topics' also changed, key by key (KIP-339)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka.protocol.admin import DescribeConfigsRequest, IncrementalAlterConfigsRequest

from sparkmirror.errors import BrokerError, ProtocolError
from sparkmirror.net.cluster import Cluster, chunks
from sparkmirror.net.denial import raise_refused, refused
from sparkmirror.net.response import only_answer
from sparkmirror.protocol import codes
from sparkmirror.topology.right import CLUSTER, TOPIC, Right
from sparkmirror.topology.topic_configs import ConfigChanges, ConfigEntry

_TOPIC, _BROKER = 2, 4
_SET, _REMOVE = 0, 1
AT_ONCE = 200  # topics a request


@dataclass(frozen=True, slots=True)
class Described:
    """Topics' configurations, and why some could not be read. Topics that are gone are in neither."""

    found: dict[str, dict[str, ConfigEntry]] = field(default_factory=dict)
    refused: dict[str, BrokerError] = field(default_factory=dict)


def describe_topic_configs(
    cluster: Cluster, topics: Collection[str], needs: str = "DESCRIBE_CONFIGS", *, only: str | None = None
) -> Described:
    """All configurations of each topic, or one. `needs`: what must be allowed, where that is more than to ask."""
    described = Described()
    resource = DescribeConfigsRequest.DescribeConfigsResource
    for group in chunks(sorted(topics), AT_ONCE):
        keys = None if only is None else [only]
        wanted = [resource(resource_type=_TOPIC, resource_name=topic, configuration_keys=keys) for topic in group]
        request = DescribeConfigsRequest(resources=wanted, include_synonyms=False, include_documentation=False)
        for answer in cluster.call_any(request).results:
            name, code = answer.resource_name, answer.error_code
            if name not in group:
                raise ProtocolError(f"configurations of {name!r} came, which were not asked for")
            if not code:
                described.found[name] = {entry.name: _entry(entry) for entry in answer.configs}
            elif code != codes.UNKNOWN_TOPIC_OR_PARTITION:
                what = f"cluster {cluster.address.alias}: configurations of topic {name} can't be read"
                described.refused[name] = refused(cluster.address, what, code, Right(needs, TOPIC, name))
    return described


def describe_broker_configs(cluster: Cluster, node: int) -> dict[str, str]:
    """What holds for one broker; values that it keeps to itself are left out."""
    resource = DescribeConfigsRequest.DescribeConfigsResource
    wanted = resource(resource_type=_BROKER, resource_name=str(node), configuration_keys=None)
    request = DescribeConfigsRequest(resources=[wanted], include_synonyms=False, include_documentation=False)
    what = f"cluster {cluster.address.alias}: configurations of broker {node} can't be read"
    answer = only_answer(cluster.call(node, request).results, what)
    raise_refused(cluster.address, what, answer.error_code, Right("DESCRIBE_CONFIGS", CLUSTER))
    return {entry.name: entry.value for entry in answer.configs if entry.value is not None}


def change_topic_configs(
    cluster: Cluster, changes: Mapping[str, ConfigChanges], *, validate_only: bool = False
) -> dict[str, BrokerError]:
    """Write the changes, and say which topics' were refused. `validate_only`: or would be, and nothing is written."""
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    errors: dict[str, BrokerError] = {}
    for group in chunks(sorted(changes), AT_ONCE):
        request = IncrementalAlterConfigsRequest(
            resources=[
                resource(resource_type=_TOPIC, resource_name=topic, configs=list(_alterations(changes[topic])))
                for topic in group
            ],
            validate_only=validate_only,
        )
        answers = cluster.call_controller(request).responses
        if {answer.resource_name for answer in answers} != set(group):
            raise ProtocolError(f"configurations of {len(group)} topics were to be changed, and other answers came")
        for answer in answers:
            if answer.error_code:
                topic, right = answer.resource_name, Right("ALTER_CONFIGS", TOPIC, answer.resource_name)
                what = f"topic {topic}: {', '.join((*changes[topic].set, *changes[topic].remove))} can't be set"
                errors[topic] = refused(cluster.address, what, answer.error_code, right, answer.error_message)
    return errors


def set_topic_configs(cluster: Cluster, topic: str, values: Mapping[str, str]) -> None:
    errors = change_topic_configs(cluster, {topic: ConfigChanges(set=values)})
    if topic in errors:
        raise errors[topic]


def _alterations(changes: ConfigChanges) -> Iterator[Any]:
    kind = IncrementalAlterConfigsRequest.AlterConfigsResource.AlterableConfig
    for name, value in changes.set.items():
        yield kind(name=name, config_operation=_SET, value=value)
    for name in changes.remove:
        yield kind(name=name, config_operation=_REMOVE, value=None)


def _entry(entry: Any) -> ConfigEntry:
    return ConfigEntry(entry.value, entry.config_source, entry.read_only, entry.is_sensitive)
