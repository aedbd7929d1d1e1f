"""Where a partition stands, how far behind it is and what its state is called."""

from __future__ import annotations

import pytest

from sparkmirror.control.survey_rows import Bounds, PartitionRow, assemble_partitions, assemble_topics, find_stand
from sparkmirror.copy.receipt import NOTED, STOPPED, WAITING
from sparkmirror.topology.fact import Fact
from sparkmirror.topology.select import TopicPair
from sparkmirror.topology.standing import Standing

PAIR = TopicPair(topic="t", remote="A.t", partitions=1, present=1)
GAP = Fact(kind=STOPPED, name="gap", error="1..2")


def row(
    bounds: Bounds,
    progress: Standing | None = None,
    *facts: tuple[tuple[str, int], Fact],
    pair: TopicPair = PAIR,
    committed: bool = True,
) -> PartitionRow:
    known = {("t", 0): progress} if progress else {}
    return assemble_partitions([pair], {("t", 0): bounds}, known, dict(facts), committed)[0]


@pytest.mark.parametrize(
    ("progress", "target_end", "stand"),
    [
        (None, 40, 40),
        (Standing(40, 39, 40), 45, 45),
        (Standing(50, 39, 40, translated="why"), 40, 50),
        (Standing(50, 39, 40, translated="why"), 45, 55),
        (Standing(50), 40, 50),
        (Standing(100, -1, 0, log_start=100), 0, 100),
        (Standing(50, 39, 40, translated="why"), None, None),
    ],
)
def test_the_next_source_offset(progress: Standing | None, target_end: int | None, stand: int | None) -> None:
    assert find_stand(progress, target_end) == stand


def test_of_a_source_topic_that_was_made_anew_all_is_missing() -> None:
    anew = Fact(kind=STOPPED, name="source-recreated", error="why")
    assert row(Bounds(2, 7, 7, 0, 100), Standing(100, 99, 100), (("t", 0), anew)).lag == 5


@pytest.mark.parametrize(
    ("bounds", "progress", "expected"),
    [
        (Bounds(0, 100, 120, 0, 100), Standing(100, 99, 100), ("copied", 0)),
        (Bounds(0, 100, 120, 0, 90), Standing(90, 89, 90), ("copying", 10)),
        (Bounds(0, 100, 100, 0, 90), None, ("copying", 10)),
        (Bounds(20, 100, 100, 0, 0), None, ("new", 80)),
        (Bounds(0, 0, 0, 0, 0), None, ("copied", 0)),
        (Bounds(0, 100, 100, 0, 45), Standing(50, 39, 40, translated="why"), ("copying", 45)),
        (Bounds(0, 100, 100, 0, 500), None, ("new", 100)),
        (Bounds(None, None, None, 0, 0), None, ("unknown", None)),
        (Bounds(0, 100, 100, None, None), Standing(90, 89, 90), ("unknown", None)),
    ],
)
def test_state_and_lag(bounds: Bounds, progress: Standing | None, expected: tuple[str, int | None]) -> None:
    found = row(bounds, progress)
    assert (found.state, found.lag) == expected


def test_a_flow_that_reads_uncommitted_copies_up_to_the_high_watermark() -> None:
    assert row(Bounds(0, 100, 120, 0, 100), committed=False).lag == 20


def test_facts_name_the_state_unless_they_are_only_noted() -> None:
    behind = Bounds(0, 100, 120, 0, 90)
    for kind, state in ((STOPPED, STOPPED), (WAITING, WAITING), (NOTED, "copying")):
        fact = Fact(kind=kind, name="gap", error="1..2")
        found = row(behind, None, (("t", 0), fact))
        assert (found.state, found.fact, found.lag) == (state, fact, 10)


def test_a_partition_without_a_target_is_missing_with_all_of_the_source_to_copy() -> None:
    missing = TopicPair(topic="t", remote="A.t", partitions=1, present=0)
    found = row(Bounds(20, 100, 100), pair=missing)
    assert (found.state, found.lag) == ("missing", 80)


def test_a_topic_that_is_refused_stops_its_partitions_until_it_is_there() -> None:
    refused = (("t", -1), Fact(kind=STOPPED, name="topic-refused", error="no"))
    missing = TopicPair(topic="t", remote="A.t", partitions=1, present=0)
    assert row(Bounds(20, 100, 100), None, refused, pair=missing).state == STOPPED
    assert row(Bounds(20, 100, 100, 0, 20), None, refused).state == "copying"


def test_what_is_noted_of_a_topic_stays_with_the_topic() -> None:
    noted = {("t", -1): Fact(kind=NOTED, name="partition-count", error="more")}
    assert assemble_topics([PAIR], noted)[0].fact == noted["t", -1]
    assert row(Bounds(0, 1, 1, 0, 1), None, *noted.items()).fact is None


def test_the_reason_of_translated_offsets_is_kept_beside_a_fact() -> None:
    found = row(Bounds(0, 100, 100, 0, 40), Standing(50, 39, 40, translated="why"), (("t", 0), GAP))
    assert (found.translated, found.fact) == ("why", GAP)


def test_a_target_that_ends_behind_its_source_is_no_copy_whatever_the_numbers_say() -> None:
    foreign = row(Bounds(0, 10, 10, 0, 11), Standing(10, 9, 10))
    assert foreign.fact is not None and (foreign.state, foreign.fact.name) == (STOPPED, "foreign-writer")
    assert "into the target topic A.t, between offsets 10 and 10" in foreign.fact.error
    cut = row(Bounds(0, 8, 8, 0, 10), Standing(10, 9, 10))
    assert cut.fact is not None and (cut.state, cut.fact.name) == (STOPPED, "source-truncated")
    assert row(Bounds(0, 10, 10, 0, 11), Standing(10, 9, 11, translated="why")).state == "copied"
    held = row(Bounds(0, 8, 10, 0, 10), Standing(10, 9, 10))
    assert (held.state, held.lag) == ("copied", 0), "the mirror may have read what is not stable any more"


def test_a_partition_that_stopped_lacks_all_that_progress_does_not_say() -> None:
    found = row(Bounds(0, 110, 110, 0, 110), Standing(10, 9, 10), (("t", 0), GAP))
    assert (found.state, found.lag) == (STOPPED, 100)
