"""Messages of formats 0 and 1 as Kafka's own classes wrote them, kept under tests/golden."""

from __future__ import annotations

import pytest

from sparkmirror.batch.header import split_batches
from sparkmirror.batch.legacy import LegacyRecord, read_legacy_records
from tests.support.golden import APPEND_TIME, few_records, golden_batch, many_records
from tests.support.records import Record

CODECS = ("none", "gzip", "snappy", "lz4")
COMPRESSED = CODECS[1:]


@pytest.mark.parametrize("codec", CODECS)
def test_format_0_has_no_timestamps(codec: str) -> None:
    assert read_legacy_records(golden_batch(f"v0-{codec}-few")) == plain(few_records(), timestamp=-1)


@pytest.mark.parametrize("codec", CODECS)
def test_format_1_has_the_records_own_timestamps(codec: str) -> None:
    assert read_legacy_records(golden_batch(f"v1-{codec}-few")) == plain(few_records())


@pytest.mark.parametrize("codec", CODECS)
def test_log_append_time_is_that_of_the_wrapper(codec: str) -> None:
    assert read_legacy_records(golden_batch(f"v1-{codec}-few-append")) == plain(few_records(), timestamp=APPEND_TIME)


@pytest.mark.parametrize("codec", COMPRESSED)
@pytest.mark.parametrize(("magic", "timestamp"), [(0, -1), (1, None)])
def test_large_wrappers_are_read(codec: str, magic: int, timestamp: int | None) -> None:
    assert read_legacy_records(golden_batch(f"v{magic}-{codec}-many")) == plain(many_records(), timestamp=timestamp)


def test_a_fetch_of_old_messages_is_split_into_messages() -> None:
    found = [read_legacy_records(batch) for _, batch in split_batches(golden_batch("v1-none-few"))]
    assert found == [[record] for record in plain(few_records())]


def plain(records: list[Record], timestamp: int | None = None) -> list[LegacyRecord]:
    return [LegacyRecord(r.offset, r.timestamp if timestamp is None else timestamp, r.key, r.value) for r in records]
