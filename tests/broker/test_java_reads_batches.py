"""What we compress and encode is read by the classes that Kafka's brokers and consumers read it with."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from sparkmirror.batch.codec import NAMES, compress
from sparkmirror.batch.columns import encode_records
from sparkmirror.embedded.distribution import prepare
from tests.support.arrow import to_arrow
from tests.support.batches import assemble_batch
from tests.support.golden import few_records, many_records
from tests.support.records import Record

READER = Path(__file__).parents[1] / "golden" / "ReadBatches.java"


def test_kafkas_own_classes_read_what_we_encode_with_every_codec(tmp_path: Path) -> None:
    expected: list[str] = []
    for codec, name in sorted(enumerate(NAMES), key=lambda item: item[1]):
        for kind, records in (("few", few_records()), ("many", many_records())):
            section, base, latest = encode_records(to_arrow(records))
            batch = assemble_batch(
                compress(codec, section),
                first=0,
                count=len(records),
                base_timestamp=base,
                max_timestamp=latest,
                codec=codec,
            )
            (tmp_path / f"{name}-{kind}").write_bytes(batch)
            expected += [f"{name}-{kind} {line}" for line in _lines(records)]
    assert _read_with_java(tmp_path) == expected


def _lines(records: Sequence[Record]) -> Iterator[str]:
    """As ReadBatches.java prints them, with the offsets of a new batch."""
    for offset, record in enumerate(records):
        headers = [f"{_hex(key)}:{_hex(value)}" for key, value in record.headers]
        yield " ".join([f"{offset} {record.timestamp}", _hex(record.key), _hex(record.value), *headers])


def _hex(data: bytes | None) -> str:
    return "-" if data is None else "x" + data.hex()


def _read_with_java(folder: Path) -> list[str]:
    kafka = prepare()
    command = [str(kafka.java.path), "-cp", kafka.class_path, str(READER), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
