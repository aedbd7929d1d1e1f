"""Receipts reach Spark as rows in few pieces, and all of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sparkmirror.copy.receipt import COPIED, Receipt
from sparkmirror.pipeline import copy_stage
from sparkmirror.pipeline.copy_stage import gather_receipts


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(copy_stage, "time", clock)
    return clock


def test_receipts_of_some_seconds_come_in_one_piece_and_those_that_are_left_at_the_end(clock: Clock) -> None:
    def told() -> Iterator[list[Receipt]]:
        for number in range(25):
            clock.now += 1.0
            yield [Receipt(flow="A->B", topic="t", partition=number, kind=COPIED)]

    pieces = [[receipt.partition for receipt in piece] for piece in gather_receipts(told(), 10.0)]
    assert pieces == [list(range(10)), list(range(10, 20)), list(range(20, 25))]
