"""Settings of all brokers of a cluster, changed while they run (KIP-226)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from kafka.protocol.admin import IncrementalAlterConfigsRequest

from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster

BROKER, SET, DELETE = 4, 0, 1  # of IncrementalAlterConfigs (KIP-339)


@contextlib.contextmanager
def brokers_set(servers: str, name: str, value: str) -> Iterator[None]:
    """As it was before afterwards, if that was the default."""
    _set(servers, name, value)
    try:
        yield
    finally:
        _set(servers, name, None)


def _set(servers: str, name: str, value: str | None) -> None:
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    entry = resource.AlterableConfig(name=name, config_operation=SET if value else DELETE, value=value)
    all_brokers = resource(resource_type=BROKER, resource_name="", configs=[entry])
    request = IncrementalAlterConfigsRequest(resources=[all_brokers], validate_only=False)
    with Cluster(ClusterAddress(alias="brokers", bootstrap=tuple(servers.split(",")))) as cluster:
        answer = cluster.call_controller(request)
        assert all(response.error_code == 0 for response in answer.responses), answer
