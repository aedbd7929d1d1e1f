"""The comparison must be able to fail: each planted fault is found and told apart."""

from __future__ import annotations

from tests.chaos.judge import Findings, Row, compare_rows


def rows(*numbers: int, first: int = 0) -> list[Row]:
    return [Row(first + place, None, b"%d" % number, 1000 + number) for place, number in enumerate(numbers)]


def keyed(*pairs: tuple[int, bytes]) -> list[Row]:
    return [Row(offset, key, b"%d" % offset, 0) for offset, key in pairs]


def test_equal_logs_have_no_finding() -> None:
    found = compare_rows(rows(0, 1, 2), rows(0, 1, 2), 3)
    assert found == Findings(compared=3) and found.is_equal


def test_a_lost_record() -> None:
    target = [row for row in rows(0, 1, 2) if row.offset != 1]
    found = compare_rows(rows(0, 1, 2), target, 3)
    assert (found.lost, found.twice, found.moved) == (1, 0, 0)
    assert found.first.startswith("offset 1 lost")


def test_a_record_that_is_missing_at_the_end_counts_only_below_the_end() -> None:
    assert compare_rows(rows(0, 1, 2), rows(0, 1), 3).lost == 1
    assert compare_rows(rows(0, 1, 2), rows(0, 1), 2).is_equal


def test_a_record_that_stands_twice() -> None:
    found = compare_rows(rows(0, 1, 2), rows(0, 1, 1, 2), 4)
    assert (found.twice, found.lost, found.moved) == (1, 0, 1), "and what comes behind it has moved"


def test_a_double_behind_the_end_is_found_as_well() -> None:
    assert compare_rows(rows(0, 1), rows(0, 1, 1), 2).twice == 1


def test_records_that_changed_places() -> None:
    found = compare_rows(rows(0, 1, 2), rows(0, 2, 1), 3)
    assert (found.moved, found.lost, found.twice) == (2, 0, 0)


def test_the_same_record_at_another_offset() -> None:
    assert compare_rows(rows(0, 1), rows(0, 1, first=1), 3).moved == 2


def test_a_record_with_another_timestamp_or_key_is_not_the_same() -> None:
    source = rows(0)
    assert not compare_rows(source, [source[0]._replace(timestamp=5)], 1).is_equal
    assert not compare_rows(source, [source[0]._replace(key=b"k")], 1).is_equal


def test_a_record_that_the_source_does_not_have() -> None:
    """An aborted one, or one of somebody else's."""
    source = [row for row in rows(0, 1, 2) if row.offset != 1]
    assert compare_rows(source, rows(0, 1, 2), 3).foreign == 1


def test_either_side_of_a_compacted_topic_may_lack_what_a_later_record_replaces() -> None:
    source, target = keyed((1, b"b"), (2, b"a")), keyed((0, b"a"), (1, b"b"), (2, b"a"))
    assert compare_rows(source, target, 3, compacted=True).is_equal
    assert compare_rows(target, source, 3, compacted=True).is_equal
    assert not compare_rows(source, target, 3).is_equal


def test_the_last_record_of_a_key_is_missed_on_a_compacted_topic() -> None:
    source, target = keyed((0, b"a"), (1, b"b"), (2, b"a")), keyed((0, b"a"), (1, b"b"))
    assert compare_rows(source, target, 3, compacted=True).lost == 1
    assert compare_rows(target, source, 3, compacted=True).foreign == 1


def test_findings_add_up_and_keep_the_first_difference() -> None:
    total = Findings(compared=5, lost=1, first="one") + Findings(compared=2, twice=3, first="two")
    assert total == Findings(compared=7, lost=1, twice=3, first="one")
