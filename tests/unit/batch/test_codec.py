"""What real clients compressed is read: batches that Java and librdkafka wrote, kept under tests/golden."""

from __future__ import annotations

import pytest

from sparkmirror.batch.codec import LZ4, NAMES, SNAPPY, compress, decompress
from sparkmirror.batch.header import HEADER_BYTES, has_valid_crc, read_header
from tests.support.golden import few_records, golden_batch, many_records
from tests.support.records import Record, decode_section

CODECS = NAMES[1:]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    ("writer", "expected"),
    [
        ("v2-{}-few", few_records()),
        ("v2-{}-many", many_records()),
        ("librdkafka-{}-many", many_records(first=0)),
    ],
)
def test_records_that_a_client_compressed_are_read(writer: str, codec: str, expected: list[Record]) -> None:
    batch = golden_batch(writer.format(codec))
    header = read_header(batch)
    assert has_valid_crc(batch)
    assert NAMES[header.codec] == codec
    section = decompress(header.codec, batch[HEADER_BYTES:])
    found = decode_section(
        bytes(section),
        first=header.first,
        last_delta=header.last_delta,
        count=header.records,
        base_timestamp=header.base_timestamp,
    )
    assert found == expected


@pytest.mark.parametrize("codec", CODECS)
def test_compressed_data_are_about_as_small_as_javas(codec: str) -> None:
    batch = golden_batch(f"v2-{codec}-many")
    javas = batch[HEADER_BYTES:]
    ours = compress(NAMES.index(codec), decompress(NAMES.index(codec), javas))
    assert len(ours) < 1.2 * len(javas)


def test_snappy_is_framed_as_java_frames_it() -> None:
    javas = golden_batch("v2-snappy-many")[HEADER_BYTES:]
    assert compress(SNAPPY, decompress(SNAPPY, javas))[:16] == javas[:16]


def test_lz4_blocks_do_not_depend_on_each_other() -> None:
    """Kafka's Lz4BlockInputStream refuses frames without the block independence flag."""
    assert compress(LZ4, b"x")[4] & 0x20
