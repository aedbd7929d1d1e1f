"""How to reach a cluster. Apart from `cluster`, so that a planner can read a lease without loading Kafka's schemas."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAddress:
    """What is needed to reach a cluster; travels from driver to executors."""

    alias: str
    bootstrap: tuple[str, ...]
    client_id: str = "sparkmirror"


def parse_host_port(text: str) -> tuple[str, int]:
    """`host:port`, also `[v6]:port` and `PROTOCOL://host:port`."""
    host, _, port = text.rpartition("://")[2].rpartition(":")
    return host.strip("[]"), int(port)
