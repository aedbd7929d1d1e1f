"""Stretches: what a fetch holds of the records to compare, in pieces that can be walked. Pure.

    fetch      | plain | plain | marker | zstd | plain |
    stretches  |-------0-------|        |--1---|---2---|

Neighbours that are not compressed are one stretch, whatever their number; a compressed batch is one of its own, and is
unpacked only if its bytes are not those of the other side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sparkmirror.batch import rewrite, scan
from sparkmirror.batch.build import decompress_sections, describe_sections, rebuild_legacy
from sparkmirror.batch.compare import POSITION, SECTION, Numbers
from sparkmirror.batch.header import HEADER_BYTES
from sparkmirror.batch.kernel import Bytes, kernel

_CODEC = 0x07
_PRODUCER_AT = 43
NOBODY = -1


class Stretch:
    """Records that wait to be compared. `at`: where the walk is (see `batch.compare`). `codec` 0: unpacked."""

    def __init__(self, data: Bytes, sections: rewrite.Table, producers: Numbers, codec: int = 0) -> None:
        self.data = data if data.flags.writeable else data.copy()  # one kind of array, so one compiled kernel
        self.sections = sections
        self.producers = producers  # of each section
        self.codec = codec
        self.at: Numbers = np.zeros(2, np.int64)
        self.at[POSITION] = sections[0, rewrite.SECTION_START]

    @property
    def first(self) -> int:
        return int(self.sections[0, rewrite.FIRST])

    @property
    def end(self) -> int:
        return int(self.sections[-1, rewrite.FIRST] + self.sections[-1, rewrite.LAST_DELTA]) + 1

    @property
    def is_fresh(self) -> bool:
        return bool(self.at[SECTION] == 0 and self.at[POSITION] == self.sections[0, rewrite.SECTION_START])

    def unpack(self) -> Stretch:
        """Itself, with records that can be walked."""
        if self.codec:
            self.data = decompress_sections(self.codec, self.data, self.sections)
            self.codec = 0
            self.at[POSITION] = self.sections[0, rewrite.SECTION_START]
        return self


def stretches_of(
    data: Bytes,
    position: int,
    *,
    stop_at: int,
    aborted: Sequence[tuple[int, int]] = (),
    skip_producers: Sequence[int] = (),
    only_producer: int | None = None,
) -> tuple[list[Stretch], int]:
    """What a fetch from `position` on holds, and the position after it. `only_producer`: not others' batches."""
    found = scan.scan_batches(data, position, stop_at=stop_at, aborted=aborted, skip_producers=skip_producers)
    producers = _read_producers(data, found.rows)
    if only_producer is not None:
        found.rows[(producers != only_producer) & (found.rows[:, scan.KIND] != scan.LEGACY), scan.KIND] = scan.HOLE
    out = list(_cut(data, found.rows, producers, position, stop_at))
    legacy_end = out[-1].end if out and len(found.rows) and found.rows[-1, scan.KIND] == scan.LEGACY else 0
    return out, max(found.end, legacy_end)


def _cut(data: Bytes, rows: scan.Table, producers: Numbers, position: int, stop_at: int) -> Iterator[Stretch]:
    begin = 0
    kinds, codecs = rows[:, scan.KIND].tolist(), (rows[:, scan.ATTRIBUTES] & _CODEC).tolist()
    while begin < len(rows):
        end = begin + 1
        if kinds[begin] == scan.LEGACY:
            yield from _legacy(data, rows[begin], position, stop_at)
        elif kinds[begin] != scan.HOLE:
            while not codecs[begin] and end < len(rows) and not codecs[end] and kinds[end] in (scan.PASS, scan.REWRITE):
                end += 1
            sections = np.empty((end - begin, rewrite.SECTION_COLUMNS), np.int64)
            describe_sections(rows[begin:end], sections)
            yield Stretch(data, sections, producers[begin:end], codecs[begin])
        begin = end


def _legacy(data: Bytes, row: scan.Table, position: int, stop_at: int) -> Iterator[Stretch]:
    """Messages of formats 0 and 1 as records of format 2, as the copy writes them."""
    messages = data.data[row[scan.START] : row[scan.AFTER]]
    for run, _ in rebuild_legacy(messages, keep_first=position, keep_end=stop_at, limit=scan.NO_LIMIT):
        section = [HEADER_BYTES, len(run.batch), run.first, run.records - 1, run.records, run.base_timestamp]
        sections = np.array([[*section, rewrite.NOT_FIXED]], np.int64)
        yield Stretch(np.frombuffer(run.batch, np.uint8), sections, np.array([NOBODY], np.int64))


@kernel
def _read_producers(data: Bytes, rows: scan.Table) -> Numbers:
    producers = np.full(len(rows), NOBODY, np.int64)
    for i in range(len(rows)):
        if rows[i, scan.KIND] in (scan.PASS, scan.REWRITE):
            producers[i] = scan.big_endian(data, rows[i, scan.START] + _PRODUCER_AT, 8)
    return producers
