"""A leader record says who leads, since when, and when it was written; also those of earlier versions."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from sparkmirror.offsets.claims import Leadership, follow, parse_leadership
from sparkmirror.offsets.halts import Halt
from sparkmirror.offsets.internal_topic import InternalRecord
from sparkmirror.offsets.seen import MOST_NAMED, Seen, parse_seen


def leader(value: dict[str, object]) -> Leadership | None:
    return parse_leadership(InternalRecord(0, 7, b'{"leader":"A"}', json.dumps(value).encode(), 1_000), "A")


def test_a_leader_is_named_with_host_and_process() -> None:
    found = leader({"driver": "0123456789abcdef", "host": "h", "pid": 12, "since_ms": 500})
    assert found == Leadership(7, "0123456789abcdef", False, written_ms=1_000, since_ms=500, host="h", pid=12)
    assert str(found) == "driver 01234567 on h (pid 12)"


def test_a_record_with_the_driver_alone_is_read() -> None:
    found = leader({"driver": "0123456789abcdef", "released": True})
    assert found == Leadership(7, "0123456789abcdef", True, written_ms=1_000)
    assert str(found) == "driver 01234567"


def test_generations_of_a_topic_that_was_restored_go_on_from_their_base() -> None:
    found = leader({"driver": "0123456789abcdef", "released": True, "unsure": True, "longest_s": 80, "base": 500})
    assert found is not None and found.generation == 507
    assert found.released and found.leaves_leases, "of whoever led before the topic was lost"
    released = leader({"driver": "0123456789abcdef", "released": True})
    assert released is not None and not released.leaves_leases


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b'{"claim":"x"}', b'{"producer_id":4000}'),
        (b'{"leader":"other"}', b'{"driver":"x"}'),
        (b'{"leader":"A"}', None),
        (b"x", b"y"),
    ],
)
def test_other_records_say_nothing_of_the_leader(key: bytes, value: bytes | None) -> None:
    assert parse_leadership(InternalRecord(0, 7, key, value, 1_000), "A") is None


def test_only_its_own_lead_can_be_released() -> None:
    one, two = Leadership(1, "one", False), Leadership(2, "two", False)
    assert follow(None, one) == one and follow(one, two) == two
    left, late = replace(two, generation=3, released=True), replace(one, generation=3, released=True)
    assert follow(two, left) == left
    assert follow(two, late) == two, "the first had not seen the second"
    assert follow(two, replace(late, unsure=True)).unsure, "whoever restored the topic says so"


HALT = Halt(40, "ops@h", "failover", 900)
SEEN = Seen.of(800, {("t", 0): 12, ("t", 1): 0, ("u", 3): 40})


def test_a_leader_repeats_the_halt_that_it_heeds_and_how_far_the_copy_was() -> None:
    said = {"driver": "d", "halt": HALT.to_repeat(), "at_rest": True, "seen": SEEN.to_value()}
    found, at_work = leader(said), leader(said | {"at_rest": False})
    assert found is not None and (found.halt, found.seen) == (HALT, Seen(800, {("u", 3): 40, ("t", 0): 12}))
    assert found.rests_for(HALT) and not found.rests_for(replace(HALT, number=41))
    assert at_work is not None and not at_work.rests_for(HALT)


@pytest.mark.parametrize("halt", [None, 7, {}, {"number": "x", "by": "b", "why": "w", "since_ms": 1}, {"by": "b"}])
@pytest.mark.parametrize("seen", [None, [], {"at_ms": 1}, {"at_ms": 1, "lag": 3, "more": 0}])
def test_what_is_no_halt_says_nothing(halt: object, seen: object) -> None:
    found = leader({"driver": "d", "halt": halt, "seen": seen})
    assert found is not None and (found.halt, found.seen) == (None, None)


def test_very_many_partitions_that_lag_are_summed_up() -> None:
    seen = Seen.of(1, {("t", number): number for number in range(MOST_NAMED + 3)})
    assert len(seen.lag) == MOST_NAMED and seen.more == 1 + 2
    assert parse_seen(seen.to_value()) == seen
