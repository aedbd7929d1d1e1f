"""How many answers are awaited together, and for how long at most."""

from __future__ import annotations

import selectors
import socket
import struct
import time
from collections.abc import Iterator

import pytest

from sparkmirror.copy.appender import MOST_UNDER_WAY, Appender
from sparkmirror.copy.cursor import Cursor
from sparkmirror.copy.fetcher import Fetcher
from sparkmirror.copy.lease import Lease, Rules
from sparkmirror.copy.links import ANSWER_WAITS_S, Links
from sparkmirror.copy.roster import Roster
from sparkmirror.copy.scout import Connections
from sparkmirror.errors import ProtocolError
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.channel import Channel
from sparkmirror.net.client import Client
from tests.support.loopback import METADATA, Loopback
from tests.support.rosters import A, SilentChannel, appender_at, fetched, roster_of, settle

LONG_S = 5.0
LARGE_BYTES = 64 << 10  # a socket holds at least twice as much


def _answer(base_offset: int) -> bytes:
    """One topic "A.t" with one partition, in version 8: no error, nothing more to say, no throttle."""
    return struct.pack(">ih3siihqqqihi", 1, 3, b"A.t", 1, 0, 0, base_offset, -1, 0, 0, -1, 0)


ANSWER_BYTES = len(_answer(0))


class _Awaiting:
    """An appender that waits for 100 bytes of answers, and the broker that it waits for. It has sent two requests."""

    def __init__(self, broker: Loopback, links: Links) -> None:
        links.adopt(Connections(source={}, target={1: Channel("127.0.0.1", broker.port, Client(client_id="x"))}))
        self.broker, self.links, self.appender = broker, links, links.appenders[1]
        for _ in range(2):
            self.ask()
        self.watch()

    def ask(self) -> None:
        self.appender.channel.send(METADATA, 0, [b"\0\0\0\0"], flexible=False)

    def watch(self) -> None:
        self.links.watch(self.appender)

    def begin_anew(self) -> None:
        """As if the oldest request was answered: the time runs for the next."""
        self.ask()
        self.go_on_to_the_next()

    def go_on_to_the_next(self) -> None:
        self.appender.channel.pending.popleft()
        self.watch()

    def answer(self, count: int) -> None:
        self.broker.connections[0].sendall(count * b"a")

    def events(self) -> int:
        """That the next look finds; 0: none, in some milliseconds."""
        found: dict[object, int] = dict(self.links.select(2 * ANSWER_WAITS_S))
        assert found.keys() <= {self.appender}
        return found.get(self.appender, 0)


@pytest.fixture
def links() -> Iterator[Links]:
    address = ClusterAddress(alias="A", bootstrap=())
    lease = Lease(
        lease_id="0.f.0", flow="f", source=address, target=address, producer_id=7, fence=4, seconds=9.0, partitions=()
    )
    links = Links(lease, None)
    yield links
    links.close()


@pytest.fixture
def awaiting(links: Links, monkeypatch: pytest.MonkeyPatch) -> Iterator[_Awaiting]:
    monkeypatch.setattr(Appender, "wakes_at", 100)
    with Loopback(silent={METADATA}) as broker:
        yield _Awaiting(broker, links)


def test_less_than_is_worth_waking_up_for_is_found_when_its_time_is_over(awaiting: _Awaiting) -> None:
    """Whether a broker's answer is shorter than guessed, or it throttles us between two of them."""
    began = time.monotonic()
    awaiting.watch()
    awaiting.answer(99)
    assert [side for side, _ in awaiting.links.select(LONG_S)] == [awaiting.appender]
    assert time.monotonic() - began < LONG_S / 2


def test_enough_is_found_at_once(awaiting: _Awaiting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparkmirror.copy.links.ANSWER_WAITS_S", LONG_S)
    awaiting.begin_anew()
    began = time.monotonic()
    awaiting.answer(100)
    assert [side for side, _ in awaiting.links.select(LONG_S)] == [awaiting.appender]
    assert time.monotonic() - began < LONG_S / 2


def test_the_time_does_not_begin_anew_with_each_look(awaiting: _Awaiting) -> None:
    awaiting.answer(99)
    until = time.monotonic() + LONG_S
    while not (found := awaiting.links.select(0.0)) and time.monotonic() < until:
        awaiting.watch()  # as after each fetch
    assert found == [(awaiting.appender, selectors.EVENT_READ)]


def test_room_to_write_does_not_hide_what_came(awaiting: _Awaiting) -> None:
    while not awaiting.appender.channel.wants_write:  # more than the socket takes
        awaiting.appender.channel.send(METADATA, 0, [bytes(1 << 20)], flexible=False)
    awaiting.go_on_to_the_next()  # nothing is sent: the broker may have made room for all of it
    awaiting.answer(99)
    until = time.monotonic() + LONG_S
    while (events := awaiting.events()) != selectors.EVENT_READ | selectors.EVENT_WRITE:  # nothing more is written
        assert time.monotonic() < until, f"only {events}"


def test_an_answer_that_did_not_come_in_time_is_found_with_its_first_byte(awaiting: _Awaiting) -> None:
    assert awaiting.events() == selectors.EVENT_READ
    awaiting.watch()
    assert awaiting.events() == 0, "it would be looked for again and again"
    awaiting.answer(1)
    assert awaiting.events() == selectors.EVENT_READ


def test_a_connection_that_ends_is_told_of_at_once(awaiting: _Awaiting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparkmirror.copy.links.ANSWER_WAITS_S", LONG_S)
    awaiting.begin_anew()
    began = time.monotonic()
    awaiting.broker.connections[0].shutdown(socket.SHUT_RDWR)
    assert [side for side, _ in awaiting.links.select(LONG_S)] == [awaiting.appender]
    assert time.monotonic() - began < LONG_S / 2


def test_a_connection_that_was_dropped_is_not_waited_for(awaiting: _Awaiting) -> None:
    awaiting.links.drop(awaiting.appender.channel)
    assert awaiting.links.select(2 * ANSWER_WAITS_S) == []


def _begin_large_answer(broker: Loopback, links: Links) -> tuple[Fetcher, socket.socket]:
    """A fetcher that has the beginning of an answer of `LARGE_BYTES`, and the broker's end of its connection."""
    links.adopt(Connections(source={1: Channel("127.0.0.1", broker.port, Client(client_id="x"))}, target={}))
    fetcher, connection = links.fetchers[1], broker.connections[0]
    fetcher.channel.send(METADATA, 0, [b"\0\0\0\0"], flexible=False)
    connection.sendall(struct.pack(">ii", LARGE_BYTES, fetcher.channel.pending[0].correlation) + bytes(1000))
    while not fetcher.channel.missing:
        assert links.select(LONG_S)
        assert not list(fetcher.channel.receive())
    links.watch(fetcher)
    return fetcher, connection


def test_the_rest_of_a_large_answer_is_awaited(links: Links, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparkmirror.copy.links.ANSWER_WAITS_S", LONG_S)
    with Loopback(silent={METADATA}) as broker:
        fetcher, connection = _begin_large_answer(broker, links)
        began = time.monotonic()
        connection.sendall(bytes(fetcher.channel.missing - 1))
        assert links.select(0.1) == []
        connection.sendall(b"\0")
        assert links.select(LONG_S) == [(fetcher, selectors.EVENT_READ)]
        assert time.monotonic() - began < LONG_S / 2
        assert [len(frame) for _, frame in fetcher.channel.receive()] == [LARGE_BYTES - 4]
        links.watch(fetcher)
        connection.sendall(b"\0")
        assert links.select(LONG_S) == [(fetcher, selectors.EVENT_READ)], "the next one is told of by its first byte"


def test_the_rest_of_an_answer_that_is_slow_is_taken_as_it_comes(links: Links) -> None:
    """A socket may hold less than is awaited: whoever waited for all of it would wait for ever."""
    with Loopback(silent={METADATA}) as broker:
        fetcher, connection = _begin_large_answer(broker, links)
        for _ in range(2):
            before = fetcher.channel.missing
            connection.sendall(bytes(1000))
            while fetcher.channel.missing != before - 1000:
                assert links.select(LONG_S)
                assert not list(fetcher.channel.receive())
                links.watch(fetcher)


class _Flow:
    """One partition whose batches are sent, one a request. The first is answered, so a size of answers is known."""

    def __init__(self, batches: int = 0) -> None:
        self.roster: Roster
        self.cursor: Cursor
        self.roster, self.cursor = roster_of(Rules())
        settle(self.roster, self.cursor)
        self.appender: Appender
        self.channel: SilentChannel
        self.appender, self.channel = appender_at(A)
        self._next = self._answered = 0
        self.fetch()
        self.answer()
        for _ in range(batches):
            self.fetch()

    def restart(self) -> None:
        """From the beginning of the log again."""
        self._next = self._answered = 0

    def fetch(self, *, after: int = 0) -> None:
        """One more batch; `after` so many offsets without a record."""
        self._next += after
        self.roster.take_fetched(self.cursor, fetched(self._next), 0.0)
        self._next += 1
        self.appender.offer(self.cursor)
        self.appender.send()

    def answer(self) -> None:
        for event in self.appender.take(self.channel.pending.popleft().tag, memoryview(_answer(self._answered))):
            self.roster.take_event(self.appender, event, 0.0)
        self._answered += 1


def _answers_awaited(appender: Appender) -> int:
    """By their bytes: the last one counts as soon as it begins."""
    return -(-appender.wakes_at // ANSWER_BYTES)


def test_answers_come_together_where_nothing_waits_for_them() -> None:
    flow = _Flow()
    assert flow.appender.wakes_at == 1
    flow.fetch()
    assert flow.appender.wakes_at == 1
    flow.fetch()
    assert _answers_awaited(flow.appender) == 2
    for _ in range(3):
        flow.fetch()
    assert len(flow.channel.pending) == MOST_UNDER_WAY and _answers_awaited(flow.appender) == MOST_UNDER_WAY


def test_a_broker_has_something_to_do_while_more_waits_to_be_sent() -> None:
    flow = _Flow(MOST_UNDER_WAY + 1)
    assert len(flow.channel.pending) == MOST_UNDER_WAY and _answers_awaited(flow.appender) == 2
    flow.answer()
    assert flow.appender.wakes_at == 1


def test_a_hole_waits_for_no_more_answers_than_its_own() -> None:
    flow = _Flow(3)
    assert flow.appender.wakes_at > 1
    flow.fetch(after=5)
    assert flow.appender.wakes_at == 1


def test_a_session_that_is_renewed_is_not_waited_with() -> None:
    """All that is asked meanwhile waits for it."""
    flow = _Flow(3)
    assert flow.appender.wakes_at > 1
    flow.channel.is_renewing = True
    assert flow.appender.wakes_at == 1


def test_the_first_batch_goes_alone() -> None:
    """A leader that does not know the producer would take the second though it has refused the first."""
    flow = _Flow()
    flow.cursor.lose("why", 0.0)
    settle(flow.roster, flow.cursor)
    flow.restart()
    for _ in range(3):
        flow.fetch()
    assert len(flow.channel.pending) == 1
    flow.answer()
    flow.appender.send()
    assert len(flow.channel.pending) == 2


def test_a_leader_that_may_have_forgotten_us_gets_one_batch_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparkmirror.copy.appender.KNOWN_S", 0.0)
    flow = _Flow(3)
    assert len(flow.channel.pending) == 1


def test_an_unasked_answer_is_not_waited_for(links: Links) -> None:
    with Loopback(silent={METADATA}) as broker:
        fetcher, _ = _begin_large_answer(broker, links)
        fetcher.channel.pending.clear()
        links.watch(fetcher)
        assert fetcher.wakes_at == 1


def test_an_answer_that_leaves_a_batch_out_is_refused() -> None:
    flow = _Flow(1)
    nothing = memoryview(struct.pack(">ii", 0, 0))
    with pytest.raises(ProtocolError, match="0 of 1 batches"):
        flow.appender.take(flow.channel.pending.popleft().tag, nothing)
