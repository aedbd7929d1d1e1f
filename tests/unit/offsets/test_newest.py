"""What is left of an internal topic's records when only the newest of each key counts."""

from __future__ import annotations

from sparkmirror.offsets.internal_topic import InternalRecord, newest


def test_the_last_record_of_each_key_is_left_in_the_order_of_its_partition() -> None:
    records = [InternalRecord(0, n, key, b"%d" % n, 0) for n, key in enumerate([b"a", b"b", b"a", None, b"c", b"b"])]
    assert [record.offset for record in newest(records)] == [2, 3, 4, 5]


def test_the_last_record_of_a_partition_is_always_left() -> None:
    """By it a reader knows where to go on, also where a key stands in two partitions of a topic that has grown."""
    records = [InternalRecord(0, 7, b"a", b"", 0), InternalRecord(1, 3, b"a", b"", 0)]
    assert list(newest(records)) == records


def test_a_removal_is_the_newest_record_too() -> None:
    records = [InternalRecord(0, 0, b"a", b"1", 0), InternalRecord(0, 1, b"a", None, 0)]
    assert list(newest(records)) == records[1:]
