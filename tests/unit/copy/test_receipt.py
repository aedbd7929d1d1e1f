"""Receipts that continue each other become one; what does not continue stays apart."""

from __future__ import annotations

from sparkmirror.copy.receipt import STOPPED, Receipt, ReceiptBook


def receipt(first: int, end: int, shift: int = 0, kind: str = "passed") -> Receipt:
    return Receipt(
        flow="A->B",
        topic="t",
        partition=0,
        source_first=first,
        source_end=end,
        target_first=first + shift,
        target_end=end + shift,
        last_sequence=end - 1,
        records=end - first,
        bytes=10,
        kind=kind,
    )


def test_consecutive_ranges_become_one() -> None:
    book = ReceiptBook()
    for i in range(5):
        book.add(receipt(i * 10, i * 10 + 10))
    (whole,) = book.take()
    assert (whole.source_first, whole.source_end, whole.records, whole.bytes, whole.last_sequence) == (
        0,
        50,
        50,
        50,
        49,
    )
    assert book.take() == []


def test_a_change_of_the_shift_or_the_kind_starts_a_new_one() -> None:
    book = ReceiptBook()
    for one in (receipt(0, 10), receipt(10, 20, shift=5), receipt(20, 20, shift=5, kind=STOPPED)):
        book.add(one)
    assert [(r.source_first, r.target_first, r.kind) for r in book.take()] == [
        (0, 0, "passed"),
        (10, 15, "passed"),
        (20, 25, STOPPED),
    ]
