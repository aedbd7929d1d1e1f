"""Many requests of one kind to one broker.

A broker takes the next request of a connection when it has answered the last one. So it works on several at a time
only if they come over several connections; that more than one is under way on each keeps it from waiting for us.
Over a single one each commit waits by itself for the coordinator, which gathers what it stores, and for followers.
"""

from __future__ import annotations

import contextlib
import itertools
import selectors
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from sparkmirror.errors import ConnectionLostError
from sparkmirror.net.channel import REQUEST_TIMEOUT_S, Channel
from sparkmirror.net.cluster import Cluster, pick_version

MOST_CONNECTIONS = 32
WORTH_A_CONNECTION = 32  # requests
UNDER_WAY = 2  # on each
_LOOK_S = 1.0

Item = TypeVar("Item")
Send = Callable[[Channel, Item], None]


def exchange(
    cluster: Cluster,
    node: int,
    api_key: int,
    versions: Sequence[int],
    split: Callable[[int], Sequence[Item]],
    encode: Callable[[int, Item], bytes],
) -> Iterator[tuple[int, Item, memoryview]]:
    """A request for each item that `split` makes of the work in the broker's version; version, item and answer.

    A connection that is lost ends it all, with `ConnectionLostError`.
    """
    with contextlib.ExitStack() as stack:

        def connect() -> Channel:
            return stack.enter_context(contextlib.closing(cluster.connect(node)))

        first = connect()
        version, flexible = pick_version(first, api_key, versions)
        items = split(version)

        def send(channel: Channel, item: Item) -> None:
            body = encode(version, item)
            channel.send(api_key, version, [body], flexible=flexible, tag=item, timeout_s=REQUEST_TIMEOUT_S)

        channels = [first]
        with contextlib.suppress(ConnectionLostError):  # a broker may allow only so many
            while len(channels) < min(MOST_CONNECTIONS, len(items) // WORTH_A_CONNECTION):
                channels.append(connect())
        for item, frame in _drive(channels, iter(items), send):
            yield version, item, frame


def _drive(channels: Sequence[Channel], items: Iterator[Item], send: Send[Item]) -> Iterator[tuple[Item, memoryview]]:
    """Whichever connection has an answer gets the next request."""
    with selectors.DefaultSelector() as selector:
        for channel in channels:
            selector.register(channel, selectors.EVENT_READ, channel)
            _feed(channel, items, send, selector)
        while any(channel.pending for channel in channels):
            for key, _ in selector.select(_LOOK_S):
                for pending, frame in key.data.receive():
                    yield pending.tag, frame
                key.data.flush()
                _feed(key.data, items, send, selector)
            now = time.monotonic()
            for channel in channels:
                if channel.overdue(now):
                    raise ConnectionLostError(f"{channel} did not answer in time")


def _feed(channel: Channel, items: Iterator[Item], send: Send[Item], selector: selectors.BaseSelector) -> None:
    for item in itertools.islice(items, UNDER_WAY - len(channel.pending)):
        send(channel, item)
    events = selectors.EVENT_READ | (selectors.EVENT_WRITE if channel.wants_write else 0)
    if selector.get_key(channel).events != events:
        selector.modify(channel, events, channel)
