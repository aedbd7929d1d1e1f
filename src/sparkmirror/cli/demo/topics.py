"""What the demo writes: three topics that differ in codec, keys, headers and nulls. Pure."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

SOURCE, TARGET = "A", "B"

Header = tuple[str, bytes | None]


@dataclass(frozen=True, slots=True)
class DemoRecord:
    key: bytes | None
    value: bytes | None
    headers: list[Header] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoTopic:
    """`make` turns a running number into a record, so that no two records of a topic are the same."""

    name: str
    partitions: int
    codec: str
    per_second: int
    make: Callable[[int], DemoRecord]

    @property
    def remote(self) -> str:
        """MirrorMaker 2's name for it on the target."""
        return f"{SOURCE}.{self.name}"


# Text that a codec can shrink, but not to nothing: 64 pieces, the same in every run.
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789 "
_random = random.Random(1)
_PIECES = ["".join(_random.choices(_LETTERS, k=600)) for _ in range(64)]


def make_order(number: int) -> DemoRecord:
    """Keyed by customer; headers with a repeated name, an empty and a null value, as Kafka allows."""
    key = f"customer-{number * 7919 % 5000}"
    value = f'{{"order":{number},"customer":"{key}","cents":{number % 99_991},"note":"{_piece(number, 220)}"}}'
    headers: list[Header] = [("trace", b"%016x" % number), ("tag", b"web"), ("tag", b""), ("retry", None)]
    return DemoRecord(key.encode(), value.encode(), headers)


def make_click(number: int) -> DemoRecord:
    value = f'{{"click":{number},"page":"/p/{number % 977}","agent":"{_piece(number, 130)}"}}'
    return DemoRecord(b"visitor-%d" % (number % 20_000), value.encode())


def make_audit(number: int) -> DemoRecord:
    """Never a key; every tenth value is null, with its number in a header so that it stays unique."""
    if number % 10 == 0:
        return DemoRecord(None, None, [("deleted", b"%d" % number)])
    return DemoRecord(None, f"audit {number}: {_piece(number, 560)}".encode())


def _piece(number: int, length: int) -> str:
    return _PIECES[number % len(_PIECES)][:length]


TOPICS = (
    DemoTopic(name="orders", partitions=4, codec="lz4", per_second=4000, make=make_order),
    DemoTopic(name="clicks", partitions=3, codec="zstd", per_second=5000, make=make_click),
    DemoTopic(name="audit", partitions=1, codec="none", per_second=1000, make=make_audit),
)
