"""Gives a lease to a copy in this process, where the mirror has its desk."""

from __future__ import annotations

import socket
import time
from collections import deque
from collections.abc import Collection, Mapping, Sequence

from sparkmirror.copy.grantor import Place, Word
from sparkmirror.copy.lease import Lease
from sparkmirror.copy.receipt import Receipt
from sparkmirror.topology.standing import Standing


class LocalGrantor:
    """What the copy said of itself, and a voice to end or renew it. `standings`: what a successor would be told."""

    def __init__(self) -> None:
        self.standings: dict[Place, Standing] = {}
        self.receipts: list[Receipt] = []
        self.under_way: set[Place] = set()
        self._words: deque[Word] = deque()
        self._ear, self._bell = socket.socketpair()

    def __enter__(self) -> LocalGrantor:
        return self

    def __exit__(self, *_: object) -> None:
        self._ear.close()
        self._bell.close()

    def turn(self, lease: Lease, seconds: float, left: Mapping[Place, Standing] | None = None) -> Word:
        """All of a lease, for so long. `left`: what the lease before said when it ended."""
        known = left or {}
        added = {p.place: known.get(p.place) for p in lease.partitions}
        return Word(time.monotonic() + seconds, added, frozenset(known))

    def renew(self, seconds: float) -> None:
        self.say(Word(time.monotonic() + seconds))

    def recall(self) -> None:
        self.say(Word.end())

    def say(self, word: Word) -> None:
        self._words.append(word)
        self._bell.send(b"!")

    # -- the copy's side

    def fileno(self) -> int:
        return self._ear.fileno()

    def ask(self, load: float | None = None) -> None:
        return

    def hear(self) -> Word | None:
        if not self._words:
            return None
        self._ear.recv(1)
        return self._words.popleft()

    def tell_receipts(self, receipts: Sequence[Receipt]) -> None:
        self.receipts += receipts
        self.standings |= {(r.topic, r.partition): standing for r in receipts if (standing := r.standing)}

    def note(self, place: Place, standing: Standing) -> None:
        self.standings[place] = standing

    def tell_done(self, positions: Mapping[Place, Standing], under_way: Collection[Place] = ()) -> None:
        self.standings |= positions
        self.under_way |= set(under_way)
