"""Clusters that long tests share within a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sparkmirror.embedded import KafkaCluster, start_clusters
from tests.conftest import Pair

# Everybody is User:ANONYMOUS, who may do all: rights are kept, listed and mirrored, and nobody is shut out.
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


@pytest.fixture(scope="module")
def three() -> Iterator[dict[str, str]]:
    """Addresses of three clusters A, B and C of one broker each."""
    clusters = [KafkaCluster(name=alias, heap_mb=256) for alias in ("A", "B", "C")]
    start_clusters(*clusters)
    try:
        yield {cluster.name: cluster.bootstrap_servers for cluster in clusters}
    finally:
        for cluster in clusters:
            cluster.stop()


@pytest.fixture(scope="module")
def wide() -> Iterator[Pair]:
    """Two clusters of three brokers each, with an authorizer: what printed samples expect."""
    a, b = (KafkaCluster(3, name=f"wide-{name}", heap_mb=256, overrides=AUTHORIZER) for name in "AB")
    start_clusters(a, b)
    with a, b:
        yield Pair(a, b)
