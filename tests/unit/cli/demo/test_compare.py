"""The proof at the demo's end must see every kind of difference."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sparkmirror.cli.demo.compare import Comparison, Difference, Record, first_difference

LOG: list[Record] = [(n, (1, 1000 + n), b"k%d" % n, b"v%d" % n, [("h", None)]) for n in range(5)]


def changed(index: int, field: int, value: object) -> list[Record]:
    record: list[object] = list(LOG[2])
    record[field] = value
    return [*LOG[:index], tuple(record), *LOG[index + 1 :]]  # type: ignore[list-item]


def test_equal_sides() -> None:
    assert first_difference(LOG, iter(LOG)) == (5, "")
    assert first_difference([], []) == (0, "")


@pytest.mark.parametrize(
    ("field", "value", "what"),
    [
        (0, 3, "offset: source 2, target 3"),
        (1, (2, 1002), "timestamp: source (1, 1002), target (2, 1002)"),
        (2, None, "key: source b'k2', target None"),
        (3, b"", "value: source b'v2', target b''"),
        (4, [("h", b"")], "headers: source [('h', None)], target [('h', b'')]"),
    ],
)
def test_each_field_is_compared(field: int, value: object, what: str) -> None:
    assert first_difference(LOG, changed(2, field, value)) == (2, f"from offset 2 on, first in {what}")


def test_order_is_compared() -> None:
    swapped = [LOG[1], LOG[0], *LOG[2:]]
    assert first_difference(LOG, swapped) == (0, "from offset 0 on, first in offset: source 0, target 1")


def test_missing_and_additional_records_at_the_end() -> None:
    assert first_difference(LOG, LOG[:4]) == (4, "the target ends before offset 4")
    assert first_difference(LOG[:3], LOG) == (3, "the source ends before offset 3")


def test_long_values_are_cut() -> None:
    _, what = first_difference(LOG, changed(2, 3, b"x" * 5000))
    assert len(what) < 200


def test_result_of_equal_sides_is_one_line() -> None:
    assert Comparison(1_234_567, 3, ()).lines() == [
        "1,234,567 records in 3 topics are equal on both sides, offsets too"
    ]


def test_result_names_each_partition_that_differs() -> None:
    one = Difference(topic="orders", partition=3, what="the target ends before offset 4")
    result = Comparison(10, 3, (one, replace(one, topic="audit", partition=0)))
    assert not result.equal
    assert result.lines() == [
        "The sides differ in 2 partitions; the first difference of each:",
        "  orders-3: the target ends before offset 4",
        "  audit-0: the target ends before offset 4",
    ]
    assert "equal" not in " ".join(result.lines())
