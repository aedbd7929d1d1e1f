"""What a group of Kafka Connect's workers holds, by their own words."""

from __future__ import annotations

import pytest

from sparkmirror.errors import ProtocolError
from sparkmirror.protocol.connect_workers import Workers, parse_workers
from tests.support.connect_messages import assignment, metadata


def test_an_eager_worker_holds_what_it_is_given() -> None:
    given = assignment({"x": [-1, 0, 2], "y": [-1]}, config_offset=7, version=0)
    found = parse_workers([(metadata(config_offset=5, version=0), given)])
    assert found == Workers({"x", "y"}, {"x": {0, 2}}, 7)


def test_an_incremental_one_also_holds_what_it_had() -> None:
    had = assignment({"x": [0]}, config_offset=3)
    found = parse_workers([(metadata(had, config_offset=9), assignment({"x": [1], "y": [-1]}, config_offset=8))])
    assert found == Workers({"x", "y"}, {"x": {0, 1}}, 9)


def test_several_workers_hold_all_together() -> None:
    found = parse_workers([(metadata(), assignment({"x": [n]}, config_offset=n)) for n in range(3)])
    assert found == Workers({"x"}, {"x": {0, 1, 2}}, 2)


def test_what_is_revoked_is_held_until_the_worker_joins_again() -> None:
    had = assignment({"x": [-1, 0]})
    found = parse_workers([(metadata(had), assignment({}, revoked={"x": [-1, 0]}))])
    assert found == Workers({"x"}, {"x": {0}}, are_moving=True)


def test_tasks_that_are_kept_back_will_come() -> None:
    assert parse_workers([(metadata(), assignment({}, delay_ms=300_000))]) == Workers(are_moving=True)


def test_a_member_that_has_no_assignment_holds_nothing_yet() -> None:
    assert parse_workers([(metadata(), b"")]) == Workers()


@pytest.mark.parametrize("cut", [1, 9, 20, 40])
def test_words_that_end_early_are_refused(cut: int) -> None:
    for said in ((metadata()[:-cut], b""), (metadata(), assignment({"x": [0]})[:-cut])):
        with pytest.raises(ProtocolError):
            parse_workers([said])


def test_a_count_that_no_message_can_hold_is_refused() -> None:
    whole = assignment({"x": [0]}, version=0)
    assert whole.count(b"\0\0\0\1") == 2
    with pytest.raises(ProtocolError):
        parse_workers([(metadata(), whole.replace(b"\0\0\0\1", b"\x7f\xff\xff\xff"))])
