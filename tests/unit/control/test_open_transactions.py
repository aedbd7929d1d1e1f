"""A last stable offset that stands still is said after a while, seldom again, and not any more when it moves."""

from __future__ import annotations

from sparkmirror.control.lag import Ends
from sparkmirror.control.open_transactions import Stall, StallWatch, open_transaction
from sparkmirror.copy.receipt import WAITING
from sparkmirror.net.offsets import OpenTransaction

PLACE = ("t", 0)


def held(stable: int, high: int = 100) -> dict[tuple[str, int], Ends]:
    return {PLACE: Ends(source=stable, source_high=high, target=stable)}


def test_it_is_due_after_the_first_while_and_whenever_the_time_has_doubled() -> None:
    watch = StallWatch(60)
    due = [second for second in range(0, 1000, 5) if watch.look(held(10), second)]
    assert due == [60, 120, 240, 480, 960]
    assert watch.said() == {PLACE}


def test_one_that_moves_is_never_due() -> None:
    watch = StallWatch(60)
    assert not any(watch.look(held(second), second) for second in range(100))
    assert watch.said() == set()


def test_it_is_over_when_the_offset_moves_or_reaches_the_high_watermark() -> None:
    for after in (held(11), held(100)):
        watch = StallWatch(60)
        watch.look(held(10), 0)
        assert watch.look(held(10), 70)
        assert not watch.look(after, 75)
        assert watch.said() == set()


def test_a_partition_that_cannot_be_asked_stays_as_it_was() -> None:
    watch = StallWatch(60)
    watch.look(held(10), 0)
    watch.look(held(10), 70)
    assert watch.look({}, 200) == {}
    assert watch.said() == {PLACE}


def test_what_an_earlier_driver_saw_counts_from_then() -> None:
    watch = StallWatch(60)
    watch.believe({PLACE: 0.0, ("other", 0): 0.0})
    assert watch.look(held(10), 1000)[PLACE].stood_s == 1000
    fresh = {("other", 0): Ends(source=1, source_high=2, target=1)}
    assert watch.look(fresh, 1005) == {}, "it had gone on at the first look"


def test_the_text_names_offsets_duration_and_producer() -> None:
    fact = open_transaction(PLACE, Stall(10, 100, began=0.0, stood_s=61.4), [OpenTransaction(4711, 10)])
    assert (fact.kind, fact.name, fact.since) == (WAITING, "open-transaction", "1970-01-01T00:00:00.000Z")
    for part in ("stable offset 10 ", "for 61 s", "high watermark 100", "producer id 4711", "--start-offset 10"):
        assert part in fact.error
    assert "a producer that the broker does not name" in open_transaction(PLACE, Stall(10, 100, 0.0), []).error
