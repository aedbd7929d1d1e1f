"""Runs the copy as one lease, without Spark: what a task does, in this process, up to the source's ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from sparkmirror.copy.copy import Copy
from sparkmirror.copy.lease import FENCE_STEP, Lease, LeasePartition, Rules
from sparkmirror.copy.receipt import COPIED, MAPPED, Receipt
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.client import Client
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.offsets import LATEST, list_offsets
from sparkmirror.offsets.claims import draw_producer_id
from sparkmirror.topology.standing import Standing
from tests.support.grantor import LocalGrantor

Place = tuple[str, int]


@dataclass
class Copied:
    """What a lease left behind. `noted`: what it wrote down before it appended anything."""

    standings: dict[Place, Standing] = field(default_factory=dict)
    noted: dict[Place, Standing] = field(default_factory=dict)
    receipts: list[Receipt] = field(default_factory=list)

    def total(self, column: str) -> int:
        return sum(getattr(receipt, column) for receipt in self.receipts)

    @property
    def facts(self) -> list[str]:
        return [f"{r.topic}-{r.partition} {r.kind} {r.error}" for r in self.receipts if r.kind not in (COPIED, MAPPED)]


def address(servers: str, alias: str = "A") -> ClusterAddress:
    return ClusterAddress(alias=alias, bootstrap=tuple(servers.split(",")), client=Client(client_id="test"))


def new_producer_id(target: str) -> int:
    with Cluster(address(target)) as cluster:
        return draw_producer_id(cluster)


def ends(servers: str, topic: str, when: int = LATEST, *, committed: bool = True) -> dict[int, int]:
    with Cluster(address(servers)) as cluster:
        info = cluster.fetch_metadata([topic]).topics[topic]
        leaders = {(topic, p): leader for p, leader in info.leaders.items()}
        return {p: offset for (_, p), offset in list_offsets(cluster, leaders, when, committed=committed).items()}


def run_lease(
    source: str,
    target: str,
    topic: str,
    producer_id: int,
    *,
    remote: str | None = None,
    hints: Mapping[Place, Standing] | None = None,
    rules: Rules | None = None,
    seconds: float = 60.0,
    is_ours: bool = False,
    unguarded_wait_s: float = 0.0,
) -> Copied:
    """Copy every partition up to the source's last stable offset as it is now."""
    rules = rules or Rules()
    stops = ends(source, topic, committed=bool(rules.isolation))
    partitions = [
        LeasePartition(
            topic=topic,
            partition=p,
            remote=remote or topic,
            stop_at=stop,
            hint=(hints or {}).get((topic, p)),
            is_ours=is_ours,
        )
        for p, stop in sorted(stops.items())
    ]
    return run_alone(plan_lease(source, target, producer_id, partitions, rules, seconds, unguarded_wait_s))


def follow_lease(
    source: str,
    target: str,
    topic: str,
    producer_id: int,
    *,
    seconds: float,
    rules: Rules | None = None,
    unguarded_wait_s: float = 0.0,
) -> Copied:
    """Copy for so long, with no hint of where it stands."""
    partitions = [LeasePartition(topic=topic, partition=p, remote=topic) for p in sorted(ends(source, topic))]
    return run_alone(plan_lease(source, target, producer_id, partitions, rules or Rules(), seconds, unguarded_wait_s))


def run_alone(lease: Lease, left: Mapping[Place, Standing] | None = None) -> Copied:
    """With nobody who ends or renews it. `left`: what the lease before said when it ended."""
    with LocalGrantor() as grantor:
        return run_copy(lease, grantor, left)


def plan_lease(
    source: str,
    target: str,
    producer_id: int,
    partitions: Sequence[LeasePartition],
    rules: Rules,
    seconds: float,
    unguarded_wait_s: float = 0.0,
) -> Lease:
    return Lease(
        lease_id="0.test.0",
        flow="A->B",
        source=address(source, "A"),
        target=address(target, "B"),
        producer_id=producer_id,
        fence=_next_fence(),
        seconds=seconds,
        partitions=tuple(partitions),
        unguarded_wait_s=unguarded_wait_s,
        rules=rules,
    )


def run_copy(lease: Lease, grantor: LocalGrantor, left: Mapping[Place, Standing] | None = None) -> Copied:
    noted: dict[Place, Standing] = {}

    def note(place: Place, standing: Standing) -> None:
        noted[place] = standing
        grantor.note(place, standing)

    copy = Copy(lease, grantor, note)
    try:
        receipts = [receipt for some in copy.run(grantor.turn(lease, lease.seconds, left)) for receipt in some]
    finally:
        copy.close()
    assert receipts == grantor.receipts
    return Copied(grantor.standings, noted, receipts)


@contextmanager
def copying(lease: Lease, grantor: LocalGrantor | None = None) -> Iterator[LocalGrantor]:
    """Beside the block, and until it ends. A copy that fails is a failure of the test."""
    with grantor or LocalGrantor() as giver:
        failures: list[BaseException] = []

        def run() -> None:
            try:
                run_copy(lease, giver)
            except BaseException as error:
                failures.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield giver
        finally:
            giver.recall()
            thread.join(20)
        assert not thread.is_alive()
        assert not failures, failures


def _next_fence() -> int:
    """Higher than that of every lease before, also of other processes: hundredths of a second."""
    return int(time.time() * 100) % 500_000_000 * FENCE_STEP
