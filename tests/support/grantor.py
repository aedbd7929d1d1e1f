"""Gives a lease to a copy in this process, where the mirror has its desk."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Mapping, Sequence

from sparkmirror.copy.receipt import Receipt
from sparkmirror.topology.standing import Standing

Place = tuple[str, int]


class LocalGrantor:
    """What the copy said of itself, and a voice to end or renew it."""

    def __init__(self) -> None:
        self.standings: dict[Place, Standing] = {}
        self.receipts: list[Receipt] = []
        self._words: deque[float] = deque()
        self._ear, self._bell = socket.socketpair()

    def __enter__(self) -> LocalGrantor:
        return self

    def __exit__(self, *_: object) -> None:
        self._ear.close()
        self._bell.close()

    def renew(self, seconds: float) -> None:
        self._words.append(seconds)
        self._bell.send(b"!")

    def recall(self) -> None:
        self.renew(0.0)

    # -- the copy's side

    def fileno(self) -> int:
        return self._ear.fileno()

    def hear(self) -> float | None:
        if not self._words:
            return None
        self._ear.recv(1)
        return self._words.popleft()

    def tell_receipts(self, receipts: Sequence[Receipt]) -> None:
        self.receipts += receipts

    def tell_done(self, positions: Mapping[Place, Standing]) -> None:
        self.standings |= positions
