"""Transactions that stay open at the source and hold the copy up.

    source log   | committed | open transaction | committed, but not readable yet |
                             ^ last stable offset                                 ^ high watermark

A copy of committed records ends at the last stable offset. One that stands still below the high watermark for long is a
fact, with the producer that holds it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sparkmirror.control.discovery import Place
from sparkmirror.control.lag import Ends
from sparkmirror.control.log import parse_timestamp, timestamp
from sparkmirror.control.topic_facts import OPEN_TRANSACTION
from sparkmirror.copy.receipt import WAITING
from sparkmirror.errors import SparkmirrorError
from sparkmirror.net.cluster import Cluster, Leader
from sparkmirror.net.offsets import OpenTransaction, describe_open_transactions
from sparkmirror.topology.command import abort_transaction
from sparkmirror.topology.fact import Fact

log = logging.getLogger("sparkmirror.flow")


@dataclass(frozen=True, slots=True)
class Stall:
    """A last stable offset that has stood below the high watermark since `began`; `said_s`: for how long, when said."""

    stable: int
    high: int
    began: float
    stood_s: float = 0.0
    said_s: float = 0.0


class StallWatch:
    """Which partitions stand still, by one look after the other. Pure: it is told the time."""

    def __init__(self, warn_s: float) -> None:
        self._warn_s = warn_s
        self._stalls: dict[Place, Stall] = {}
        self._believed: dict[Place, float] = {}

    def believe(self, began: Mapping[Place, float]) -> None:
        """What an earlier driver saw stand still counts from then, if it still does."""
        self._believed = dict(began)

    def look(self, ends: Mapping[Place, Ends], now: float) -> dict[Place, Stall]:
        """What has to be said (anew): after the first while, and whenever the time has doubled.

        Places that are not in `ends` could not be asked, so there is nothing new of them.
        """
        due: dict[Place, Stall] = {}
        for place, end in ends.items():
            stall = self._follow(place, end, now)
            if stall and stall.stood_s >= max(self._warn_s, 2 * stall.said_s):
                stall = due[place] = replace(stall, said_s=stall.stood_s)
            if stall:
                self._stalls[place] = stall
            else:
                self._stalls.pop(place, None)
        self._believed.clear()
        return due

    def said(self) -> set[Place]:
        """Places that were due and have not moved since."""
        return {place for place, stall in self._stalls.items() if stall.said_s}

    def _follow(self, place: Place, end: Ends, now: float) -> Stall | None:
        before = self._stalls.get(place)
        if end.source >= end.source_high:
            return None
        if before is None or before.stable != end.source:
            before = Stall(end.source, end.source_high, self._believed.get(place, now))
        return replace(before, high=end.source_high, stood_s=now - before.began)


def open_transaction(
    place: Place, stall: Stall, open_now: Sequence[OpenTransaction], servers: Sequence[str] = ()
) -> Fact:
    """`open_now`: the oldest first; it is the one that holds the last stable offset. `servers`: the source's."""
    topic, partition = place
    holder = f"producer id {open_now[0].producer_id}" if open_now else "a producer that the broker does not name"
    abort = abort_transaction(servers, topic, partition, stall.stable)
    return Fact(
        kind=WAITING,
        name=OPEN_TRANSACTION,
        error=f"the source's last stable offset {stall.stable} has stood still for {stall.stood_s:.0f} s below the "
        f"high watermark {stall.high}: {holder} has a transaction open; the copy goes on when that is committed or "
        f"timed out, or aborted: {abort}",
        since=timestamp(stall.began),
    )


class TransactionWatch:
    """Asks the source who holds what stands still, and keeps the facts."""

    def __init__(self, source: Cluster, warn_s: float) -> None:
        self._source = source
        self._watch = StallWatch(warn_s)
        self._facts: dict[Place, Fact] = {}

    def believe(self, facts: Mapping[Place, Fact]) -> None:
        """Facts of an earlier driver."""
        times = {place: parse_timestamp(f.since) for place, f in facts.items() if f.name == OPEN_TRANSACTION}
        self._watch.believe({place: began for place, began in times.items() if began is not None})

    def look(self, ends: Mapping[Place, Ends], leaders: Mapping[Place, Leader], now: float) -> dict[Place, Fact]:
        """The facts that hold now. `leaders` are the source's, of all partitions that are mirrored."""
        due = self._watch.look(ends, now)
        holders = self._ask({place: leaders[place] for place in due if place in leaders})
        for place, stall in due.items():
            self._facts[place] = open_transaction(place, stall, holders.get(place, ()), self._source.address.bootstrap)
        said = self._watch.said()
        self._facts = {place: fact for place, fact in self._facts.items() if place in said and place in leaders}
        return dict(self._facts)

    def _ask(self, leaders: Mapping[Place, Leader]) -> Mapping[Place, list[OpenTransaction]]:
        """Brokers before 2.8 can't say it (KIP-664), others may not want to."""
        try:
            return describe_open_transactions(self._source, leaders) if leaders else {}
        except SparkmirrorError as error:
            log.debug("open transactions are not described: %s", error)
            return {}
