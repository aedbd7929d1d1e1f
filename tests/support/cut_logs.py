"""A broker whose logs lose their ends, as after an unclean election or with an older copy of a disk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sparkmirror.batch.header import split_batches
from sparkmirror.embedded.broker import Broker


def cut_logs(broker: Broker, ends: Mapping[str, int]) -> None:
    """Restart the broker; partition 0 of each topic ends at the offset given then, at a batch's edge."""
    broker.kill()
    for topic, end in ends.items():
        _cut(broker.data_path / f"{topic}-0", end)
    broker.start()
    broker.wait_ready()


def _cut(folder: Path, end: int) -> None:
    """What a broker knows beside the records it makes anew."""
    for path in folder.iterdir():
        if path.suffix in (".index", ".timeindex", ".snapshot", ".txnindex"):
            path.unlink()
    for segment in folder.glob("*.log"):
        if int(segment.stem) >= end:
            segment.unlink()
        else:
            _cut_segment(segment, end)


def _cut_segment(segment: Path, end: int) -> None:
    data = segment.read_bytes()
    kept = [len(batch) for header, batch in split_batches(memoryview(data)) if header.end <= end]
    segment.write_bytes(data[: sum(kept)])
