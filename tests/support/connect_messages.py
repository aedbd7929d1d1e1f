"""What workers of Kafka Connect send to their group, written field by field: tests/long/test_rival_in_connect.py shows
that real ones say the same.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from sparkmirror.protocol.wire import encode_string

Tasks = Mapping[str, Sequence[int]]
COMPATIBLE = 1


def assignment(
    tasks: Tasks, *, config_offset: int = 0, revoked: Tasks | None = None, delay_ms: int = 0, version: int = COMPATIBLE
) -> bytes:
    """Task -1 is the connector itself."""
    head = struct.pack(">hh", version, 0) + encode_string("leader") + encode_string("http://h:8083/")
    end = b"" if version < COMPATIBLE else _elements(revoked or {}) + struct.pack(">i", delay_ms)
    return head + struct.pack(">q", config_offset) + _elements(tasks) + end


def metadata(held: bytes | None = None, *, config_offset: int = 0, version: int = COMPATIBLE) -> bytes:
    """`held`: the assignment that the worker had when it joined."""
    head = struct.pack(">h", version) + encode_string("http://h:8083/") + struct.pack(">q", config_offset)
    if version < COMPATIBLE:
        return head
    return head + (struct.pack(">i", -1) if held is None else struct.pack(">i", len(held)) + held)


def _elements(tasks: Tasks) -> bytes:
    return struct.pack(">i", len(tasks)) + b"".join(
        encode_string(name) + struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)
        for name, numbers in tasks.items()
    )
