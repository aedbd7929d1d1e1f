"""Facts are written under keys that Connect passes over, and read back."""

from __future__ import annotations

import pytest

from sparkmirror.offsets.facts_topic import encode_key, encode_value, parse_record
from sparkmirror.topology.fact import Fact

GAP = Fact(kind="stopped", name="gap", error="offsets 1..2 are gone: ü", since="2026-01-31T10:00:00.000Z")


def test_a_fact_is_read_back() -> None:
    assert parse_record("a", encode_key("a", ("t", 3)), encode_value(GAP)) == (("t", 3), GAP)


def test_a_tombstone_ends_a_fact() -> None:
    assert parse_record("a", encode_key("a", ("t", -1)), None) == (("t", -1), None)


def test_the_key_is_the_same_bytes_each_time_and_none_of_connects() -> None:
    assert encode_key("a", ("t", 0)) == b'{"sparkmirror":"fact","source":"a","topic":"t","partition":0}'
    assert not encode_key("a", ("status-task-", 0)).startswith(b"status-")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"status-connector-MirrorSourceConnector", b'{"state":"RUNNING"}'),
        (None, b"{}"),
        (b"[1]", b"{}"),
        (b'{"sparkmirror":"other","topic":"t","partition":0}', b"{}"),
        (encode_key("a", ("t", 0)), b"[]"),
        (encode_key("a", ("t", 0)), b"{}"),
        (encode_key("a", ("t", 0)), b"\xff"),
        (b"[" * 100_000, b"{}"),
        (b'{"sparkmirror":"fact","source":"a","topic":"t","partition":1e999}', b"{}"),
    ],
)
def test_what_is_not_a_fact_is_passed_over(key: bytes | None, value: bytes) -> None:
    assert parse_record("a", key, value) is None
