"""Progress is written in Connect's own bytes and read back, whoever wrote it."""

from __future__ import annotations

import pytest

from sparkmirror.offsets.progress import encode_key, encode_value, parse_record
from sparkmirror.topology.standing import Standing


def test_the_key_is_connects_to_the_byte() -> None:
    assert encode_key("a", "t", 0) == b'["MirrorSourceConnector",{"cluster":"a","partition":0,"topic":"t"}]'


def test_the_offset_is_the_last_replicated_one() -> None:
    assert encode_value(Standing(43, 42, 43)).startswith(b'{"offset":42,')


def test_an_offset_alone_is_written_as_connect_writes_it() -> None:
    assert encode_value(Standing(43)) == b'{"offset":42}'


def test_our_record_is_read_back() -> None:
    progress = Standing(43, 42, 43, 7, 5, "why", "source-id", "target-id")
    assert parse_record(encode_key("a", "t", 3), encode_value(progress), "a") == (("t", 3), progress)


def test_a_sinks_record_is_read_back() -> None:
    progress = Standing(43, 42, 99, translated="rows", batch=7, batch_first=40, query="q")
    assert parse_record(encode_key("s", "t", 3), encode_value(progress), "s") == (("t", 3), progress)


def test_connects_record_has_no_sequence() -> None:
    assert parse_record(encode_key("a", "t", 3), b'{"offset":42}', "a") == (("t", 3), Standing(43, -1, -1))


def test_a_tombstone_removes() -> None:
    assert parse_record(encode_key("a", "t", 3), None, "a") == (("t", 3), None)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b'["MirrorHeartbeatConnector",{"sourceClusterAlias":"a","targetClusterAlias":"b"}]', b'{"offset":0}'),
        (encode_key("other", "t", 0), b'{"offset":0}'),
        (b"not json", b"{}"),
        (None, b"{}"),
        (encode_key("a", "t", 0), b"[]"),
        (encode_key("a", "t", 0), b"{}"),
        (b"[1]", b"{}"),
    ],
)
def test_what_is_not_ours_is_passed_over(key: bytes | None, value: bytes) -> None:
    assert parse_record(key, value, "a") is None
