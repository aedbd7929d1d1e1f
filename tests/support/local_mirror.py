"""A flow as the mirror runs it, but for Spark: keeper, ledger and status topic, its leases one after the other here."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from sparkmirror.control.discovery import Landscape
from sparkmirror.control.flow import FlowKeeper
from sparkmirror.control.ledger import Ledger
from sparkmirror.copy.copy import Copy
from sparkmirror.copy.lease import Lease
from sparkmirror.copy.receipt import Receipt
from sparkmirror.topology.fact import Fact
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage
from tests.support.command import run_command
from tests.support.flows import only_flow
from tests.support.grantor import LocalGrantor
from tests.support.kafka_client import await_condition, end_offsets

MOST_ROUNDS = 10

Place = tuple[str, int]


class LocalMirror:
    def __init__(self, file: Path) -> None:
        self.file = file
        self.flow = only_flow(file)
        self.other_way = Storage.named(self.flow.target.alias)
        self.ledger = Ledger()
        self.keeper = FlowKeeper(self.flow, self.ledger, lambda: None)
        self.hints: dict[Place, Standing] = {}
        self.receipts: list[Receipt] = []  # of the round that runs, or of the last one
        self._rounds = 0

    def await_topics(self, partitions: int) -> None:
        """Until so many partitions can be copied."""

        def is_seen() -> bool:
            view = self.keeper.view
            return view.leads and view.landscape is not None and len(view.landscape.partitions) == partitions

        await_condition(is_seen, f"{partitions} partitions", 30)

    def plan(self, seconds: float, **rules: object) -> Lease:
        """One lease of all partitions. `rules` stand in for the flow's own."""
        self._rounds += 1
        leases: list[Lease] = []

        def is_planned() -> bool:  # not while the keeper reads progress anew
            leases[:] = self.keeper.plan(
                1,
                self._rounds,
                hints=self.hints,
                weights={},
                troubled=self.ledger.troubled(self.flow.name),
                stop_at=None,
            )
            return bool(leases)

        await_condition(is_planned, "a lease", 30)
        lease = leases[0]
        return replace(lease, seconds=seconds, rules=replace(lease.rules, **rules))  # type: ignore[arg-type]

    def round(self, seconds: float = 1.2, *, heard: bool = True, **rules: object) -> list[Receipt]:
        """Copy for so long; what the ledger, the progress topic and the status topic are told then.

        Not `heard`: nobody is told anything, as when a task dies.
        """
        receipts = self.receipts = []
        with LocalGrantor() as self._grantor:
            lease = self.plan(seconds, **rules)
            copy = Copy(lease, self._grantor, self._note)
            try:
                for some in copy.run(self._grantor.turn(lease, seconds)):
                    receipts += some
            finally:
                copy.close()
        if not heard:
            self.hints.clear()
            return receipts
        self.hints |= self._grantor.standings
        self.keeper.note_progress(self.ledger.take(receipts).get(self.flow.name, {}), receipts)
        self.keeper.write_progress()
        self.keeper.write_facts()
        return receipts

    def catch_up(self, *topics: str) -> None:
        """Rounds until all stand at the source's ends as they are now."""
        ends = {(t, p): end for t in topics for p, end in end_offsets(self._source, t).items()}
        for _ in range(MOST_ROUNDS):
            self.round(0.7)
            behind = {k: end for k, end in ends.items() if k not in self.hints or self.hints[k].next_offset < end}
            if not behind:
                return
        raise AssertionError(f"not copied within {MOST_ROUNDS} rounds: {behind}, {self.facts()}")

    @property
    def _source(self) -> str:
        return ",".join(self.keeper.source.address.bootstrap)

    def recall(self) -> None:
        """End a round that runs on another thread."""
        self._grantor.recall()

    def _note(self, place: Place, standing: Standing) -> None:
        self.keeper.write_standing(place, standing)
        self._grantor.note(place, standing)

    def facts(self) -> Mapping[Place, Fact]:
        return self.ledger.facts(self.flow.name)

    def status(self) -> str:
        """What `sparkmirror status FILE` prints."""
        return run_command("status", str(self.file)).stdout


@contextlib.contextmanager
def mirroring(file: Path) -> Iterator[LocalMirror]:
    mirror = LocalMirror(file)
    mirror.keeper.start()
    mirror.keeper.lead.allow()
    try:
        yield mirror
    finally:
        mirror.keeper.stop()


def await_looks(mirror: LocalMirror, count: int = 3) -> None:
    """Whatever a look does is done when the next one but one has begun."""
    for _ in range(count):
        looked = mirror.keeper.view.landscape
        await_condition(lambda before=looked: mirror.keeper.view.landscape is not before, "another look")  # type: ignore[misc]


@contextlib.contextmanager
def no_looks(mirror: LocalMirror, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As with a long refresh.topics.interval.seconds: leases run, and nobody looks at topics meanwhile."""
    real, may_look, waits = mirror.keeper._discovery.look, threading.Event(), threading.Event()

    def look() -> Landscape:
        waits.set()
        assert may_look.wait(30)
        return real()

    monkeypatch.setattr(mirror.keeper._discovery, "look", look)
    assert waits.wait(30)
    yield
    may_look.set()
