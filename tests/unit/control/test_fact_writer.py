"""Only differences are written."""

from __future__ import annotations

from sparkmirror.control.fact_writer import plan_facts
from sparkmirror.topology.fact import Fact

GAP = Fact(kind="stopped", name="gap", error="1..2", since="10:00")
WAIT = Fact(kind="waiting", error="for a leader", since="11:00")


def test_what_stands_there_is_not_written_again() -> None:
    assert plan_facts({("t", 0): GAP}, {("t", 0): GAP}) == {}


def test_new_changed_and_ended_facts_are_written() -> None:
    written = {("t", 0): GAP, ("t", 1): GAP, ("t", 2): GAP}
    facts = {("t", 0): GAP, ("t", 1): WAIT, ("t", 3): WAIT}
    assert plan_facts(written, facts) == {("t", 1): WAIT, ("t", 2): None, ("t", 3): WAIT}
