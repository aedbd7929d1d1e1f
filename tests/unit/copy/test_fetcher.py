"""What a fetch asks for: how long it waits, for how much, and how much it takes."""

from __future__ import annotations

import struct
import time
from collections import deque
from typing import Any, NamedTuple, cast

import pytest

from sparkmirror.copy.cursor import Cursor
from sparkmirror.copy.fetcher import LONGEST_REST_S, LONGEST_THROTTLE_S, MOST_IN_VAIN, PARTITION_BYTES, Fetcher
from sparkmirror.copy.lease import Bounds, LeasePartition
from sparkmirror.copy.pace import GATHERING_WAIT_MS, LONGEST_WAIT_MS
from sparkmirror.errors import ProtocolError
from sparkmirror.net.channel import Channel

# replica id, max wait ms, min bytes, max bytes: the head of every version
_HEAD = struct.Struct(">iiii")


class Request(NamedTuple):
    wait_ms: int
    min_bytes: int
    max_bytes: int
    body: bytes
    timeout_s: float


class Sent:
    """A channel that keeps what is sent."""

    request_timeout_s = 7.0

    def __init__(self) -> None:
        self.pending: deque[Any] = deque()
        self.requests: list[Request] = []

    def supports(self, _api_key: int, _version: int) -> bool:
        return False

    def send(self, _api_key: int, _version: int, pieces: list[bytes], *, flexible: bool, timeout_s: float) -> None:
        (body,) = pieces
        _, wait_ms, min_bytes, max_bytes = _HEAD.unpack_from(body)
        self.requests.append(Request(wait_ms, min_bytes, max_bytes, body, timeout_s))


def fetches(bounds: Bounds, count: int = 10, left_ms: int = 60_000, most: int = 1 << 20) -> list[Request]:
    """What an idle partition is asked for, again and again."""
    channel = Sent()
    fetcher = Fetcher(1, cast(Channel, channel), 1, bounds)
    cursor = Cursor(LeasePartition(topic="t", partition=0, remote="t"), 7)
    for _ in range(count):
        fetcher.ask([cursor], most, left_ms)
        fetcher._epoch = 1  # as after an answer
    return channel.requests


def test_waits_grow_to_the_longest_that_was_wanted() -> None:
    assert [f.wait_ms for f in fetches(Bounds(), 7)] == [50, 100, 200, 400, 800, 1600, LONGEST_WAIT_MS]
    assert [f.wait_ms for f in fetches(Bounds(fetch_wait_ms=300), 5)] == [50, 100, 200, 300, 300]
    assert fetches(Bounds(fetch_wait_ms=5000))[-1].wait_ms == 5000
    assert {f.wait_ms for f in fetches(Bounds(fetch_wait_ms=0))} == {0}
    assert fetches(Bounds(), left_ms=10)[-1].wait_ms == 10, "but no longer than the lease"


def test_a_wanted_size_is_waited_for() -> None:
    assert {f.min_bytes for f in fetches(Bounds())} == {1}
    wanted = fetches(Bounds(fetch_min_bytes=5000))
    assert {(f.min_bytes, f.wait_ms) for f in wanted} == {(5000, GATHERING_WAIT_MS)}
    wanted = fetches(Bounds(fetch_min_bytes=5000, fetch_wait_ms=40))
    assert {(f.min_bytes, f.wait_ms) for f in wanted} == {(5000, 40)}
    assert {f.min_bytes for f in fetches(Bounds(fetch_min_bytes=5000), most=1000)} == {1000}, "more can't come"


@pytest.mark.parametrize(("bounds", "size"), [(Bounds(), PARTITION_BYTES), (Bounds(partition_bytes=777), 777)])
def test_a_partition_gives_no_more_than_is_wanted_of_one(bounds: Bounds, size: int) -> None:
    (first,) = fetches(bounds, 1)
    assert struct.pack(">i", size) in first.body


def test_an_answer_is_waited_for_as_long_as_the_client_waits_for_one_and_the_broker_for_data() -> None:
    last = fetches(Bounds(fetch_wait_ms=500))[-1]
    assert last.timeout_s == Sent.request_timeout_s + 0.5


def _answer(*partitions: int, throttle_ms: int = 0) -> memoryview:
    """A fetch of version 11, of partitions of `t` without records."""
    each = b"".join(
        struct.pack(">ihqqq", partition, 0, 9, 9, 0) + struct.pack(">iii", 0, -1, 0) for partition in partitions
    )
    head = struct.pack(">ihi", throttle_ms, 0, 77) + struct.pack(">i", 1)
    return memoryview(head + b"\0\1t" + struct.pack(">i", len(partitions)) + each)


def _asking() -> tuple[Fetcher, Cursor]:
    fetcher = Fetcher(1, cast(Channel, Sent()), 1, Bounds())
    cursor = Cursor(LeasePartition(topic="t", partition=0, remote="t"), 7)
    fetcher.ask([cursor], 1 << 20, 60_000)
    return fetcher, cursor


def test_a_broker_that_answers_at_once_and_brings_nothing_is_asked_less_often() -> None:
    fetcher, cursor = _asking()
    rests = []
    for _ in range(20):
        fetcher.take(_answer(0))
        fetcher.ask([cursor], 1 << 20, 60_000)
        rests.append(max(0.0, fetcher.paused_until - time.monotonic()))
    assert rests[: MOST_IN_VAIN - 1] == [0.0] * (MOST_IN_VAIN - 1), "leaders move, and logs begin"
    assert 0 < rests[MOST_IN_VAIN] < rests[-1] <= LONGEST_REST_S
    cursor.fetch_offset += 1
    before = fetcher.paused_until
    fetcher.take(_answer(0))
    fetcher.ask([cursor], 1 << 20, 60_000)
    assert fetcher.paused_until == before, "something came"


def test_an_answer_that_names_a_partition_twice_is_refused() -> None:
    fetcher, _ = _asking()
    with pytest.raises(ProtocolError, match="twice for a partition"):
        fetcher.take(_answer(0, 0))


@pytest.mark.parametrize(("said_ms", "longest_s"), [(2**31 - 1, LONGEST_THROTTLE_S), (-(2**31), 0.0), (500, 0.5)])
def test_a_broker_holds_us_back_for_a_minute_at_most(said_ms: int, longest_s: float) -> None:
    fetcher, _ = _asking()
    fetcher.take(_answer(0, throttle_ms=said_ms))
    assert max(0.0, fetcher.paused_until - time.monotonic()) == pytest.approx(longest_s, abs=0.1)
