"""Groups made by real clients, or by the one request that makes a kind of group which librdkafka has no client for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition
from kafka.protocol.consumer import JoinGroupRequest, LeaveGroupRequest, SyncGroupRequest

from sparkmirror.net.cluster import Cluster
from sparkmirror.net.coordinators import find_coordinators
from sparkmirror.protocol.committed import Committed, Partition
from sparkmirror.protocol.wire import encode_compact_string, encode_uvarint
from tests.support.kafka_client import DEADLINE_S, await_condition

SHARE_GROUP_HEARTBEAT = 76


@contextmanager
def consuming(servers: str, group: str, topic: str, protocol: str = "classic") -> Iterator[Consumer]:
    """A member of the group that has been assigned partitions; it leaves at the end."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": group,
            "group.protocol": protocol,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    try:
        consumer.subscribe([topic])

        def is_assigned() -> bool:
            consumer.poll(0.05)
            return bool(consumer.assignment())

        await_condition(is_assigned, f"{group} to be assigned partitions")
        yield consumer
    finally:
        consumer.close()


def commit(consumer: Consumer, offsets: Mapping[Partition, Committed]) -> dict[Partition, Committed]:
    """What is stored then: confluent_kafka sends the zero byte that ends C's texts along with metadata."""
    wanted = [
        TopicPartition(t, p, c.offset, leader_epoch=c.leader_epoch, **({"metadata": c.metadata} if c.metadata else {}))
        for (t, p), c in offsets.items()
    ]
    consumer.commit(offsets=wanted, asynchronous=False)
    return {place: c._replace(metadata=c.metadata and c.metadata + "\0") for place, c in offsets.items()}


def committed(servers: str, group: str, partitions: Sequence[Partition]) -> dict[Partition, int]:
    """Offsets as the group's consumer is told them, -1001 for none.

    Metadata it reads up to a zero byte, which others do not write. A cluster's first group has a coordinator only when
    the topic of groups was made.
    """
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group})
    found: list[TopicPartition] = []

    def is_told() -> bool:
        with suppress(KafkaException):
            found[:] = consumer.committed([TopicPartition(*place) for place in partitions], timeout=20)
        return bool(found)

    try:
        await_condition(is_told, f"the offsets of {group}", 30)
        return {(p.topic, p.partition): p.offset for p in found}
    finally:
        consumer.close()


class PlantedMember:
    """A group's only member, of any protocol, as Kafka Connect's workers are: what it says is the test's. It never
    heartbeats.
    """

    def __init__(self, cluster: Cluster, group: str, protocol_type: str = "connect") -> None:
        self._cluster = cluster
        self._group = group
        self._protocol_type = protocol_type
        self._member = ""
        self._generation = -1

    def join(self, metadata: bytes = b"") -> None:
        """The group waits for its assignment then."""
        protocols = [JoinGroupRequest.JoinGroupRequestProtocol(name="default", metadata=metadata)]
        request = JoinGroupRequest(
            group_id=self._group,
            session_timeout_ms=30_000,
            rebalance_timeout_ms=1_000,
            member_id=self._member,
            protocol_type=self._protocol_type,
            protocols=protocols,
        )
        answer = self._ask(request, 3)
        self._member, self._generation = answer.member_id, answer.generation_id

    def take(self, assignment: bytes) -> None:
        """The group is stable then."""
        given = SyncGroupRequest.SyncGroupRequestAssignment(member_id=self._member, assignment=assignment)
        request = SyncGroupRequest(
            group_id=self._group, generation_id=self._generation, member_id=self._member, assignments=[given]
        )
        self._ask(request, 2)

    def leave(self) -> None:
        """If it has joined."""
        if self._member:
            self._ask(LeaveGroupRequest(group_id=self._group, member_id=self._member), 2)
            self._member, self._generation = "", -1

    def _ask(self, request: Any, most_version: int) -> Any:
        answers: list[Any] = []

        def ask(node: int) -> int:
            answers.append(self._cluster.call(node, request, most_version=most_version))
            return int(answers[-1].error_code)

        _ask_coordinator(self._cluster, self._group, ask)
        return answers[-1]


def join_share_group(cluster: Cluster, group: str, topic: str) -> None:
    """ShareGroupHeartbeat v1: group, member, epoch 0 to join, no rack, topics."""
    body = b"".join(
        (
            encode_compact_string(group),
            encode_compact_string("AAAAAAAAAAAAAAAAAAAAAQ"),
            bytes(4),
            b"\0",
            encode_uvarint(2) + encode_compact_string(topic),
            b"\0",
        )
    )

    def heartbeat(node: int) -> int:
        channel = cluster.connect(node)
        try:
            channel.send(SHARE_GROUP_HEARTBEAT, 1, [body], flexible=True)
            return int.from_bytes(channel.wait(DEADLINE_S)[4:6])
        finally:
            channel.close()

    _ask_coordinator(cluster, group, heartbeat)


def _ask_coordinator(cluster: Cluster, group: str, ask: Any) -> None:
    """Until it knows the topic and has read its groups."""

    def is_done() -> bool:
        node = find_coordinators(cluster, [group])[group]
        return isinstance(node, int) and ask(node) == 0

    await_condition(is_done, f"group {group}")
