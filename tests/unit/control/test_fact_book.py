"""Of what the copy says and what the driver finds, both are kept and the worse is shown."""

from __future__ import annotations

import logging

import pytest

from sparkmirror.control.fact_book import FactBook
from sparkmirror.control.topic_facts import OPEN_TRANSACTION
from sparkmirror.copy.receipt import NOTED, STOPPED, WAITING
from sparkmirror.topology.fact import Fact

PLACE = ("t", 0)
HELD = Fact(kind=WAITING, name=OPEN_TRANSACTION, error="producer id 7 ...", since="10:00")


def test_a_fact_keeps_its_time_while_its_name_stays() -> None:
    book = FactBook("A->B")
    book.note_trouble(PLACE, STOPPED, "gap: 1..2", "10:00")
    book.note_trouble(PLACE, STOPPED, "gap: 1..9", "11:00")
    assert book.worst()[PLACE] == Fact(kind=STOPPED, name="gap", error="1..9", since="10:00")
    book.note_trouble(PLACE, STOPPED, "corrupt: at 9", "12:00")
    assert book.worst()[PLACE].since == "12:00"


def test_partitions_that_wait_for_one_broker_are_one_warning_and_one_end(caplog: pytest.LogCaptureFixture) -> None:
    book = FactBook("A->B")
    with caplog.at_level(logging.INFO, "sparkmirror"):
        for partition in range(3):
            book.note_trouble(("t", partition), WAITING, "h:1 closed the connection", "10:00")
        for partition in range(3):
            book.note_trouble(("t", partition), WAITING, "cluster B: no broker answers: h:1 can't ...", "10:01")
        book.note_trouble(("u", 0), WAITING, "target: NOT_LEADER_OR_FOLLOWER", "10:02")
        for partition in (0, 1, 2):
            book.note_going_on(("t", partition))
        for partition in (1, 2):
            book.note_trouble(("t", partition), WAITING, "h:1 closed the connection", "10:03")
        book.note_trouble(("t", 2), STOPPED, "gap: 1..2", "10:03")  # while another waits on
    assert [r.getMessage() for r in caplog.records] == [
        "flow A->B: t-0 waiting: h:1 closed the connection",
        "flow A->B: u-0 waiting: target: NOT_LEADER_OR_FOLLOWER",
        "flow A->B: t-2 goes on",
        "flow A->B: t-1 waiting: h:1 closed the connection",
        "flow A->B: t-2 stopped: gap: 1..2",
    ]


def test_the_worst_fact_is_shown_and_the_others_come_back() -> None:
    book = FactBook("A->B")
    book.note_tolerated(PLACE, "gap: 1..2", "9:00")
    book.note_found({PLACE: HELD}, "10:00")
    book.note_trouble(PLACE, STOPPED, "corrupt: at 9", "11:00")
    assert book.worst()[PLACE].name == "corrupt"
    book.note_going_on(PLACE)
    assert book.worst()[PLACE] == HELD
    book.note_found({}, "12:00")
    assert book.worst()[PLACE] == Fact(kind=NOTED, name="gap", error="1..2", since="9:00")


def test_facts_that_were_read_go_back_to_their_shelves() -> None:
    book = FactBook("A->B")
    gap = Fact(kind=STOPPED, name="gap", error="1..2", since="9:00")
    noted = Fact(kind=NOTED, name="corrupt", error="at 9", since="9:00")
    read = {("t", 0): gap, ("t", 1): HELD, ("t", 2): noted, ("t", 3): Fact(kind="of a later version", error="?")}
    book.begin_with(read)
    assert book.worst() == {place: fact for place, fact in read.items() if place != ("t", 3)}
    assert book.troubled() == {("t", 0)}
    book.note_found({}, "10:00")
    book.note_going_on(("t", 0))
    assert book.worst() == {("t", 2): noted}


def test_a_fact_that_was_read_is_said_when_it_is_met_again(caplog: pytest.LogCaptureFixture) -> None:
    book = FactBook("A->B")
    book.begin_with({PLACE: Fact(kind=STOPPED, name="gap", error="1..2", since="9:00")})
    with caplog.at_level(logging.INFO, "sparkmirror"):
        for _ in range(2):
            book.note_trouble(PLACE, STOPPED, "gap: 1..2", "10:00")
    assert [r.getMessage() for r in caplog.records] == ["flow A->B: t-0 stopped: gap: 1..2"]
    assert book.worst()[PLACE].since == "9:00"
    assert book.stopped() == {PLACE}


def test_what_the_driver_finds_is_said_when_it_comes_and_goes(caplog: pytest.LogCaptureFixture) -> None:
    book = FactBook("A->B")
    wider = Fact(kind=NOTED, name="partition-count", error="more")
    with caplog.at_level(logging.INFO, "sparkmirror"):
        for found in ({("t", -1): wider}, {("t", -1): wider}, {}, {}):
            book.note_found(found, "10:00")
    assert [r.getMessage() for r in caplog.records] == [
        "flow A->B: topic t noted: partition-count: more",
        "flow A->B: topic t: partition-count is over",
    ]


def test_a_stop_ends_with_what_is_copied_and_not_with_what_only_waits() -> None:
    """What is removed from the target rests on it, and the source topic may be gone meanwhile."""
    book = FactBook("A->B")
    book.note_trouble(PLACE, STOPPED, "source-recreated: it was made anew", "10:00")
    book.note_trouble(PLACE, WAITING, "the source has no t-0", "11:00")
    assert book.worst()[PLACE] == Fact(kind=STOPPED, name="source-recreated", error="it was made anew", since="10:00")
    book.note_going_on(PLACE)
    assert not book.worst()


def test_what_a_foreign_writer_has_led_to_does_not_take_the_place_of_the_cause() -> None:
    book = FactBook("A->B")
    book.note_trouble(PLACE, STOPPED, "foreign-writer: between 10 and 10", "10:00")
    book.note_trouble(PLACE, STOPPED, "diverged: the target's last records ...", "10:01")
    assert book.worst()[PLACE] == Fact(kind=STOPPED, name="foreign-writer", error="between 10 and 10", since="10:00")
    book.note_trouble(PLACE, STOPPED, "target-recreated: ...", "10:02")
    assert book.worst()[PLACE].name == "target-recreated", "something else happened since"
