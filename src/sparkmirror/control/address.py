"""How a flow reaches its clusters."""

from __future__ import annotations

from sparkmirror.config.model import ClusterConfig, FlowConfig
from sparkmirror.net.address import ClusterAddress


def flow_address(cluster: ClusterConfig, flow: FlowConfig) -> ClusterAddress:
    return ClusterAddress(
        alias=cluster.alias, bootstrap=cluster.bootstrap_servers, client_id=f"{flow.name}|sparkmirror"
    )
