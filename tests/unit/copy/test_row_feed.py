"""Rows are held until they are in the target, come in order, and may have notes between them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sparkmirror.batch import notes
from sparkmirror.batch.build import seal
from sparkmirror.batch.encode_rows import build_runs
from sparkmirror.batch.header import read_header
from sparkmirror.copy.row_feed import RECORDS, RowFeed, TailCheck
from sparkmirror.copy.row_groups import split_rows
from sparkmirror.copy.tail import Batch
from sparkmirror.errors import MirrorError
from tests.support.arrow import to_arrow
from tests.support.records import Record


def rows(first: int, end: int, text: str = "v") -> pa.RecordBatch:
    return to_arrow([Record(offset, 0, None, f"{text}{offset}".encode(), ()) for offset in range(first, end)])


def placed(*places: tuple[str, int]) -> pa.RecordBatch:
    topics, partitions = [p[0] for p in places], pa.array([p[1] for p in places], pa.int32())
    return pa.record_batch({"topic": topics, "partition": partitions, "value": [str(i) for i in range(len(places))]})


def queue_all(feed: RowFeed) -> list[tuple[int, int, int]]:
    found = []
    while piece := feed.peek():
        found.append((piece.kind, piece.first, piece.end))
        feed.advance()
    return found


def test_rows_stay_until_the_target_has_them() -> None:
    feed = RowFeed("t-0", None, with_notes=False)
    feed.offer(rows(5, 8))
    feed.offer(rows(10, 12))
    assert queue_all(feed) == [(RECORDS, 5, 8), (RECORDS, 10, 12)]
    feed.rewind()
    assert queue_all(feed) == [(RECORDS, 5, 8), (RECORDS, 10, 12)], "the position was found anew"
    feed.drop_before(8)
    assert feed.first == 10
    feed.drop_before(12)
    assert feed.is_empty and feed.held_bytes == 0


def test_rows_that_have_no_offset_are_numbered() -> None:
    feed = RowFeed("t-0", 70, with_notes=False)
    feed.offer(rows(0, 3))
    feed.offer(rows(0, 2).drop_columns(["offset"]))
    assert queue_all(feed) == [(RECORDS, 70, 73), (RECORDS, 73, 75)]


def test_offsets_that_fall_are_named() -> None:
    feed = RowFeed("t-0", None, with_notes=False)
    feed.offer(rows(5, 8))
    with pytest.raises(MirrorError, match="offset 7 came after that of 7"):
        feed.offer(rows(7, 9))


def test_notes_stand_alone_between_records() -> None:
    feed = RowFeed("t-0", None, with_notes=True)
    parts = [rows(5, 8), notes.note_row(notes.HOLE, 8, 10), rows(10, 11), notes.note_row(notes.FAULT, 11, 20, "x: why")]
    feed.offer(pa.concat_batches(parts))
    assert feed.next == 20
    assert queue_all(feed) == [(RECORDS, 5, 8), (notes.HOLE, 8, 10), (RECORDS, 10, 11), (notes.FAULT, 11, 20)]


def test_a_backlog_goes_before_what_was_offered() -> None:
    feed = RowFeed("t-0", None, with_notes=False)
    feed.offer(rows(10, 12))
    feed.begin_backlog(iter([rows(3, 6), rows(6, 10)]))
    feed.offer(rows(12, 14))
    while feed.backlog:
        feed.take_backlog()
    assert [first for _, first, _ in queue_all(feed)] == [3, 6, 10, 12]


def test_rows_that_come_again_must_be_those_of_the_targets_last_batch() -> None:
    ((run, codec),) = build_runs(rows(5, 8), codec=0, limit=1 << 20)
    data = seal(run, codec, 1, 0, 0)
    check = TailCheck("t-0", Batch(read_header(data), data), 8)
    check.take(rows(0, 6))
    check.take(rows(6, 8))
    with pytest.raises(MirrorError, match="other rows") as caught:
        check.take(rows(6, 8, "other"))
    assert caught.value.name == "other-rows"


def test_rows_are_taken_apart_by_partition_in_their_order() -> None:
    batch = placed(("b", 1), ("a", 0), ("b", 1), ("a", 2), ("a", 0))
    found = {(t, p): part.column("value").to_pylist() for t, p, part in split_rows(batch)}
    assert found == {("b", 1): ["0", "2"], ("a", 0): ["1", "4"], ("a", 2): ["3"]}


def test_a_row_without_a_place_is_named() -> None:
    batch = pa.record_batch({"topic": ["a", None], "partition": pa.array([0, 0], pa.int32())})
    with pytest.raises(MirrorError, match="no topic or no partition"):
        list(split_rows(batch))
