"""The ledger: takes the receipts of each round and knows how far every partition is, and what stands still."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from dataclasses import dataclass

from sparkmirror.control.discovery import Place
from sparkmirror.copy.receipt import COPIED, NOTED, STOPPED, WAITING, Receipt
from sparkmirror.topology.standing import Standing

log = logging.getLogger("sparkmirror.ledger")

RATE_WINDOW_S = 30.0


@dataclass(frozen=True, slots=True)
class Fact:
    """Why a partition does not go on. `stopped` holds until its cause is gone; `waiting` passes by itself."""

    kind: str
    error: str


class Ledger:
    """All flows' receipts. Thread-safe: the two queries deliver from two threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._facts: dict[str, dict[Place, Fact]] = {}
        self._notes: dict[str, dict[Place, str]] = {}
        self._bytes: dict[str, deque[tuple[float, int]]] = {}
        self._traffic: dict[str, dict[Place, float]] = {}
        self.records = self.rebuilt = self.holes = 0
        self.bytes = 0
        self.rounds = 0

    def take(self, receipts: list[Receipt]) -> dict[str, dict[Place, Standing]]:
        """Note a round's receipts; by flow, the positions that moved."""
        with self._lock:
            self.rounds += 1
            for flow in {receipt.flow for receipt in receipts}:
                self._fade(flow)
            moved: dict[str, dict[Place, Standing]] = {}
            said: dict[tuple[str, Place], Receipt] = {}
            for receipt in receipts:
                place = (receipt.topic, receipt.partition)
                if receipt.kind == NOTED:
                    self._note(receipt.flow, place, receipt.error)
                elif receipt.kind != COPIED or receipt.target_end >= 0:
                    said[receipt.flow, place] = receipt
                if receipt.target_end >= 0:
                    moved.setdefault(receipt.flow, {})[place] = receipt.standing
                self._count(receipt)
            for (flow, place), last in said.items():
                self._note_fact(flow, place, last)
            return moved

    def notes(self, flow: str) -> dict[Place, str]:
        """The last fact of each partition that a policy tolerated."""
        with self._lock:
            return dict(self._notes.get(flow, {}))

    def facts(self, flow: str) -> dict[Place, Fact]:
        with self._lock:
            return dict(self._facts.get(flow, {}))

    def traffic(self, flow: str) -> dict[Place, float]:
        """Bytes of each partition in the last rounds, older ones counting half of the next: weights for leases."""
        with self._lock:
            return dict(self._traffic.get(flow, {}))

    def rate(self, flow: str) -> float:
        """Bytes a second over the last half minute."""
        with self._lock:
            recent = self._bytes.get(flow, deque())
            since = time.monotonic() - RATE_WINDOW_S
            while recent and recent[0][0] < since:
                recent.popleft()
            return sum(size for _, size in recent) / RATE_WINDOW_S

    def _count(self, receipt: Receipt) -> None:
        self.records += receipt.records
        self.rebuilt += receipt.rebuilt
        self.holes += receipt.holes
        self.bytes += receipt.bytes
        self._bytes.setdefault(receipt.flow, deque()).append((time.monotonic(), receipt.bytes))
        traffic = self._traffic.setdefault(receipt.flow, {})
        place = (receipt.topic, receipt.partition)
        traffic[place] = traffic.get(place, 0.0) + receipt.bytes

    def _fade(self, flow: str) -> None:
        faded = {place: weight / 2 for place, weight in self._traffic.get(flow, {}).items()}
        self._traffic[flow] = {place: weight for place, weight in faded.items() if weight >= 1}

    def _note(self, flow: str, place: Place, error: str) -> None:
        notes = self._notes.setdefault(flow, {})
        if notes.get(place) != error:
            notes[place] = error
            log.warning("flow %s: %s-%d goes on in spite of %s", flow, *place, error)

    def _note_fact(self, flow: str, place: Place, last: Receipt) -> None:
        facts = self._facts.setdefault(flow, {})
        if last.kind not in (STOPPED, WAITING):
            if facts.pop(place, None):
                log.info("flow %s: %s-%d goes on", flow, *place)
            return
        fact = Fact(last.kind, last.error)
        if facts.get(place) != fact:
            facts[place] = fact
            level = logging.ERROR if fact.kind == STOPPED else logging.WARNING
            log.log(level, "flow %s: %s-%d %s: %s", flow, *place, fact.kind, fact.error)
