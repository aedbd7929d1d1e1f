"""What a worker of Kafka Connect says to its group, as DescribeGroups tells it: what it held when it joined (a member's
metadata), and what it was given then (its assignment).

metadata     INT16 version, STRING url, INT64 config offset, from version 1 on BYTES: the assignment that it held
assignment   INT16 version, INT16 error, STRING leader, STRING url, INT64 config offset, ARRAY assigned,
             from version 1 on ARRAY revoked, INT32 delay
an element   STRING connector, ARRAY of INT32 task; task -1 is the connector itself

With version 0 an assignment is all that the worker holds. From version 1 on (KIP-415) it is what comes to what it held;
what is revoked it still runs until it joins again, which it does at once. So it holds what either of them says.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sparkmirror.errors import ProtocolError
from sparkmirror.protocol.wire import Reader

PROTOCOL_TYPE = "connect"  # of their group
_INCREMENTAL = 1
_I32 = struct.Struct(">i")


@dataclass(slots=True)
class Workers:
    """What the workers of a group hold together. `connectors`: all names, also without a task; `tasks` by connector.

    `config_offset`: the topic of their configurations was as long at least. `are_moving`: something was revoked, or is
    kept back until a worker that went returns or a while is over; then they join again.
    """

    connectors: set[str] = field(default_factory=set)
    tasks: dict[str, set[int]] = field(default_factory=dict)
    config_offset: int = 0
    are_moving: bool = False


def parse_workers(members: Iterable[tuple[bytes, bytes]]) -> Workers:
    """`members`: metadata and assignment of each."""
    workers = Workers()
    for metadata, assignment in members:
        reader, version = _open(metadata)
        reader.string()  # url
        workers.config_offset = max(workers.config_offset, reader.int64())
        if version >= _INCREMENTAL:
            _note_assignment(workers, reader.records())
        workers.are_moving |= _note_assignment(workers, assignment)
    return workers


def _note_assignment(workers: Workers, data: bytes | memoryview) -> bool:
    """Whether more will come."""
    if not data:
        return False
    reader, version = _open(data)
    reader.int16()  # error
    for _ in range(2):  # leader, url
        reader.string()
    workers.config_offset = max(workers.config_offset, reader.int64())
    for connector, tasks in _read_elements(reader):
        workers.connectors.add(connector)
        if tasks:
            workers.tasks.setdefault(connector, set()).update(tasks)
    if version < _INCREMENTAL:
        return False
    revoked = list(_read_elements(reader))
    return reader.int32() > 0 or bool(revoked)


def _read_elements(reader: Reader) -> Iterator[tuple[str, set[int]]]:
    for _ in range(reader.array()):
        connector = reader.string() or ""
        numbers = _I32.iter_unpack(reader.take(_I32.size * reader.array()))
        yield connector, {number for (number,) in numbers if number >= 0}


def _open(data: bytes | memoryview) -> tuple[Reader, int]:
    """Past the version. Newer ones add to the end of what is known, if they keep to what Connect itself expects."""
    reader = Reader(memoryview(data), flexible=False)
    version = reader.int16()
    if version < 0:
        raise ProtocolError(f"Connect's protocol has no version {version}")
    return reader, version
