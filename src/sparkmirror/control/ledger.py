"""The ledger: takes all receipts and knows how far every partition is, and what stands still."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Collection, Mapping

from sparkmirror.control.discovery import Place
from sparkmirror.control.fact_book import FactBook
from sparkmirror.control.hole_watch import Filling
from sparkmirror.control.log import timestamp
from sparkmirror.copy.facts import RETRIES_EXHAUSTED
from sparkmirror.copy.receipt import COPIED, MAPPED, NOTED, PASSED, SAID, SKIPPED, STOPPED, WAITING, Receipt
from sparkmirror.topology.fact import Fact
from sparkmirror.topology.standing import Standing

RATE_WINDOW_S = 30.0
HALF_AFTER_S = 60.0  # bytes that were copied then weigh half of those that are now
FADE_EVERY_S = 5.0


class Ledger:
    """All flows' receipts and facts. Thread-safe: tasks' connections, queries and the flows' keepers tell it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._books: dict[str, FactBook] = {}
        self._bytes: dict[str, deque[tuple[float, int]]] = {}
        self._traffic: dict[str, dict[Place, float]] = {}
        self._faded_at = time.monotonic()
        self._filled: dict[str, dict[Place, Filling]] = {}
        self._failing: dict[str, dict[Place, float]] = {}  # since when, by the monotonic clock
        self.records = self.rebuilt = self.holes = self.skipped = 0
        self.bytes = 0
        self.rounds = 0

    def take(self, receipts: list[Receipt]) -> dict[str, dict[Place, Standing]]:
        """Note some receipts; by flow, the positions that moved."""
        now = _now()
        with self._lock:
            self._fade(time.monotonic())
            moved: dict[str, dict[Place, Standing]] = {}
            said: dict[tuple[str, Place], Receipt] = {}
            for receipt in receipts:
                place = (receipt.topic, receipt.partition)
                book = self._book(receipt.flow)
                if receipt.kind == NOTED:
                    book.note_tolerated(place, receipt.error, now)
                elif receipt.kind == SKIPPED:
                    book.note_skipped(place, receipt.error, now)
                elif receipt.kind == SAID:
                    book.say(place, receipt.error)
                elif receipt.kind == PASSED:
                    book.note_passed(place, receipt.error)
                elif receipt.kind != MAPPED and (receipt.kind != COPIED or receipt.target_end >= 0):
                    said[receipt.flow, place] = receipt
                if standing := receipt.standing:
                    moved.setdefault(receipt.flow, {})[place] = standing
                self._count(receipt)
                if receipt.kind == WAITING:  # said also if it has passed since
                    book.note_trouble(place, WAITING, receipt.error, now)
            for (flow, place), last in said.items():
                self._note_failing(flow, place, last)
                if last.kind in (STOPPED, WAITING):
                    self._book(flow).note_trouble(place, last.kind, last.error, now)
                else:
                    self._book(flow).note_going_on(place)
            return moved

    def begin_round(self) -> None:
        with self._lock:
            self.rounds += 1

    # -- facts

    def begin_with(self, flow: str, facts: Mapping[Place, Fact]) -> None:
        """What an earlier driver knew."""
        with self._lock:
            self._book(flow).begin_with(facts)

    def note_found(self, flow: str, facts: Mapping[Place, Fact], mirrored: Collection[Place]) -> None:
        """All that the flow's keeper finds, of all that is mirrored."""
        with self._lock:
            self._book(flow).retain(mirrored)
            self._book(flow).note_found(facts, _now())

    def facts(self, flow: str) -> dict[Place, Fact]:
        """The worst fact of each partition; of a topic under partition -1."""
        with self._lock:
            return self._book(flow).worst()

    def take_passed(self, flow: str) -> set[Place]:
        """Partitions that have gone past what was accepted of them, since the last call."""
        with self._lock:
            return self._book(flow).take_passed()

    def troubled(self, flow: str) -> set[Place]:
        """Partitions that stood still when last heard of."""
        with self._lock:
            return self._book(flow).troubled()

    def stopped(self, flow: str) -> set[Place]:
        """Partitions that were tried under this driver and stopped."""
        with self._lock:
            return self._book(flow).stopped()

    def failing(self, flow: str) -> dict[Place, float]:
        """For how many seconds the tries of partitions have failed."""
        with self._lock:
            now = time.monotonic()
            return {place: now - since for place, since in self._failing.get(flow, {}).items()}

    def _note_failing(self, flow: str, place: Place, last: Receipt) -> None:
        failing = self._failing.setdefault(flow, {})
        if last.kind == WAITING or last.error.startswith(RETRIES_EXHAUSTED):
            failing.setdefault(place, time.monotonic())
        else:
            failing.pop(place, None)

    # -- figures

    def traffic(self, flow: str) -> dict[Place, float]:
        """Bytes of each partition, older ones counting less: weights for leases."""
        with self._lock:
            self._fade(time.monotonic())
            return dict(self._traffic.get(flow, {}))

    def filled(self, flow: str) -> dict[Place, Filling]:
        """What was filled of each partition's holes, since the driver began."""
        with self._lock:
            return dict(self._filled.get(flow, {}))

    def rate(self, flow: str) -> float:
        """Bytes a second over the last half minute."""
        with self._lock:
            recent = self._bytes.get(flow, deque())
            since = time.monotonic() - RATE_WINDOW_S
            while recent and recent[0][0] < since:
                recent.popleft()
            return sum(size for _, size in recent) / RATE_WINDOW_S

    def _book(self, flow: str) -> FactBook:
        return self._books.setdefault(flow, FactBook(flow))

    def _count(self, receipt: Receipt) -> None:
        self.records += receipt.records
        self.rebuilt += receipt.rebuilt
        self.holes += receipt.holes
        self.skipped += receipt.skipped
        self.bytes += receipt.bytes
        self._bytes.setdefault(receipt.flow, deque()).append((time.monotonic(), receipt.bytes))
        traffic = self._traffic.setdefault(receipt.flow, {})
        place = (receipt.topic, receipt.partition)
        traffic[place] = traffic.get(place, 0.0) + receipt.bytes
        if receipt.fill_ms:
            filled = self._filled.setdefault(receipt.flow, {})
            filled[place] = filled.get(place, Filling()).plus(receipt.holes, receipt.fill_ms, time.monotonic())

    def _fade(self, now: float) -> None:
        """By time, however long rounds last."""
        if now - self._faded_at < FADE_EVERY_S:
            return
        left = 0.5 ** ((now - self._faded_at) / HALF_AFTER_S)
        self._faded_at = now
        for flow, weights in self._traffic.items():
            self._traffic[flow] = {place: weight * left for place, weight in weights.items() if weight * left >= 1}


def _now() -> str:
    return timestamp(time.time())
