"""Plays scripts: one lease of the real copy each, between a real broker and one that lies."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from sparkmirror.batch.records import PlainRecord
from sparkmirror.copy import scout
from sparkmirror.copy.copy import Copy
from sparkmirror.copy.lease import Lease, LeasePartition, Rules
from sparkmirror.copy.receipt import COPIED, MAPPED, STOPPED
from sparkmirror.copy.tail import data_batches
from sparkmirror.errors import SparkmirrorError
from sparkmirror.net.client import Client
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.offsets import LATEST, list_offsets
from sparkmirror.topology.standing import Standing
from tests.hostile.proxy import Lie, LyingProxy
from tests.support.grantor import LocalGrantor
from tests.support.leases import address, new_producer_id, plan_lease

SOURCE, TARGET = "source", "target"
SECONDS = 1.2
BEGUN = 30  # offsets
AT_ONCE = 16
# A script's lease may ask so many questions in all: back-off grows to a second, so a busy loop would ask thousands.
MOST_QUESTIONS = 400
LONGEST_S = 12.0
# What the scout says of an error that nobody expected: the name of its class.
_UNEXPECTED = re.compile(r"^\w*(Error|Exception|Interrupt|Iteration): ")

Place = tuple[str, int]
Held = dict[int, list[PlainRecord]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """`side` tells the lies. `stops`: the fact that must be named; None: it goes on, or waits and tries again.

    `copies`: all is copied in spite of it. `begun`: some records were copied before (of a target no hint says so).
    `heals`: an honest lease finishes what the lying one began.
    """

    name: str
    side: str
    lies: Mapping[int, Lie]
    stops: str | None = None
    may_stop: bool = False  # by how far it comes in time
    copies: bool = False
    begun: bool = False
    heals: bool = True
    upon_connect: bytes = b""
    rules: Rules = field(default_factory=Rules)
    questions: int = MOST_QUESTIONS


@dataclass(frozen=True, slots=True)
class Played:
    script: Script
    producer_id: int
    standings: dict[Place, Standing]
    facts: list[tuple[str, str]]  # kind and error
    asked: int
    took_s: float
    unexpected: list[BaseException]

    @property
    def stopped(self) -> set[str]:
        """The facts' names."""
        return {said.partition(":")[0] for kind, said in self.facts if kind == STOPPED}


class WatchedPool(ThreadPoolExecutor):
    """Keeps what a thread of a scout ended with, if nobody expected that."""

    unexpected: ClassVar[list[BaseException]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future = super().submit(fn, *args, **kwargs)
        future.add_done_callback(self._look)
        return future

    def _look(self, future: Future[Any]) -> None:
        error = None if future.cancelled() else future.exception()
        if error is not None and not isinstance(error, SparkmirrorError):
            self.unexpected.append(error)


@dataclass(frozen=True, slots=True)
class Stage:
    """Two real clusters, and one topic on the source whose partitions end at `ends`."""

    source: str
    target: str
    topic: str
    ends: Mapping[int, int]

    def play(self, script: Script, remote: str) -> Played:
        """A lease between a real cluster and one that lies, into a topic of its own."""
        producer_id = new_producer_id(self.target)
        hints = self.copy_honestly(remote, producer_id, {}, up_to=BEGUN) if script.begun else {}
        if script.side == TARGET:
            hints.clear()
        upstream = self.source if script.side == SOURCE else self.target
        with LyingProxy(upstream, dict(script.lies), upon_connect=script.upon_connect) as proxy:
            at_source, at_target = (proxy.server, self.target) if script.side == SOURCE else (self.source, proxy.server)
            lease = self._plan(at_source, at_target, remote, producer_id, hints, script.rules, SECONDS)
            began = time.monotonic()
            with LocalGrantor() as grantor:
                unexpected = run_quietly(_impatient(lease), grantor)
            took_s = time.monotonic() - began
            asked = sum(proxy.asked.values()) + proxy.connections
        facts = [(r.kind, r.error) for r in grantor.receipts if r.kind not in (COPIED, MAPPED)]
        return Played(script, producer_id, grantor.standings, facts, asked, took_s, unexpected)

    def copy_honestly(
        self, remote: str, producer_id: int, hints: Mapping[Place, Standing], *, up_to: int | None = None
    ) -> dict[Place, Standing]:
        lease = self._plan(self.source, self.target, remote, producer_id, hints, Rules(), 20.0, up_to)
        with LocalGrantor() as grantor:
            assert not run_quietly(lease, grantor)
        return grantor.standings

    def _plan(
        self,
        source: str,
        target: str,
        remote: str,
        producer_id: int,
        hints: Mapping[Place, Standing],
        rules: Rules,
        seconds: float,
        up_to: int | None = None,
    ) -> Lease:
        partitions = [
            LeasePartition(
                topic=self.topic, partition=p, remote=remote, stop_at=up_to or end, hint=hints.get((self.topic, p))
            )
            for p, end in self.ends.items()
        ]
        return plan_lease(source, target, producer_id, partitions, rules, seconds)


def run_quietly(lease: Lease, grantor: LocalGrantor) -> list[BaseException]:
    copy = Copy(lease, grantor)
    unexpected: list[BaseException] = []
    try:
        for _ in copy.run(grantor.turn(lease, lease.seconds)):
            pass
    except BaseException as error:
        unexpected.append(error)
    finally:
        copy.close()
    return unexpected


def _impatient(lease: Lease) -> Lease:
    """A broker has a second to answer."""
    client = Client(client_id="test", request_timeout_s=1.0)
    return replace(lease, source=replace(lease.source, client=client), target=replace(lease.target, client=client))


def judge(played: Played, source: Held, target: Held) -> list[str]:
    """What is wrong with how it went; nothing: all is well."""
    script, wrong = played.script, []
    wrong += [f"unexpected {type(error).__name__}: {error}" for error in played.unexpected]
    wrong += [f"unexpected error in {said!r}" for _, said in played.facts if _UNEXPECTED.match(said)]
    if script.stops is not None and script.stops not in played.stopped:
        wrong.append(f"{script.stops} was expected, and said was {played.facts}")
    if script.stops is None and played.stopped and not script.may_stop:
        wrong.append(f"no stop was expected, and said was {played.facts}")
    if played.asked > script.questions:
        wrong.append(f"{played.asked} questions in {played.took_s:.1f} s")
    if played.took_s > LONGEST_S:
        wrong.append(f"took {played.took_s:.1f} s")
    for partition, copied in target.items():
        expected = source[partition]
        if copied != expected[: len(copied)]:
            wrong.append(f"partition {partition}: other records than the source's: {len(copied)}, {copied[:1]}")
        if script.copies and len(copied) < len(expected):
            wrong.append(f"partition {partition}: {len(copied)} of {len(expected)} copied; said was {played.facts}")
    return wrong


def read_records(servers: str, topic: str) -> Held:
    """All records of both partitions, as they stand in the log."""
    found: Held = {}
    with Cluster(address(servers)) as cluster:
        info = cluster.fetch_metadata([topic]).topics[topic]
        for partition, end in list_offsets(cluster, {(topic, p): x for p, x in info.leaders.items()}, LATEST).items():
            batches = data_batches(cluster, info, partition[1], 0, end)
            found[partition[1]] = [record for batch in batches for record in batch.records]
    return found


def watch_scouts(monkeypatch: Any) -> list[BaseException]:
    """What ends threads of scouts from here on."""
    WatchedPool.unexpected = []
    monkeypatch.setattr(scout, "ThreadPoolExecutor", WatchedPool)
    return WatchedPool.unexpected
