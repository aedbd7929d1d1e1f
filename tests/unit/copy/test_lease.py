"""A lease is the same after its way to the executor."""

from __future__ import annotations

from sparkmirror.copy.lease import Bounds, Errors, Lease, LeasePartition, Rules
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.client import Client
from sparkmirror.topology.standing import Standing


def test_a_lease_survives_its_way_through_json() -> None:
    lease = Lease(
        lease_id="7.A->B.0",
        flow="A->B",
        source=ClusterAddress(alias="A", bootstrap=("a:1", "b:2")),
        target=ClusterAddress(alias="B", bootstrap=("c:3",), client=Client(client_id="me", idle_s=1.5)),
        producer_id=4711,
        fence=12,
        seconds=10.0,
        partitions=(
            LeasePartition(topic="t", partition=0, remote="A.t", hint=Standing(5, 4, 5, translated="why"), stop_at=9),
            LeasePartition(topic="with-dashes-1", partition=1, remote="A.with-dashes-1"),
        ),
        rules=Rules(
            on_gap="continue",
            bytes_per_second=5.0,
            skip_producers=(3,),
            begin=3600.0,
            bounds=Bounds(held_records=500),
            errors=Errors(tolerate=True),
        ),
    )
    assert Lease.from_json(lease.to_json()) == lease
