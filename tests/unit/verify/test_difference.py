"""How differences are said."""

from __future__ import annotations

from sparkmirror.verify.difference import changed, show_bytes
from sparkmirror.verify.side import SeenRecord
from tests.support.records import Record, encode_varint


def seen(record: Record) -> SeenRecord:
    content = b""
    for part in (record.key, record.value):
        content += encode_varint(-1) if part is None else encode_varint(len(part)) + part
    content += encode_varint(len(record.headers))
    for name, value in record.headers:
        content += encode_varint(len(name)) + name
        content += encode_varint(-1) if value is None else encode_varint(len(value)) + value
    return SeenRecord(record.offset, record.timestamp, content)


def test_each_field_that_differs_is_named() -> None:
    left = Record(5, 1000, b"k", None, ((b"h", b"1"), (b"i", b"2")))
    right = Record(9, 1001, b"k", b"v", ((b"h", b"1"), (b"i", None)))
    assert str(changed(seen(left), seen(right))) == (
        "source offset 5, target offset 9: changed; value null became 'v'; timestamp 1000 became 1001; "
        "header 1 'i' '2' became null"
    )


def test_long_values_are_shown_from_shortly_before_where_they_differ() -> None:
    left, right = (Record(0, 0, None, bytes(500) + last) for last in (b"left", b"right"))
    (field,) = changed(seen(left), seen(right)).fields
    assert field.source.startswith("...[480]") and field.source.endswith("left'")
    assert field.target.endswith("right'")


def test_nothing_that_a_record_holds_reaches_a_terminal_as_it_is() -> None:
    assert show_bytes(b"\x1b[2J\n\x00\xff") == r"'\x1b[2J\n\x00\xff'"
    assert show_bytes(b"x" * 50) == f"'{'x' * 40}'... (50 bytes)"
