"""The connections of a lease: a fetcher a source broker, an appender a target broker, a selector over all of them.

To wake up costs more than to take an answer. Where nothing waits for the answers to appends, several are awaited
together, and of a large answer the rest of it; both for some milliseconds at most.
"""

from __future__ import annotations

import contextlib
import math
import selectors
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from sparkmirror.copy.appender import Appender, Fills
from sparkmirror.copy.fetcher import Fetcher
from sparkmirror.copy.lease import Lease
from sparkmirror.copy.scout import Connections
from sparkmirror.errors import ConnectionLostError
from sparkmirror.net.channel import Channel, Pending

ANSWER_WAITS_S = 0.005

Side = Fetcher | Appender


class _Wait(NamedTuple):
    """For how long the answer to the oldest request may wait for others, or for the rest of itself."""

    oldest: Pending
    until: float


class Links:
    """`fill_slowly`: how holes are filled where markers may not be written."""

    def __init__(self, lease: Lease, fill_slowly: Callable[[Fills], None] | None) -> None:
        self.fetchers: dict[int, Fetcher] = {}
        self.appenders: dict[int, Appender] = {}
        self._lease = lease
        self._fill_slowly = fill_slowly
        self._selector = selectors.DefaultSelector()
        self._gathering: dict[Side, _Wait] = {}

    @property
    def sides(self) -> list[Side]:
        return [*self.fetchers.values(), *self.appenders.values()]

    @property
    def nodes(self) -> tuple[set[int], set[int]]:
        """Brokers of the source and of the target that are connected."""
        return set(self.fetchers), set(self.appenders)

    def listen(self, what: Any, name: object) -> None:
        """To something else that may become readable."""
        self._selector.register(what, selectors.EVENT_READ, name)

    def ignore(self, what: Any) -> None:
        self._selector.unregister(what)

    def has(self, side: Side) -> bool:
        return self.fetchers.get(side.node) is side or self.appenders.get(side.node) is side

    def fileno(self) -> int:
        """Readable when somebody has something."""
        return self._selector.fileno()

    def lend(self, sides: Iterable[Side]) -> None:
        """Somebody else waits for them."""
        for side in sides:
            self._gathering.pop(side, None)
            self._selector.unregister(side.channel)

    def take_back(self, sides: Iterable[Side]) -> None:
        for side in sides:
            self._selector.register(side.channel, selectors.EVENT_READ, side)
            self.watch(side)

    def select(self, timeout_s: float) -> list[tuple[Any, int]]:
        """Sides, and names of what is listened to, that are ready; with the selector's events."""
        if not self._gathering:
            return [(key.data, events) for key, events in self._selector.select(timeout_s)]
        first = min(wait.until for wait in self._gathering.values())
        found = self._selector.select(min(timeout_s, max(0.0, first - time.monotonic())))
        ready = {key.data: events for key, events in found}
        now = time.monotonic()
        for side, wait in self._gathering.items():
            if wait.until <= now:
                ready[side] = ready.get(side, 0) | selectors.EVENT_READ
        return list(ready.items())

    def watch(self, side: Side) -> None:
        """Wait for room to write only while something waits to be written, and for as much as can wait."""
        self._gather(side)
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if side.channel.wants_write else 0)
        if self._selector.get_key(side.channel).events != events:
            self._selector.modify(side.channel, events, side)

    def _gather(self, side: Side) -> None:
        """The time runs for one answer. When it is over and the answer was not there, its first byte wakes us up."""
        wakes_at = side.wakes_at
        if wakes_at == 1:
            self._gathering.pop(side, None)
        else:
            now, wait = time.monotonic(), self._gathering.get(side)
            if wait is None or wait.oldest is not side.channel.pending[0]:
                wait = _Wait(side.channel.pending[0], now + ANSWER_WAITS_S)
            elif wait.until <= now:
                wait = wait._replace(until=math.inf)
            self._gathering[side] = wait
            wakes_at = wakes_at if wait.until < math.inf else 1
        side.channel.wake_at(wakes_at)

    def adopt(self, connections: Connections) -> None:
        """One a broker: others are closed."""
        for node, channel in connections.source.items():
            if node in self.fetchers:
                channel.close()
            else:
                rules = self._lease.rules
                self._add(self.fetchers, Fetcher(node, channel, rules.isolation, rules.bounds))
        for node, channel in connections.target.items():
            if node in self.appenders:
                channel.close()
            else:
                self._add(self.appenders, self._appender(node, channel))

    def _appender(self, node: int, channel: Channel) -> Appender:
        lease = self._lease
        rules = lease.rules
        return Appender(
            node,
            channel,
            lease.producer_id,
            lease.fence,
            self._fill_slowly,
            rules.bounds.request_bytes,
            keeps_batches=rules.errors.log_content,
        )

    def _add(self, sides: dict[int, Any], side: Side) -> None:
        sides[side.node] = side
        self._selector.register(side.channel, selectors.EVENT_READ, side)

    def drop(self, channel: Channel) -> Side | None:
        """Close a connection that failed; whose it was, if anybody's."""
        side = next((s for s in self.sides if s.channel is channel), None)
        if side is not None:
            self._selector.unregister(channel)
            self._gathering.pop(side, None)
            channel.close()
            del (self.fetchers if isinstance(side, Fetcher) else self.appenders)[side.node]
        return side

    def close(self) -> None:
        for side in self.sides:
            with contextlib.suppress(ConnectionLostError):
                side.leave()
        self._selector.close()
