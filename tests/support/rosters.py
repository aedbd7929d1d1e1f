"""A roster and its appenders without brokers: what is sent is kept, and never answered."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, cast

from sparkmirror.copy.appender import Appender
from sparkmirror.copy.cursor import Cursor
from sparkmirror.copy.lease import Lease, LeasePartition, Rules
from sparkmirror.copy.place import Place, Position
from sparkmirror.copy.roster import Roster
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.channel import Channel, Pending
from sparkmirror.net.cluster import NO_TOPIC_ID, TopicInfo
from sparkmirror.protocol.fetch import FetchedPartition
from tests.support.batches import simple_batch

TOPIC = TopicInfo("t", NO_TOPIC_ID, {}, 0, False)
PLACE = Place(0, TOPIC, TOPIC)
A, B = 1, 2


class SilentChannel:
    """Takes requests and never answers."""

    def __init__(self) -> None:
        self.request_timeout_s = 30.0
        self.is_renewing = self.wants_write = False
        self.pending: deque[Pending] = deque()
        self.sent: list[int] = []
        self.sizes: list[int] = []

    def unsent(self) -> Iterator[memoryview]:
        return iter(())

    def move(self, _move: Any) -> None:
        return

    def supports(self, _api_key: int, _version: int) -> bool:
        return False

    def __str__(self) -> str:
        return "h:1"

    def send(
        self, api_key: int, _version: int, pieces: list[Any], *, flexible: bool, tag: Any, timeout_s: float
    ) -> None:
        self.sent.append(api_key)
        self.sizes.append(sum(map(len, pieces)))
        self.pending.append(Pending(len(self.sent), flexible, tag, timeout_s))  # sent at 0.0


def roster_of(rules: Rules, **leased: Any) -> tuple[Roster, Cursor]:
    address = ClusterAddress(alias="A", bootstrap=())
    lease = Lease(
        lease_id="0.f.0", flow="f", source=address, target=address, producer_id=7, fence=4, seconds=9.0,
        partitions=(), rules=rules,
    )  # fmt: skip
    roster = Roster(lease, lambda *_: None)
    return roster, roster.add(LeasePartition(topic="t", partition=0, remote="A.t", **leased))


def settle(roster: Roster, cursor: Cursor, node: int = A, now: float = 0.0) -> None:
    cursor.target_node = node
    roster.settle(cursor, PLACE, Position(next_offset=0, target_next=0, last_sequence=-1), now)


def fetched(*firsts: int, error: int = 0) -> FetchedPartition:
    batches = b"".join(bytes(simple_batch(first, 1)) for first in firsts)
    return FetchedPartition("t", 0, error, 1000, 1000, 0, (), -1, memoryview(bytearray(batches)))


def appender_at(node: int, request_bytes: int | None = None) -> tuple[Appender, SilentChannel]:
    channel = SilentChannel()
    return Appender(node, cast(Channel, channel), 7, 4, request_bytes=request_bytes), channel
