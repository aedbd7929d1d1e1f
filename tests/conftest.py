"""Fixtures for all tests: real clusters that are started once and shared, and topic names of a test's own."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import hypothesis
import pytest

from sparkmirror.embedded import VERSIONS, KafkaCluster, start_clusters
from tests.support.java_reader import JavaReader
from tests.support.tls import LISTENERS, Secured

# A busy machine is no failure; pytest's own timeout ends what hangs.
hypothesis.settings.register_profile(
    "sparkmirror", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("sparkmirror")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two single-broker clusters, source A and target B."""

    a: KafkaCluster
    b: KafkaCluster

    @property
    def source(self) -> str:
        return self.a.bootstrap_servers

    @property
    def target(self) -> str:
        return self.b.bootstrap_servers


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Secured:
    return Secured.make(tmp_path_factory.mktemp("secured"))


@pytest.fixture(scope="session")
def pair(secured: Secured) -> Iterator[Pair]:
    overrides = secured.of_brokers | {
        "group.initial.rebalance.delay.ms": "0",
        "message.max.bytes": "8388608",
        "producer.id.expiration.check.interval.ms": "1000",  # ten minutes by default: too long to see it
    }
    a, b = (KafkaCluster(name=name, overrides=overrides, listeners=LISTENERS) for name in ("A", "B"))
    start_clusters(a, b)
    with a, b:
        yield Pair(a, b)


@pytest.fixture(scope="session", params=VERSIONS)
def versioned(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    """A single broker of each Kafka version in turn, one at a time."""
    with KafkaCluster(name=f"v{request.param}", version=request.param) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def java_reader() -> Iterator[JavaReader]:
    """Kafka's own consumer, in a JVM that is started once."""
    with JavaReader() as reader:
        yield reader


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A name that no other test uses; it says which test it was."""
    return re.sub(r"[^a-z0-9-]+", "-", request.node.name.lower())[:60].strip("-") + "-" + uuid.uuid4().hex[:6]
