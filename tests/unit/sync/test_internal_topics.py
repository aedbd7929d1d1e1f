"""What the making of an internal topic tolerates (MirrorUtilsTest)."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.protocol.admin import CreateTopicsResponse

from sparkmirror.errors import BrokerError
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster, Metadata
from sparkmirror.protocol import codes
from sparkmirror.protocol.metadata import BrokerPlace
from sparkmirror.sync.internal_topics import why_not_made
from sparkmirror.topology.internal_topics import InternalTopicPlan

TOPIC = InternalTopicPlan(name="heartbeats", key="heartbeats.topic.replication.factor", replication_factor=1)
ONE_BROKER = Metadata("id", 1, {1: BrokerPlace(1, "h", 1)}, {})


class Answering(Cluster):
    """A cluster that answers a creation with a code: some of them no real broker gives on demand."""

    def __init__(self, code: int) -> None:
        super().__init__(ClusterAddress(alias="b", bootstrap=()))
        self.code = code
        self.asked: list[Any] = []

    def call_controller(self, request: Any, *, most_version: int | None = None) -> Any:
        self.asked.append(request)
        answer = CreateTopicsResponse.CreatableTopicResult(name="heartbeats", error_code=self.code, error_message=None)
        return CreateTopicsResponse(throttle_time_ms=0, topics=[answer])


@pytest.mark.parametrize("code", [codes.NONE, codes.TOPIC_ALREADY_EXISTS])
def test_a_topic_that_is_there_is_fine_whoever_made_it(code: int) -> None:
    assert why_not_made(Answering(code), ONE_BROKER, TOPIC) == ""


@pytest.mark.parametrize(
    "code", [codes.UNSUPPORTED_VERSION, codes.TOPIC_AUTHORIZATION_FAILED, codes.CLUSTER_AUTHORIZATION_FAILED]
)
def test_a_missing_right_or_an_old_broker_is_said_and_passed_over(code: int) -> None:
    assert "heartbeats can't be created" in why_not_made(Answering(code), ONE_BROKER, TOPIC)


@pytest.mark.parametrize("code", [codes.INVALID_CONFIG, codes.REQUEST_TIMED_OUT])
def test_whatever_else_is_an_error(code: int) -> None:
    with pytest.raises(BrokerError):
        why_not_made(Answering(code), ONE_BROKER, TOPIC)


def test_a_factor_that_cannot_be_is_not_even_asked_for() -> None:
    cluster = Answering(codes.NONE)
    wide = InternalTopicPlan(name="heartbeats", key="heartbeats.topic.replication.factor", replication_factor=3)
    assert "heartbeats.topic.replication.factor is 3" in why_not_made(cluster, ONE_BROKER, wide)
    assert cluster.asked == []
