"""Topic configurations: set single keys and leave the others as they are (KIP-339)."""

from __future__ import annotations

from collections.abc import Mapping

from kafka.protocol.admin import IncrementalAlterConfigsRequest

from sparkmirror.net.cluster import Cluster
from sparkmirror.protocol import codes

_TOPIC = 2
_SET = 0


def set_topic_configs(cluster: Cluster, topic: str, values: Mapping[str, str]) -> None:
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    configs = [resource.AlterableConfig(name=k, config_operation=_SET, value=v) for k, v in values.items()]
    request = IncrementalAlterConfigsRequest(
        resources=[resource(resource_type=_TOPIC, resource_name=topic, configs=configs)], validate_only=False
    )
    answer = cluster.call_controller(request).responses[0]
    codes.raise_for(answer.error_code, f"topic {topic}: {', '.join(values)} can't be set")
