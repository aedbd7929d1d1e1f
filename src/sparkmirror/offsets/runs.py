"""Many runs of a partition as chunks: three columns of numbers. Pure.

In bytes a column is the gaps to the end of the run before, which compresses well.

    bytes of a chunk     first source, first target, end of both (int64 each), runs (int32), zlib(columns of int64)
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sparkmirror.topology.run import Run

CHUNK_RUNS = 1024
_HEAD = struct.Struct(">qqqqi")
SPAN_BYTES = _HEAD.size  # at the beginning of a chunk, all that `parse_span` reads
_COLUMNS = 3
_OFFSETS = 1 << 62  # beyond every offset

_NOTHING = np.zeros(1, np.int64)

Numbers = npt.NDArray[np.int64]


class Span(NamedTuple):
    """What a chunk covers: enough to know whether an offset is to be looked for in it."""

    source: int
    target: int
    source_end: int
    target_end: int


class Chunk:
    """Up to `CHUNK_RUNS` runs in order, as columns."""

    def __init__(self, source: Numbers, target: Numbers, count: Numbers) -> None:
        self.source, self.target, self.count = source, target, count

    @classmethod
    def of(cls, runs: Iterable[Run]) -> Chunk:
        columns = np.array(list(runs), np.int64).reshape(-1, _COLUMNS)
        return cls(columns[:, 0].copy(), columns[:, 1].copy(), columns[:, 2].copy())

    def __len__(self) -> int:
        return len(self.source)

    def runs(self) -> Iterator[Run]:
        yield from map(Run._make, zip(self.source.tolist(), self.target.tolist(), self.count.tolist(), strict=True))

    def to_target(self, source: int) -> int:
        """Where the record of a source offset stands; of an offset without one, where the next record does."""
        return _follow(self.source, self.target, self.count, source)

    def to_source(self, target: int) -> int:
        return _follow(self.target, self.source, self.count, target)


def span_of(chunk: Chunk) -> Span:
    last = int(chunk.count[-1])
    return Span(int(chunk.source[0]), int(chunk.target[0]), int(chunk.source[-1]) + last, int(chunk.target[-1]) + last)


def _follow(here: Numbers, there: Numbers, count: Numbers, offset: int) -> int:
    index = int(np.searchsorted(here, offset, side="right")) - 1
    if index < 0:
        return int(there[0])
    beyond = offset - int(here[index])
    if beyond < count[index]:
        return int(there[index]) + beyond
    return int(there[index + 1]) if index + 1 < len(here) else int(there[index]) + int(count[index])


def encode_chunk(chunk: Chunk) -> bytes:
    span = span_of(chunk)
    gaps = [_gaps(chunk.source, chunk.count), _gaps(chunk.target, chunk.count), chunk.count]
    return _HEAD.pack(*span, len(chunk)) + zlib.compress(np.concatenate(gaps).tobytes(), 1)


def parse_span(value: bytes) -> Span:
    """ValueError: this is no chunk."""
    if len(value) < _HEAD.size:
        raise ValueError("a chunk of the offset map is too short")
    *span, runs = _HEAD.unpack_from(value)
    if not 0 < runs <= CHUNK_RUNS or min(span) < 0 or max(span) > _OFFSETS:
        raise ValueError("a chunk of the offset map says impossible offsets")
    return Span._make(span)


def parse_chunk(value: bytes) -> Chunk:
    """ValueError: this is no chunk."""
    span, runs = parse_span(value), _HEAD.unpack_from(value)[-1]
    size = 8 * _COLUMNS * runs
    unpacking = zlib.decompressobj()
    try:
        data = unpacking.decompress(value[_HEAD.size :], size)
    except zlib.error as error:
        raise ValueError(f"a chunk of the offset map can't be read: {error}") from error
    if len(data) != size or unpacking.unconsumed_tail:
        raise ValueError("a chunk of the offset map has another size than it says")
    gaps = np.frombuffer(data, np.int64).reshape(_COLUMNS, runs)
    if gaps.min() < 0 or gaps[2].min() < 1 or float(gaps.sum(dtype=np.float64)) > _OFFSETS:
        raise ValueError("a chunk of the offset map says impossible offsets")
    count = gaps[2].copy()
    chunk = Chunk(_places(gaps[0], count, span.source), _places(gaps[1], count, span.target), count)
    if span_of(chunk) != span:
        raise ValueError("a chunk of the offset map contradicts itself")
    return chunk


def _gaps(first: Numbers, count: Numbers) -> Numbers:
    """How far each run begins behind the end of the one before."""
    return np.concatenate([_NOTHING, first[1:] - first[:-1] - count[:-1]])


def _places(gaps: Numbers, count: Numbers, first: int) -> Numbers:
    return np.asarray(first + np.cumsum(gaps) + np.concatenate([_NOTHING, np.cumsum(count[:-1])]), np.int64)
