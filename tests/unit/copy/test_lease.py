"""A lease is the same after its way to the executor."""

from __future__ import annotations

from sparkmirror.copy.lease import Hint, Lease, LeasePartition
from sparkmirror.net.address import ClusterAddress


def test_a_lease_survives_its_way_through_json() -> None:
    lease = Lease(
        lease_id="7.A->B.0",
        flow="A->B",
        source=ClusterAddress(alias="A", bootstrap=("a:1", "b:2")),
        target=ClusterAddress(alias="B", bootstrap=("c:3",), client_id="me"),
        producer_id=4711,
        generation=12,
        seconds=10.0,
        partitions=(
            LeasePartition(topic="t", partition=0, remote="A.t", hint=Hint(5, 4, 5), stop_at=9),
            LeasePartition(topic="ü", partition=1, remote="A.ü", source_topic_id="x"),
        ),
    )
    assert Lease.from_json(lease.to_json()) == lease
