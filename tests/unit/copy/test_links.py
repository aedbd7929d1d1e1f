"""How many answers are awaited together, and for how long at most."""

from __future__ import annotations

import socket
import struct
import time

import pytest

from sparkmirror.copy.appender import MOST_UNDER_WAY, Appender
from sparkmirror.copy.cursor import Cursor
from sparkmirror.copy.lease import Lease, Rules
from sparkmirror.copy.links import ANSWER_WAITS_S, Links
from sparkmirror.copy.roster import Roster
from sparkmirror.copy.scout import Connections
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.channel import Channel
from sparkmirror.net.client import Client
from tests.support.loopback import Loopback
from tests.support.rosters import A, SilentChannel, appender_at, fetched, roster_of, settle

LONG_S = 5.0
# One topic "A.t" with one partition, in version 8: no error, nothing more to say, no throttle.
ANSWER = struct.pack(">ih3siihqqqihi", 1, 3, b"A.t", 1, 0, 0, 0, -1, 0, 0, -1, 0)


@pytest.fixture
def links() -> Links:
    address = ClusterAddress(alias="A", bootstrap=())
    lease = Lease(
        lease_id="0.f.0", flow="f", source=address, target=address, producer_id=7, fence=4, seconds=9.0, partitions=()
    )
    return Links(lease, None)


def _seconds_until_ready(links: Links, appender: Appender) -> float:
    began = time.monotonic()
    assert [side for side, _ in links.select(LONG_S)] == [appender]
    return time.monotonic() - began


def test_bytes_that_never_come_are_not_waited_for(links: Links, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a broker's answer is shorter than guessed, or it throttles us between two of them."""
    monkeypatch.setattr(Appender, "wakes_at", 100)
    with Loopback() as broker:
        links.adopt(Connections(source={}, target={1: Channel("127.0.0.1", broker.port, Client(client_id="x"))}))
        appender = links.appenders[1]
        links.watch(appender)
        broker.connections[0].sendall(99 * b"a")
        waited_s = _seconds_until_ready(links, appender)
        assert ANSWER_WAITS_S <= waited_s < LONG_S / 2
        monkeypatch.setattr(Appender, "wakes_at", 1)
        links.watch(appender)
        assert _seconds_until_ready(links, appender) < LONG_S / 2
        links.close()


def test_a_connection_that_ends_is_told_of_at_once(links: Links, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Appender, "wakes_at", 100)
    monkeypatch.setattr("sparkmirror.copy.links.ANSWER_WAITS_S", LONG_S)
    with Loopback() as broker:
        links.adopt(Connections(source={}, target={1: Channel("127.0.0.1", broker.port, Client(client_id="x"))}))
        links.watch(links.appenders[1])
        broker.connections[0].shutdown(socket.SHUT_RDWR)
        assert _seconds_until_ready(links, links.appenders[1]) < LONG_S / 2
        links.close()


class _Flow:
    """One partition whose batches are sent, one a request, and answered one after the other."""

    def __init__(self) -> None:
        self.roster: Roster
        self.cursor: Cursor
        self.roster, self.cursor = roster_of(Rules())
        settle(self.roster, self.cursor)
        self.appender: Appender
        self.channel: SilentChannel
        self.appender, self.channel = appender_at(A)
        self._next = 0

    def fetch(self, *, after: int = 0) -> None:
        """One more batch; `after` so many offsets without a record."""
        self._next += after
        self.roster.take_fetched(self.cursor, fetched(self._next), 0.0)
        self._next += 1
        self.appender.offer(self.cursor)
        self.appender.send()

    def answer(self) -> None:
        self.appender.take(self.channel.pending.popleft().tag, memoryview(ANSWER))


def _answers_awaited(appender: Appender) -> int:
    """By their bytes: the last one counts as soon as it begins."""
    return -(-appender.wakes_at // len(ANSWER))


def test_answers_come_together_where_nothing_waits_for_them() -> None:
    flow = _Flow()
    flow.fetch()
    flow.answer()
    assert flow.appender.wakes_at == 1
    flow.fetch()
    assert flow.appender.wakes_at == 1
    flow.fetch()
    assert _answers_awaited(flow.appender) == 2
    for _ in range(3):
        flow.fetch()
    assert len(flow.channel.pending) == MOST_UNDER_WAY and _answers_awaited(flow.appender) == MOST_UNDER_WAY


def test_a_broker_has_something_to_do_while_more_waits_to_be_sent() -> None:
    flow = _Flow()
    flow.fetch()
    flow.answer()
    for _ in range(MOST_UNDER_WAY + 1):
        flow.fetch()
    assert len(flow.channel.pending) == MOST_UNDER_WAY and _answers_awaited(flow.appender) == 2
    flow.answer()
    assert flow.appender.wakes_at == 1


def test_a_hole_waits_for_no_more_answers_than_its_own() -> None:
    flow = _Flow()
    flow.fetch()
    flow.answer()
    for _ in range(3):
        flow.fetch()
    assert flow.appender.wakes_at > 1
    flow.fetch(after=5)
    assert flow.appender.wakes_at == 1
