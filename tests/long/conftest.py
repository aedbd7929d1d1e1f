"""Clusters that long tests share within a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sparkmirror.embedded import KafkaCluster, start_clusters
from tests.conftest import Pair
from tests.support.tls import LISTENERS, Secured

# Everybody is User:ANONYMOUS, or by a certificate User:CN=me, and both may do all: rights are kept, listed and
# mirrored, and nobody is shut out.
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS;User:CN=me",
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
def wide(secured: Secured) -> Iterator[Pair]:
    """Two clusters of three brokers each, with an authorizer: what printed samples expect."""
    settings = AUTHORIZER | secured.of_brokers
    a, b = (KafkaCluster(3, name=f"wide-{name}", heap_mb=256, overrides=settings, listeners=LISTENERS) for name in "AB")
    start_clusters(a, b)
    with a, b:
        yield Pair(a, b)
