"""Reads and sends for a lane whose sockets compiled code can't use: those with TLS, and the others beside them.

    ride -- READ ----> read  --> arrived, answers --> ride ...
         -- UNSENT --> send                       --> ride ...

What could not be sent stays unsent, in order, and belongs to whoever goes on with the channels.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence

from sparkmirror.copy.lane import ride as r
from sparkmirror.copy.lane.carry import Desk
from sparkmirror.errors import ConnectionLostError
from sparkmirror.net.channel import Channel


class Hands:
    """Of one lane. A side of `state.unsent` is a target, or -1 less a source."""

    def __init__(self, sources: Sequence[Channel], targets: Sequence[Channel], state: r.State, desk: Desk) -> None:
        self._sources, self._targets = sources, targets
        self._source_rows, self._target_rows = state.sources.data, state.targets.data
        self._arrived = [row.data for row in state.arrived]
        self._answers = [row.data for row in state.answers]
        self._unsent = state.unsent
        self._out, self._wish = desk.out.data, desk.wish.data

    def read(self) -> bool:
        """All that is there; False: a connection is gone."""
        sources, targets = self._source_rows, self._target_rows
        try:
            for index, channel in enumerate(self._targets):
                if targets[index, r.T_COUNT]:
                    targets[index, r.T_HERE] = _read(channel, self._answers[index], targets[index, r.T_HERE])
            for index, channel in enumerate(self._sources):
                if not sources[index, r.S_HELD_AT]:
                    sources[index, r.S_HERE] = _read(channel, self._arrived[index], sources[index, r.S_HERE])
        except ConnectionLostError:
            return False
        return True

    def send(self, lease_ends: float) -> bool:
        """What a ride has left unsent, appends only while the lease lasts; False: not all of it was."""
        for number, (side, piece) in enumerate(self.find_unsent()):
            sent = 0
            if side < 0 or time.monotonic() < lease_ends:
                with contextlib.suppress(ConnectionLostError):  # who sends the rest meets it, too
                    sent = (self._targets[side] if side >= 0 else self._sources[-1 - side]).send_now(piece)
            if sent < len(piece):
                self._unsent[number, 1] += sent
                left = self._unsent[number:].copy()
                self._unsent[: len(left)], self._unsent[len(left) :, 1] = left, -1
                return False
        return True

    def find_unsent(self) -> Iterator[tuple[int, memoryview]]:
        for side, at, end in self._unsent.tolist():
            if at < 0:
                return
            yield side, (self._wish if side < 0 else self._out)[at:end]


def _read(channel: Channel, buffer: memoryview, here: int) -> int:
    """How many bytes stand in the buffer afterwards."""
    return here + channel.read_now(buffer[here:]) if here < len(buffer) else here
