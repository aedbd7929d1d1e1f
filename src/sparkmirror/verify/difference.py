"""What differs, where, and how it is said: short values without control characters. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from sparkmirror.batch.records import split_content, split_headers
from sparkmirror.errors import ProtocolError
from sparkmirror.verify.side import SeenRecord

MISSING = "missing"  # on the target
EXTRA = "extra"  # only on the target
CHANGED = "changed"
SWAPPED = "swapped"  # with the record after it
MOVED = "moved"  # to another offset than the mirror gives it, from here on
SHOWN_BYTES = 40


class Field(NamedTuple):
    """What of a record differs, as both sides have it."""

    name: str
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Difference:
    """At `source` and `target` offsets; None where that side has no such record."""

    kind: str
    source: int | None
    target: int | None
    fields: tuple[Field, ...] = ()

    @property
    def place(self) -> tuple[str, int | None, int | None]:
        """What tells it from others when both logs are read again."""
        return self.kind, self.source, self.target

    def __str__(self) -> str:
        where = f"source offset {_shown(self.source)}, target offset {_shown(self.target)}: {self.kind}"
        return where + "".join(f"; {f.name} {f.source} became {f.target}" for f in self.fields)


def missing(record: SeenRecord) -> Difference:
    return Difference(MISSING, record.offset, None, tuple(Field(n, v, "nothing") for n, v in _parts(record)))


def extra(record: SeenRecord) -> Difference:
    return Difference(EXTRA, None, record.offset, tuple(Field(n, "nothing", v) for n, v in _parts(record)))


def changed(source: SeenRecord, target: SeenRecord) -> Difference:
    return Difference(CHANGED, source.offset, target.offset, changed_fields(source, target))


def swapped(source: SeenRecord, target: SeenRecord) -> Difference:
    return Difference(SWAPPED, source.offset, target.offset, changed_fields(source, target))


def moved(source: SeenRecord, target: SeenRecord, expected: int | None) -> Difference:
    offset = Field("offset", _shown(expected), _shown(target.offset))
    return Difference(MOVED, source.offset, target.offset, (offset,))


def changed_fields(source: SeenRecord, target: SeenRecord) -> tuple[Field, ...]:
    left, right = _values(source), _values(target)
    if left is None or right is None:
        return (Field("content", show_bytes(source.content), show_bytes(target.content)),)
    if target.timestamp is None:
        left.pop("timestamp", None)
    pairs = [(name, left.get(name, _ABSENT), right.get(name, _ABSENT)) for name in left | right]
    return tuple(Field(name, *_show_both(*values)) for name, *values in pairs if values[0] != values[1])


def show_bytes(value: bytes | None, begin: int = 0) -> str:
    """Escaped, from `begin` on, and cut."""
    if value is None:
        return "null"
    shown = repr(value[begin : begin + SHOWN_BYTES])[1:]
    front = f"...[{begin}]" if begin else ""
    more = f"... ({len(value)} bytes)" if len(value) > begin + SHOWN_BYTES else ""
    return front + shown + more


_ABSENT = object()


def _show_both(left: object, right: object) -> tuple[str, str]:
    """Long values from shortly before where they differ."""
    begin = 0
    if isinstance(left, bytes) and isinstance(right, bytes):
        same = next(
            (i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right))
        )
        begin = max(0, same - SHOWN_BYTES // 2) if same >= SHOWN_BYTES else 0
    return _show(left, begin), _show(right, begin)


def _show(value: object, begin: int = 0) -> str:
    if value is _ABSENT:
        return "nothing"
    if isinstance(value, int):
        return str(value)
    return show_bytes(value, begin)  # type: ignore[arg-type]


def _shown(offset: int | None) -> str:
    return "none" if offset is None else str(offset)


def _parts(record: SeenRecord) -> Iterator[tuple[str, str]]:
    values = _values(record) or {"content": record.content}
    for name in ("timestamp", "key", "value", "content"):
        if name in values:
            yield name, _show(values[name])


def _values(record: SeenRecord) -> dict[str, object] | None:
    """None: the content can't be read."""
    try:
        key, value = split_content(record.content)
        headers = split_headers(record.content)
    except ProtocolError:
        return None
    found: dict[str, object] = {"key": key, "value": value}
    if record.timestamp is not None:
        found["timestamp"] = record.timestamp
    for index, (name, content) in enumerate(headers):
        found[f"header {index} {show_bytes(name)}"] = content
    return found
