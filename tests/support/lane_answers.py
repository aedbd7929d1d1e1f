"""Answers of both sides and our requests in plain Python, in both dialects: a lane's kernels are checked against it."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

Key = str | bytes


def count(number: int, flexible: bool) -> bytes:
    if not flexible:
        return struct.pack(">i", number)
    number, out = number + 1, bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def name(key: Key) -> bytes:
    return struct.pack(">h", len(key)) + key.encode() if isinstance(key, str) else key


@dataclass
class Fetched:
    topic: Key
    partition: int
    records: bytes = b""
    error: int = 0
    high_watermark: int = 1 << 50
    aborted: Sequence[tuple[int, int]] = ()
    preferred: int = -1
    tags: bytes = b"\0"


@dataclass
class FetchAnswer:
    partitions: list[Fetched] = field(default_factory=list)
    throttle_ms: int = 0
    error: int = 0
    session: int = 7
    behind: bytes = b""

    def encode(self, flexible: bool) -> bytes:
        out = struct.pack(">ihi", self.throttle_ms, self.error, self.session)
        topics = list(dict.fromkeys(each.topic for each in self.partitions))
        out += count(len(topics), flexible)
        for topic in topics:
            found = [each for each in self.partitions if each.topic == topic]
            out += name(topic) + count(len(found), flexible)
            for each in found:
                high = each.high_watermark
                out += struct.pack(">ihqqq", each.partition, each.error, high, high, 0)
                out += count(len(each.aborted), flexible)
                out += b"".join(struct.pack(">qq", *pair) + b"\0" * flexible for pair in each.aborted)
                out += struct.pack(">i", each.preferred) + count(len(each.records), flexible) + each.records
                out += each.tags if flexible else b""
            out += b"\0" * flexible
        return out + b"\0" * flexible + self.behind


@dataclass
class Appended:
    topic: Key
    partition: int
    base_offset: int
    error: int = 0
    message: str | None = None


def encode_produced(answers: Sequence[Appended], flexible: bool, throttle_ms: int = 0) -> bytes:
    topics = list(dict.fromkeys(each.topic for each in answers))
    out = count(len(topics), flexible)
    for topic in topics:
        found = [each for each in answers if each.topic == topic]
        out += name(topic) + count(len(found), flexible)
        for each in found:
            out += struct.pack(">ihqqq", each.partition, each.error, each.base_offset, -1, 0) + count(0, flexible)
            text = (each.message or "").encode()
            if flexible:
                out += (b"\0" if each.message is None else count(len(text), True) + text) + b"\0"
            else:
                out += struct.pack(">h", -1 if each.message is None else len(text)) + text
        out += b"\0" * flexible
    return out + struct.pack(">i", throttle_ms) + b"\0" * flexible


class _Reader:
    def __init__(self, data: bytes, flexible: bool) -> None:
        self.data, self.at, self.flexible = data, 0, flexible

    def take(self, size: int) -> bytes:
        found = self.data[self.at : self.at + size]
        assert len(found) == size, "it ends inside a field"
        self.at += size
        return found

    def number(self, layout: str) -> int:
        return int(struct.unpack(">" + layout, self.take(struct.calcsize(layout)))[0])

    def count(self) -> int:
        if not self.flexible:
            return self.number("i")
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value - 1

    def key(self) -> Key:
        return self.take(16) if self.flexible else self.take(self.number("h")).decode()

    def tags(self) -> None:
        assert not self.flexible or self.take(1) == b"\0"


def read_produce(body: bytes, flexible: bool) -> dict[tuple[Key, int], bytes]:
    """The batches of a request; each partition once."""
    reader = _Reader(body, flexible)
    assert reader.take(1 if flexible else 2) == (b"\0" if flexible else b"\xff\xff"), "no transactional id"
    assert reader.number("h") == -1
    reader.number("i")
    found: dict[tuple[Key, int], bytes] = {}
    for _ in range(reader.count()):
        topic = reader.key()
        for _ in range(reader.count()):
            partition = reader.number("i")
            assert (topic, partition) not in found
            found[topic, partition] = reader.take(reader.count())
            reader.tags()
        reader.tags()
    reader.tags()
    assert reader.at == len(body)
    return found


class Wish(NamedTuple):
    leader_epoch: int
    offset: int
    last_epoch: int
    most_bytes: int


def read_wishes(body: bytes, flexible: bool) -> dict[tuple[Key, int], Wish]:
    """What a fetch asks for, behind its head."""
    reader = _Reader(body, flexible)
    found: dict[tuple[Key, int], Wish] = {}
    for _ in range(reader.count()):
        topic = reader.key()
        for _ in range(reader.count()):
            partition, leader_epoch, offset = reader.number("i"), reader.number("i"), reader.number("q")
            last_epoch = reader.number("i") if flexible else -1
            assert reader.number("q") == -1
            found[topic, partition] = Wish(leader_epoch, offset, last_epoch, reader.number("i"))
            reader.tags()
        reader.tags()
    assert reader.count() == 0, "nothing is forgotten"
    assert (reader.take(1) if flexible else reader.take(2)) == (b"\1" if flexible else b"\0\0"), "no rack"
    reader.tags()
    assert reader.at == len(body)
    return found
