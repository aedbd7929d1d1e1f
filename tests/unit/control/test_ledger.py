"""The ledger knows the newest position of each partition and says each fact once."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from sparkmirror.control.ledger import HALF_AFTER_S, Ledger
from sparkmirror.copy.receipt import GOES_ON, NOTED, SAID, SKIPPED, STOPPED, WAITING, Receipt
from sparkmirror.topology.fact import Fact
from sparkmirror.topology.standing import Standing

COPIED = Receipt(
    flow="A->B",
    topic="t",
    partition=0,
    kind="copied",
    source_first=0,
    source_end=10,
    target_first=0,
    target_end=10,
    stands="[10,9,10]",
    records=10,
    bytes=100,
)
GAP = Receipt(flow="A->B", topic="t", partition=0, kind=STOPPED, error="gap: 10..11")


def test_positions_of_a_round_are_those_of_the_last_receipt() -> None:
    ledger = Ledger()
    later = replace(COPIED, source_first=10, source_end=15, target_first=10, target_end=15, stands="[15,14,15]")
    assert ledger.take([COPIED, later]) == {"A->B": {("t", 0): Standing(15, 14, 15)}}
    assert ledger.records == 20


def test_a_fact_is_said_once_and_clears_when_the_partition_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    ledger = Ledger()
    with caplog.at_level(logging.INFO, "sparkmirror"):
        for _ in range(3):
            ledger.take([GAP])
        fact = ledger.facts("A->B")["t", 0]
        assert (fact.kind, fact.name, fact.error) == (STOPPED, "gap", "10..11")
        ledger.take([COPIED])
    assert ledger.facts("A->B") == {}
    assert [r.levelname for r in caplog.records] == ["ERROR", "INFO"]


def test_traffic_weighs_partitions_and_fades_by_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("sparkmirror.control.ledger.time.monotonic", lambda: now)
    ledger = Ledger()
    ledger.take([COPIED, replace(COPIED, partition=1, bytes=300)])
    assert ledger.traffic("A->B") == {("t", 0): 100.0, ("t", 1): 300.0}
    now += HALF_AFTER_S
    ledger.take([COPIED])
    assert ledger.traffic("A->B") == {("t", 0): 150.0, ("t", 1): 150.0}
    ledger.begin_round()
    assert ledger.traffic("A->B") == {("t", 0): 150.0, ("t", 1): 150.0}, "rounds have any length"
    for _ in range(10):
        now += HALF_AFTER_S
        ledger.take([COPIED])
    assert set(ledger.traffic("A->B")) == {("t", 0)}


def test_the_rate_counts_the_last_half_minute() -> None:
    ledger = Ledger()
    ledger.take([replace(COPIED, bytes=30_000_000)])
    assert ledger.rate("A->B") == pytest.approx(1_000_000)
    assert ledger.rate("other") == 0


def test_a_tolerated_fact_is_kept_beside_and_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    ledger = Ledger()
    with caplog.at_level(logging.INFO, "sparkmirror"):
        for _ in range(2):
            ledger.take([replace(GAP, kind=NOTED), COPIED])
    assert (ledger.troubled("A->B"), ledger.stopped("A->B")) == (set(), set())
    assert ledger.facts("A->B")["t", 0].kind == NOTED
    assert [r.levelname for r in caplog.records] == ["WARNING"]


def test_facts_of_an_earlier_driver_trouble_their_partitions_until_the_copy_goes_on() -> None:
    ledger = Ledger()
    ledger.begin_with("A->B", {("t", 0): Fact(kind=STOPPED, name="gap", error="10..11", since="then")})
    assert ledger.troubled("A->B") == {("t", 0)}
    assert ledger.stopped("A->B") == set(), "this driver has not tried it yet"
    ledger.take([replace(GAP, kind=GOES_ON, error="")])
    assert ledger.facts("A->B") == {}


def test_what_only_waits_has_no_name_whatever_its_text_looks_like() -> None:
    ledger = Ledger()
    ledger.take([replace(GAP, kind=WAITING, error="target: NOT_LEADER_OR_FOLLOWER (6)")])
    fact = ledger.facts("A->B")["t", 0]
    assert (fact.name, fact.error) == ("", "target: NOT_LEADER_OR_FOLLOWER (6)")


def test_facts_of_topics_that_left_the_flow_are_forgotten() -> None:
    ledger = Ledger()
    ledger.take([GAP, replace(GAP, topic="u"), replace(GAP, topic="u", kind=NOTED)])
    ledger.note_found("A->B", {}, {("t", 0), ("t", -1)})
    assert set(ledger.facts("A->B")) == {("t", 0)}


def test_an_acknowledgement_that_was_late_is_said_also_when_it_came(caplog: pytest.LogCaptureFixture) -> None:
    ledger = Ledger()
    late = Receipt(flow="A->B", topic="t", partition=0, kind=WAITING, error="flush-timeout: an append to h:1")
    with caplog.at_level(logging.INFO, "sparkmirror"):
        ledger.take([late, COPIED])
    assert [r.getMessage() for r in caplog.records] == [
        "flow A->B: t-0 waiting: flush-timeout: an append to h:1",
        "flow A->B: t-0 goes on",
    ]
    ledger.take([COPIED, late])
    assert ledger.facts("A->B")["t", 0].name == "flush-timeout"


def test_records_that_were_left_out_are_counted_and_said_once_unless_each_is_to_be(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ledger = Ledger()
    skipped = Receipt(flow="A->B", topic="t", partition=0, kind=SKIPPED, skipped=3, error="offset 7 is left out")
    said = Receipt(flow="A->B", topic="t", partition=0, kind=SAID, error="offset 7 is left out; key b'k'")
    with caplog.at_level(logging.INFO, "sparkmirror"):
        ledger.take([skipped])
        ledger.take([replace(skipped, error="offset 9 is left out")])
        ledger.take([said, said])
    assert ledger.skipped == 6
    fact = ledger.facts("A->B")["t", 0]
    assert (fact.kind, fact.name, fact.error) == (NOTED, "record-skipped", "offset 9 is left out")
    assert [r.getMessage() for r in caplog.records] == [
        "flow A->B: t-0 goes on without some records: offset 7 is left out",
        *["flow A->B: t-0: offset 7 is left out; key b'k'"] * 2,
    ]
    assert ledger.troubled("A->B") == set()


def test_how_long_tries_have_failed_is_known_until_one_goes_well() -> None:
    ledger = Ledger()
    waits = Receipt(flow="A->B", topic="t", partition=0, kind=WAITING, error="no leader")
    ledger.take([waits])
    first = ledger.failing("A->B")["t", 0]
    ledger.take([replace(waits, kind=STOPPED, error="retries-exhausted: for longer than 1 s")])
    assert ledger.failing("A->B")["t", 0] > first
    ledger.take([GAP])
    assert ledger.failing("A->B") == {}, "what stops it is not the tries"
    ledger.take([waits])
    ledger.take([COPIED])
    assert ledger.failing("A->B") == {}
