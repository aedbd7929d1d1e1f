"""The kernels between records sections and Arrow, against plain Python that does the same a record at a time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkmirror.batch import _decode_columns, _encode_columns
from sparkmirror.batch.codec import decompress
from sparkmirror.batch.columns import SCHEMA, decode_records, encode_records, plan_slices, warm_up
from sparkmirror.batch.header import HEADER_BYTES, read_header
from sparkmirror.errors import MirrorError, ProtocolError
from tests.support.arrow import from_arrow, to_arrow
from tests.support.golden import APPEND_TIME, BATCHES, few_records, many_records
from tests.support.records import Record, decode_section, encode_record, encode_section, encode_varint
from tests.support.strategies import INT64, record_lists

BASE = 1_700_000_000_000


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    """Once, so that no example is slow."""
    warm_up()


def decode(section: bytes, records: Sequence[Record], **changes: Any) -> pa.RecordBatch:
    """With the header fields that belong to the records, unless a test changes them."""
    first = records[0].offset if records else 0
    fields: dict[str, Any] = {
        "first": first,
        "last_delta": records[-1].offset - first if records else 0,
        "count": len(records),
        "base_timestamp": BASE,
        "max_timestamp": BASE,
        "log_append_time": False,
    }
    return decode_records(section, **fields | changes)


@given(record_lists())
def test_every_field_of_every_record_arrives(records: list[Record]) -> None:
    batch = decode(encode_section(records, records[0].offset if records else 0, BASE), records)
    batch.validate(full=True)
    assert batch.equals(to_arrow(records))


@given(record_lists(min_size=1), INT64)
def test_log_append_time_is_that_of_the_batch(records: list[Record], time: int) -> None:
    section = encode_section(records, records[0].offset, BASE)
    batch = decode(section, records, log_append_time=True, max_timestamp=time)
    assert batch.equals(to_arrow([r._replace(timestamp=time) for r in records], timestamp_type=1))


@given(record_lists(min_size=1, dense=True))
def test_encoding_gives_the_bytes_that_plain_python_gives(records: list[Record]) -> None:
    section, base, latest = encode_records(to_arrow(records))
    assert (base, latest) == (records[0].timestamp, max(r.timestamp for r in records))
    assert section == encode_section(records, records[0].offset, base)


@given(record_lists(min_size=1, dense=True))
def test_what_is_encoded_is_decoded(records: list[Record]) -> None:
    section, base, latest = encode_records(to_arrow(records))
    batch = decode(bytes(section), records, base_timestamp=base, max_timestamp=latest)
    assert from_arrow(batch) == records


@given(record_lists(), st.data())
@settings(max_examples=200)
def test_any_slice_of_any_kind_of_column_is_encoded(records: list[Record], data: st.DataObject) -> None:
    """Spark hands over whatever Arrow allows: wide offsets, text, slices of slices, unused bytes under nulls."""
    batch = data.draw(arrow_variants(records))
    begin = data.draw(st.integers(0, len(records)))
    count = data.draw(st.integers(0, len(records) - begin))
    expected = records[begin : begin + count]
    section, base, latest = encode_records(batch.slice(begin, count))
    if not expected:
        assert (bytes(section), base, latest) == (b"", -1, -1)
        return
    renumbered = [r._replace(offset=i) for i, r in enumerate(expected)]
    assert section == encode_section(renumbered, 0, expected[0].timestamp)


@given(record_lists(), st.integers(1, 20_000))
def test_slices_are_whole_in_order_and_not_too_large(records: list[Record], max_bytes: int) -> None:
    batch = to_arrow(records)
    plan = plan_slices(batch, max_bytes)
    assert [row for begin, count in plan for row in range(begin, begin + count)] == list(range(len(records)))
    for begin, count in plan:
        section, _, _ = encode_records(batch.slice(begin, count))
        assert len(section) <= max_bytes or count == 1


def test_slices_are_nearly_full() -> None:
    records = [Record(i, BASE + i, b"key", bytes(100)) for i in range(10_000)]
    plan = plan_slices(to_arrow(records), 100_000)
    whole = len(encode_records(to_arrow(records))[0])
    assert len(plan) <= 1.05 * whole / 100_000 + 1


@given(record_lists(min_size=1), st.data())
@settings(max_examples=400)
def test_changed_bytes_mean_what_plain_python_makes_of_them(records: list[Record], data: st.DataObject) -> None:
    section = bytearray(encode_section(records, records[0].offset, BASE))
    for _ in range(data.draw(st.integers(1, 3))):
        section[data.draw(st.integers(0, len(section) - 1))] = data.draw(st.sampled_from((0, 1, 2, 127, 128, 255)))
    cut = data.draw(st.integers(0, 3))
    check_same(bytes(section[: len(section) - cut] if cut else section), records)


@given(st.binary(max_size=120), st.integers(-1, 10), st.integers(-1, 20))
@settings(max_examples=400)
def test_any_bytes_mean_what_plain_python_makes_of_them(section: bytes, count: int, last_delta: int) -> None:
    check_same(section, [], count=count, last_delta=last_delta)


def check_same(section: bytes, records: Sequence[Record], **changes: Any) -> None:
    first = records[0].offset if records else 0
    count = changes.get("count", len(records))
    last_delta = changes.get("last_delta", records[-1].offset - first if records else 0)
    try:
        expected = decode_section(section, first=first, last_delta=last_delta, count=count, base_timestamp=BASE)
    except ProtocolError:
        with pytest.raises(ProtocolError):
            decode(section, records, **changes)
        return
    assert from_arrow(decode(section, records, **changes)) == [_java_text(r) for r in expected]


def _java_text(record: Record) -> Record:
    """Header keys that are not UTF-8 have replacement characters, as Java's strings do."""
    return record._replace(headers=tuple((k.decode("utf-8", "replace").encode(), v) for k, v in record.headers))


RECORDS = [Record(10, BASE, b"k", b"v"), Record(12, BASE, None, None)]
SECTION = encode_section(RECORDS, 10, BASE)


@pytest.mark.parametrize(
    ("section", "changes", "said"),
    [
        (SECTION, {"count": 3}, "3 records"),
        (SECTION, {"count": 1}, "bytes follow"),
        (SECTION, {"count": -1}, "-1 records"),
        (SECTION, {"count": 2**31 - 1}, "records in"),
        (SECTION + b"\0", {}, "bytes follow"),
        (SECTION[:-1], {}, "record 1 of 2"),
        (SECTION, {"last_delta": 1}, "its offset"),
        (SECTION, {"last_delta": -1}, "its offset"),
        (SECTION, {"first": -1}, "its offsets are -1"),
        (SECTION, {"first": 2**63 - 2}, "its offsets are"),
        (encode_record(RECORDS[0], 2, 0) + encode_record(RECORDS[1], 2, 0), {}, "record 1 of 2.*its offset"),
        (encode_record(RECORDS[0], -1, 0) + encode_record(RECORDS[1], 2, 0), {}, "record 0 of 2.*its offset"),
        (b"\x01" + SECTION, {}, "its length"),
        (b"\xff" * 14, {}, "too long"),
        (encode_varint(7) + b"\0\0\0\x03\x00\0\0" + SECTION, {"count": 3}, "a key or value"),
        (encode_varint(7) + b"\0\0\0\x01\x01\x01\0" + SECTION, {"count": 3}, "its headers"),
        (encode_varint(7) + b"\0\0\0\x01\x01\x00\0" + SECTION, {"count": 3}, "its fields end"),
        (encode_varint(8) + b"\0\0\0\x01\x01\x02\x01\x01" + SECTION, {"count": 3}, "its headers"),
    ],
)
def test_what_is_wrong_is_named(section: bytes, changes: dict[str, int], said: str) -> None:
    with pytest.raises(ProtocolError, match=said):
        decode(section, RECORDS, **changes)


@pytest.mark.parametrize("path", sorted(BATCHES.glob("v2-*.bin")), ids=lambda path: path.stem)
def test_batches_that_java_wrote_are_decoded(path: Path) -> None:
    batch = memoryview(path.read_bytes())
    header = read_header(batch)
    found = decode_records(
        decompress(header.codec, batch[HEADER_BYTES:]),
        first=header.first,
        last_delta=header.last_delta,
        count=header.records,
        base_timestamp=header.base_timestamp,
        max_timestamp=header.max_timestamp,
        log_append_time=header.is_log_append_time,
    )
    expected = many_records() if path.stem.endswith("many") else few_records()
    if header.is_log_append_time:
        expected = [r._replace(timestamp=APPEND_TIME) for r in expected]
    assert found.equals(to_arrow(expected, timestamp_type=int(header.is_log_append_time)))


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, pa.py_buffer])
def test_any_buffer_is_decoded(kind: Any) -> None:
    assert from_arrow(decode(kind(SECTION), RECORDS)) == RECORDS


def test_columns_that_are_missing_count_as_null() -> None:
    section, base, latest = encode_records(pa.RecordBatch.from_pydict({"value": [b"v"]}))
    assert (base, latest) == (-1, -1)
    assert section == encode_record(Record(0, -1, None, b"v"), 0, 0)


@pytest.mark.parametrize(
    "headers",
    [
        pa.array([[{"key": None, "value": b"v"}]], SCHEMA.field("headers").type),
        pa.array([[None]], SCHEMA.field("headers").type),
    ],
)
def test_a_header_without_a_key_is_refused(headers: pa.Array) -> None:
    with pytest.raises(MirrorError, match="without a key"):
        encode_records(pa.RecordBatch.from_arrays([headers], names=["headers"]))


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("key", pa.array([1])),
        ("value", pa.array([1.5])),
        ("timestamp", pa.array(["now"])),
        ("timestamp", pa.array([0], pa.timestamp("us"))),
        ("headers", pa.array(["h"])),
    ],
)
def test_a_column_of_another_type_is_refused(name: str, column: pa.Array) -> None:
    with pytest.raises(TypeError, match=name):
        encode_records(pa.RecordBatch.from_arrays([column], names=[name]))


def test_each_kernel_was_compiled_once() -> None:
    """Whatever buffers and columns came by: a second version would compile for seconds in the midst of a lease."""
    decoding: list[Any] = [_decode_columns.find_records, _decode_columns.find_headers, _decode_columns.gather]
    for kernel in [*decoding, _encode_columns.write_records]:
        assert len(kernel.signatures) == 1


def test_pandas_is_not_loaded() -> None:
    """It costs a starting worker a second of processor time, and Arrow loads it for its own conversions."""
    script = "import sys; from sparkmirror.batch.columns import warm_up; warm_up(); sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], timeout=60, check=False).returncode == 0


@st.composite
def arrow_variants(draw: Any, records: Sequence[Record]) -> pa.RecordBatch:
    """The same records in another of Arrow's layouts, as a slice with other rows around it."""
    before, after = draw(st.integers(0, 9)), draw(st.integers(0, 2))
    other = Record(0, 0, b"other", b"other", ((b"other", b"other"),))
    batch = to_arrow([*[other] * before, *records, *[other] * after])
    columns = {
        "key": draw(payload_variants(batch.column("key"))),
        "value": draw(payload_variants(batch.column("value"))),
        "timestamp": batch.column("timestamp"),
        "headers": draw(header_variants(batch.column("headers"))),
    }
    return pa.RecordBatch.from_pydict(columns).slice(before, len(records))


@st.composite
def payload_variants(draw: Any, column: pa.Array) -> pa.Array:
    column = column.cast(draw(st.sampled_from((pa.binary(), pa.large_binary()))))
    if draw(st.booleans()):
        # Bytes that lie under a null must not be taken for a value.
        filled = pa.array([b"unused" if x is None else x for x in column.to_pylist()], column.type)
        nulls = pa.array([x.is_valid for x in column]).buffers()[1] if len(column) else None
        column = pa.Array.from_buffers(column.type, len(column), [nulls, *filled.buffers()[1:]])
    if draw(st.booleans()) and all(_is_text(x) for x in column.to_pylist()):
        column = column.cast(pa.string() if column.type == pa.binary() else pa.large_string())
    return column


def _is_text(data: bytes | None) -> bool:
    try:
        return data is None or bool(data.decode() or True)
    except UnicodeDecodeError:
        return False


@st.composite
def header_variants(draw: Any, column: pa.Array) -> pa.Array:
    wide = pa.struct([("key", pa.large_string()), ("value", pa.large_binary())])
    narrow = SCHEMA.field("headers").type.value_type
    entry = draw(st.sampled_from((wide, narrow)))
    column = column.cast(draw(st.sampled_from((pa.list_(entry), pa.large_list(entry)))))
    if draw(st.booleans()):
        # Empty lists in place of null: both say that there are no headers.
        column = pa.array([x or [] for x in column.to_pylist()], column.type)
    if draw(st.booleans()):
        column = _shifted_entries(column)
    return column


def _shifted_entries(column: pa.Array) -> pa.Array:
    """The same lists over a slice of a longer array of entries."""
    unused = pa.array([{"key": None, "value": None}] * 3, column.type.value_type)
    entries = pa.concat_arrays([unused, column.values]).slice(3)
    kind = pa.LargeListArray if pa.types.is_large_list(column.type) else pa.ListArray
    mask = pa.array([not x.is_valid for x in column], pa.bool_()) if len(column) else None
    return kind.from_arrays(column.offsets, entries, mask=mask)
