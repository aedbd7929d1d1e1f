"""What can be said in the place of an answer: each is a `Lie`, or makes one."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import Any

from awscrt.checksums import crc32c

from tests.hostile.proxy import Answer, Close, Hang, Lie, Said, decode, drip, encode, framed

I16, I32, I64 = struct.Struct(">h"), struct.Struct(">i"), struct.Struct(">q")
MOST_I32, MOST_I64 = 2**31 - 1, 2**63 - 1

# Fields of a batch's header: where they stand, and their layout.
BASE, LENGTH, MAGIC, CRC = (0, I64), (8, I32), (16, struct.Struct(">b")), (17, struct.Struct(">I"))
ATTRIBUTES, LAST_DELTA, PRODUCER, COUNT = (21, I16), (23, I32), (43, I64), (57, I32)
RECORDS_FROM = 61

Field = tuple[int, struct.Struct]


# -- frames


def bytes_instead(data: bytes) -> Lie:
    return lambda _: [data]


def said_size(size: int) -> Lie:
    """A frame that says another size than it has."""
    return lambda answer: [I32.pack(size) + answer.frame[4:]]


def body_instead(body: bytes) -> Lie:
    return lambda answer: [answer.saying(body)]


def of_body(change: Callable[[bytes], bytes]) -> Lie:
    return lambda answer: [answer.saying(change(answer.body))]


def other_correlation(answer: Answer) -> Iterable[Said]:
    return [framed(I32.pack(MOST_I32) + answer.frame[8:])]


def twice(answer: Answer) -> Iterable[Said]:
    return [answer.frame, answer.frame]


def half_then(end: Said) -> Lie:
    return lambda answer: [answer.frame[: len(answer.frame) // 2], end]


def nothing(_: Answer) -> Iterable[Said]:
    return [Hang()]


def hang_up(_: Answer) -> Iterable[Said]:
    return [Close()]


def dripped(pause_s: float) -> Lie:
    return lambda answer: drip(answer.frame, pause_s)


def late(frame_before: bytes) -> Lie:
    """Something unasked in front of the answer."""
    return lambda answer: [frame_before, answer.frame]


# -- when


def from_number(number: int, lie: Lie) -> Lie:
    """The truth before that."""
    return lambda answer: lie(answer) if answer.number >= number else [answer.frame]


# -- fields


def edited(change: Callable[[Any], None]) -> Lie:
    """The real answer, decoded, changed and encoded again."""

    def lie(answer: Answer) -> Iterable[Said]:
        said = decode(answer)
        change(said)
        return [answer.saying(encode(said, answer))]

    return lie


def fetched(change: Callable[[Any], None]) -> Lie:
    """Change each partition that a fetch brings."""

    def change_all(said: Any) -> None:
        for topic in said.responses:
            for partition in topic.partitions:
                change(partition)

    return edited(change_all)


def produced(change: Callable[[Any], None]) -> Lie:
    def change_all(said: Any) -> None:
        for topic in said.responses:
            for partition in topic.partition_responses:
                change(partition)

    return edited(change_all)


def offsets(change: Callable[[Any], None]) -> Lie:
    """Of ListOffsets."""

    def change_all(said: Any) -> None:
        for topic in said.topics:
            for partition in topic.partitions:
                change(partition)

    return edited(change_all)


def setting(**fields: Any) -> Callable[[Any], None]:
    def change(said: Any) -> None:
        for name, value in fields.items():
            setattr(said, name, value)

    return change


# -- records


def records(change: Callable[[bytes], bytes]) -> Lie:
    """Change the records that a fetch brings."""

    def change_partition(partition: Any) -> None:
        if partition.records:
            partition.records = change(bytes(partition.records))

    return fetched(change_partition)


def batches(change: Callable[[bytearray], None], *, sealed: bool = True) -> Lie:
    """Change each batch of them; `sealed`: its checksum is made right again."""

    def change_all(data: bytes) -> bytes:
        return b"".join(_changed(batch, change, sealed) for batch in split(data))

    return records(change_all)


def field(where: Field, value: int | Callable[[int], int]) -> Callable[[bytearray], None]:
    at, layout = where

    def change(batch: bytearray) -> None:
        new = value(layout.unpack_from(batch, at)[0]) if callable(value) else value
        layout.pack_into(batch, at, new)

    return change


def split(data: bytes) -> list[bytes]:
    out, at = [], 0
    while at + RECORDS_FROM <= len(data):
        after = at + 12 + I32.unpack_from(data, at + 8)[0]
        out.append(data[at:after])
        at = after
    return out


def sealed_batch(batch: bytearray) -> bytes:
    CRC[1].pack_into(batch, CRC[0], crc32c(bytes(batch[21:])))
    return bytes(batch)


def _changed(batch: bytes, change: Callable[[bytearray], None], sealed: bool) -> bytes:
    new = bytearray(batch)
    change(new)
    return sealed_batch(new) if sealed else bytes(new)
