"""Our records in a target's log are counted by their sequences, whatever is left of them."""

from __future__ import annotations

import contextlib

import pytest

from sparkmirror.batch.header import BatchHeader
from sparkmirror.copy.tail import Batch
from sparkmirror.copy.tally import ALL, Tally, count_steps
from sparkmirror.errors import MirrorError
from sparkmirror.topology.run import GONE, Run, pair_up

LAST = 2**31 - 1


def batch(first: int, sequence: int, size: int, records: int | None = None) -> Batch:
    count = size if records is None else records
    return Batch(BatchHeader(first, 0, 0, 2, 0, 0, size - 1, 0, 0, 7, 0, sequence, count), memoryview(b""))


@pytest.mark.parametrize(
    ("earlier", "later", "steps"),
    [(99, 99, 0), (99, 129, 30), (99, 49, -50), (-1, 4, 5), (LAST - 1, 3, 5), (3, LAST - 1, -5), (99, -1, -100)],
)
def test_steps_from_one_sequence_to_another(earlier: int, later: int, steps: int) -> None:
    assert count_steps(earlier, later) == steps


def test_what_retention_and_compaction_removed_was_written_all_the_same() -> None:
    tally = Tally(99)
    tally.add(batch(200, 120, 10))  # 100..119 are gone
    tally.add(batch(215, 130, 5, records=2))
    tally.add(batch(230, 140, 5, records=0))  # 135..139 are gone, and of these no record is left
    assert (tally.written, tally.last_sequence, tally.end) == (45, 144, 235)
    assert tally.tail == batch(215, 130, 5, records=2) and tally.behind == 10
    assert tally.stretches == [(GONE, 20), (200, 10), (215, 5), (GONE, 5), (230, 5)]
    assert pair_up([(50, 45)], tally.stretches) == [Run(70, 200, 10), Run(80, 215, 5), Run(90, 230, 5)]


def test_sequences_that_jump_by_more_than_the_offsets_that_are_missing_were_never_there() -> None:
    others = batch(500, 0, 4).header
    tally = Tally(99, readable=600, read_to=500)
    tally.pass_over(others)
    with pytest.raises(MirrorError, match=r"at offset 504 with sequence 150 behind 99") as raised:
        tally.add(batch(504, 150, 50))
    assert raised.value.name == "position-unknown"
    for missing, is_known in ((49, False), (50, True)):
        tally = Tally(99, readable=600, read_to=500)
        tally.pass_over(others._replace(first=500 + missing - 1))
        with contextlib.nullcontext() if is_known else pytest.raises(MirrorError):
            tally.add(batch(505 + missing - 1, 150, 50))


def test_neighbours_are_one_stretch_and_only_one_batch_is_kept() -> None:
    tally = Tally(-1)
    for number in range(1000):
        tally.add(batch(10 * number, 10 * number, 10))
    assert (tally.written, tally.stretches) == (10_000, [(0, 10_000)])
    assert tally.tail == batch(9990, 9990, 10)


def test_sequences_that_begin_anew_go_on_counting() -> None:
    tally = Tally(99)
    tally.add(batch(100, 100, 5))
    tally.add(batch(105, 0, 5))
    assert (tally.written, tally.last_sequence) == (10, 4)


def test_records_that_were_copied_again_behind_the_known_end_count_once() -> None:
    tally = Tally(99)
    tally.add(batch(300, 80, 10))
    assert (tally.written, tally.lost) == (-10, 10)
    tally.add(batch(310, 90, 20))
    assert (tally.written, tally.stretches) == (10, [(320, 10)])


def test_what_is_lost_is_known_but_where_nothing_is_left() -> None:
    tally = Tally(99)
    tally.take_remembered(49)
    assert (tally.written, tally.lost) == (-50, 50)
    tally.written = ALL
    assert tally.lost is None
