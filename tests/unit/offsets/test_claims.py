"""A leader record says who leads, since when, and when it was written; also those of earlier versions."""

from __future__ import annotations

import json

import pytest

from sparkmirror.offsets.claims import Leadership, parse_leadership
from sparkmirror.offsets.internal_topic import InternalRecord


def leader(value: dict[str, object]) -> Leadership | None:
    return parse_leadership(InternalRecord(0, 7, b'{"leader":"A"}', json.dumps(value).encode(), 1_000), "A")


def test_a_leader_is_named_with_host_and_process() -> None:
    found = leader({"driver": "0123456789abcdef", "host": "h", "pid": 12, "since_ms": 500})
    assert found == Leadership(7, "0123456789abcdef", False, written_ms=1_000, since_ms=500, host="h", pid=12)
    assert str(found) == "driver 01234567 on h (pid 12)"


def test_a_record_with_the_driver_alone_is_read() -> None:
    found = leader({"driver": "0123456789abcdef", "released": True})
    assert found == Leadership(7, "0123456789abcdef", True, written_ms=1_000)
    assert str(found) == "driver 01234567"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b'{"claim":"x"}', b'{"producer_id":4000}'),
        (b'{"leader":"other"}', b'{"driver":"x"}'),
        (b'{"leader":"A"}', None),
        (b"x", b"y"),
    ],
)
def test_other_records_say_nothing_of_the_leader(key: bytes, value: bytes | None) -> None:
    assert parse_leadership(InternalRecord(0, 7, key, value, 1_000), "A") is None
