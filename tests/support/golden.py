"""The records that stand in the batches under tests/golden/batches, as WriteBatches.java wrote them."""

from __future__ import annotations

from pathlib import Path

from tests.support.records import Record

BATCHES = Path(__file__).parents[1] / "golden" / "batches"

FIRST = 1000
TIME = 1_700_000_000_000
APPEND_TIME = 1_800_000_000_000


def few_records() -> list[Record]:
    """Nulls, empty strings, every byte, a timestamp that goes back, and holes between the offsets."""
    return [
        Record(FIRST, TIME, None, b"v0"),
        Record(FIRST + 1, TIME + 1000, b"k1", None),
        Record(FIRST + 4, TIME - 5000, b"", b""),
        Record(FIRST + 5, TIME + 2000, b"k3", b"v3", ((b"h1", b"x"), (b"h2", None), ("ключ".encode(), b""))),
        Record(FIRST + 9, TIME + 3000, b"k4", bytes(range(256))),
    ]


def many_records(first: int = FIRST) -> list[Record]:
    """Enough bytes for several blocks of each codec."""
    return [Record(first + i, TIME + i, b"key-%d" % i, b"value-%d " % i * 100) for i in range(300)]


def golden_batch(name: str) -> memoryview:
    return memoryview((BATCHES / f"{name}.bin").read_bytes())
