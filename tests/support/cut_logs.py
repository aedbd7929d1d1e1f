"""A broker whose logs are changed while it is down: ends that are lost, batches that were compacted to nothing."""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping
from pathlib import Path

from awscrt.checksums import crc32c

from sparkmirror.batch.header import CRC_AT, CRC_FROM, HEADER_BYTES, LENGTH_FROM, split_batches
from sparkmirror.embedded.broker import Broker


def cut_logs(broker: Broker, ends: Mapping[str, int], emptied: Collection[str] = ()) -> None:
    """Restart the broker. Partition 0 of each topic ends at the offset given then, at a batch's edge.

    Of those that are `emptied`, the last batch holds no record any more, as the cleaner leaves a producer's last one.
    """
    broker.kill()
    for topic, end in ends.items():
        _cut(broker.data_path / f"{topic}-0", end)
    for topic in emptied:
        _empty_last(broker.data_path / f"{topic}-0")
    broker.start()
    broker.wait_ready()


def _cut(folder: Path, end: int) -> None:
    _forget(folder)
    for segment in folder.glob("*.log"):
        if int(segment.stem) >= end:
            segment.unlink()
        else:
            _cut_segment(segment, end)


def _cut_segment(segment: Path, end: int) -> None:
    data = segment.read_bytes()
    kept = [len(batch) for header, batch in split_batches(memoryview(data)) if header.end <= end]
    segment.write_bytes(data[: sum(kept)])


def _empty_last(folder: Path) -> None:
    _forget(folder)
    segment = max(folder.glob("*.log"))
    data = segment.read_bytes()
    *before, last = [bytes(batch) for _, batch in split_batches(memoryview(data))]
    head = bytearray(last[:HEADER_BYTES])
    struct.pack_into(">i", head, HEADER_BYTES - 4, 0)
    struct.pack_into(">i", head, 8, HEADER_BYTES - LENGTH_FROM)
    struct.pack_into(">I", head, CRC_AT, crc32c(bytes(head[CRC_FROM:])))
    segment.write_bytes(b"".join([*before, bytes(head)]))


def _forget(folder: Path) -> None:
    """What a broker knows beside the records it makes anew."""
    for path in folder.iterdir():
        if path.suffix in (".index", ".timeindex", ".snapshot", ".txnindex"):
            path.unlink()
