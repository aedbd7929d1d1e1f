"""Ranges that continue each other become one receipt; what does not continue stays apart."""

from __future__ import annotations

import json

from sparkmirror.copy.receipt import STOPPED, ReceiptBook, from_row, to_row
from sparkmirror.topology.standing import Standing

PLACE = ("t", 0)


def note(book: ReceiptBook, first: int, end: int, shift: int = 0) -> None:
    standing = Standing(end, end - 1, end + shift)
    book.note_copied(PLACE, first, first + shift, count=end - first, size=10, rebuilt=0, standing=standing)


def test_consecutive_ranges_become_one() -> None:
    book = ReceiptBook("A->B")
    for i in range(5):
        note(book, i * 10, i * 10 + 10)
    (whole,) = book.take()
    assert (whole.flow, whole.topic, whole.partition, whole.kind) == ("A->B", "t", 0, "copied")
    assert (whole.source_first, whole.source_end, whole.target_first, whole.target_end) == (0, 50, 0, 50)
    assert (whole.records, whole.bytes, whole.standing) == (50, 50, Standing(50, 49, 50))
    assert book.take() == []


def test_a_change_of_the_shift_or_a_fact_ends_a_run() -> None:
    book = ReceiptBook("A->B")
    note(book, 0, 10)
    note(book, 10, 20, shift=5)
    book.note_fact(PLACE, STOPPED, "hole")
    note(book, 20, 30, shift=5)
    assert [(r.source_first, r.target_first, r.records, r.kind) for r in book.take()] == [
        (0, 0, 10, "copied"),
        (10, 15, 10, "copied"),
        (-1, -1, 0, STOPPED),
        (20, 25, 10, "copied"),
    ]


def test_a_filled_hole_continues_the_run_and_is_counted_apart() -> None:
    book = ReceiptBook("A->B")
    note(book, 0, 10)
    book.note_filled(PLACE, 10, 10, count=3, waited_s=0.2, standing=Standing(13, 9, 13))
    book.note_filled(PLACE, 13, 13, count=2, waited_s=0.1, standing=Standing(15, 9, 15))
    book.note_copied(PLACE, 15, 15, count=5, size=10, rebuilt=5, standing=Standing(20, 14, 20))
    (whole,) = book.take()
    assert (whole.source_first, whole.source_end, whole.records, whole.rebuilt, whole.holes) == (0, 20, 15, 5, 5)
    assert whole.standing == Standing(20, 14, 20)
    assert whole.fill_ms == 300


def test_a_receipt_crosses_as_a_row() -> None:
    book = ReceiptBook("A->B")
    note(book, 0, 10, shift=3)
    (receipt,) = book.take()
    assert from_row(json.loads(json.dumps(to_row(receipt)))) == receipt
