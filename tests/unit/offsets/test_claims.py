"""A leader record says who leads, since when, and when it was written; also those of earlier versions."""

from __future__ import annotations

from sparkmirror.offsets.claims import parse_leadership
from sparkmirror.offsets.internal_topic import InternalRecord

RECORD = InternalRecord(0, 7, b"", b"", 1_000)


def test_a_leader_is_named_with_host_and_process() -> None:
    value = {"driver": "0123456789abcdef", "host": "h", "pid": 12, "since_ms": 500}
    leader = parse_leadership(RECORD, value)
    assert (leader.generation, leader.written_ms, leader.since_ms, leader.released) == (7, 1_000, 500, False)
    assert str(leader) == "driver 01234567 on h (pid 12)"


def test_a_record_with_the_driver_alone_is_read() -> None:
    leader = parse_leadership(RECORD, {"driver": "0123456789abcdef", "released": True})
    assert (leader.released, leader.since_ms, leader.host) == (True, -1, "")
    assert str(leader) == "driver 01234567"
