"""A topic is the one that was mirrored only if its id says so, and nothing is removed where that is not known."""

from __future__ import annotations

import pytest

from sparkmirror.copy import facts
from sparkmirror.topology.fact import Fact
from sparkmirror.topology.incarnation import (
    OTHER_LOGS,
    Place,
    TopicIds,
    find_foreign,
    find_kept,
    find_others,
    find_unproven,
    find_written,
    why_another,
    why_not_same,
    why_other_logs,
    why_stopped,
)
from sparkmirror.topology.standing import Standing

KNOWN = Standing(10, source_id="s", target_id="t")


@pytest.mark.parametrize(
    ("known", "now", "same", "another"),
    [
        (KNOWN, TopicIds("s", "t"), True, False),
        (KNOWN, TopicIds("s2", "t"), False, True),
        (KNOWN, TopicIds("s", "t2"), False, True),
        (KNOWN, TopicIds("", "t"), False, False),
        (KNOWN, TopicIds("s", ""), False, False),
        (Standing(10), TopicIds("s", "t"), False, False),
        (Standing(10, source_id="s"), TopicIds("s2", "t"), False, True),
        (None, TopicIds("s", "t"), False, False),
    ],
)
def test_by_ids(known: Standing | None, now: TopicIds, same: bool, another: bool) -> None:
    assert (not why_not_same(known, now)) is same
    assert bool(why_another(known, now)) is another


@pytest.mark.parametrize(
    ("fact", "keeps_records", "keeps_all"),
    [
        (None, False, False),
        (Fact(kind="stopped", name="source-recreated", error="x"), True, True),
        (Fact(kind="stopped", name="record-too-large", error="x"), True, False),
        (Fact(kind="waiting", error="x"), False, False),
        (Fact(kind="noted", name="source-recreated", error="tolerated"), False, False),
    ],
)
def test_by_facts(fact: Fact | None, keeps_records: bool, keeps_all: bool) -> None:
    """A record that is too large may be copied when the configurations are those of the source."""
    assert bool(why_stopped(fact)) is keeps_records
    assert bool(why_other_logs(fact)) is keeps_all


def test_the_names_are_those_of_the_facts() -> None:
    said = {
        facts.diverged("t", 0, 1), facts.foreign_writer("t", 0, 1), facts.position_unknown("x"),
        facts.source_recreated("t"), facts.source_truncated("t", 2, 1), facts.target_recreated("t"),
        facts.target_truncated("t", 1, 2), facts.target_wiped("t", 1),
    }  # fmt: skip
    assert {error.name for error in said} == OTHER_LOGS


STOPPED = Fact(kind="stopped", name="record-too-large", error="x")
RECREATED = Fact(kind="stopped", name="source-recreated", error="x")
SAME, OTHER = TopicIds("s", "t"), TopicIds("s2", "t")


@pytest.mark.parametrize(
    ("ids", "standings", "known", "others", "unproven"),
    [
        (SAME, {("x", 0): KNOWN}, {}, False, False),
        (SAME, {("x", 0): KNOWN, ("x", 1): Standing(1)}, {}, False, False),
        (SAME, {("y", 0): KNOWN}, {}, False, True),
        (SAME, {("x", 0): KNOWN}, {("x", 1): STOPPED}, False, True),
        (SAME, {("x", 0): KNOWN}, {("x", 1): RECREATED}, True, True),
        (SAME, {("x", 0): KNOWN}, {("y", 1): RECREATED}, False, False),
        (OTHER, {("x", 0): KNOWN}, {}, True, True),
        (OTHER, {("x", 0): KNOWN, ("x", 1): KNOWN._replace(source_id="s2")}, {}, True, True),
    ],
)
def test_of_whole_topics(
    ids: TopicIds, standings: dict[Place, Standing], known: dict[Place, Fact], others: bool, unproven: bool
) -> None:
    """One partition proves that the topics are the same, and one is enough for another."""
    assert bool(find_others({"x": ids}, standings, known)) is others
    assert bool(find_unproven({"x": ids}, standings, known)) is unproven


@pytest.mark.parametrize(
    ("last_id", "standing", "fact", "why"),
    [
        ("s", KNOWN, None, ""),
        ("s", None, None, ""),  # nothing was copied
        ("s2", KNOWN, None, "made anew"),
        ("", KNOWN, None, "no ids"),
        ("", None, None, "not known which"),
        ("s", Standing(10), None, "does not say which"),
        ("s", KNOWN, Fact(kind="stopped", name="gap", error="1..2"), "stands still"),
    ],
)
def test_a_copy_ends_only_with_the_topic_that_it_was_made_of(
    last_id: str, standing: Standing | None, fact: Fact | None, why: str
) -> None:
    standings = {("x", 0): standing} if standing else {}
    found = find_kept({"x": last_id}, standings, {("x", 1): fact} if fact else {})
    assert found.keys() == ({"x"} if why else set()) and why in found.get("x", "")


def test_logs_that_do_not_end_where_the_mirror_left_them_hold_others_records() -> None:
    standings = {("x", 0): Standing(5, target_end=5), ("x", 1): Standing(5)}
    remotes = {"x": "a.x"}
    assert not find_written(remotes, {("a.x", 0): 5, ("a.x", 2): 0}, standings)
    for number, end in [(0, 6), (0, 4), (1, 5), (2, 1)]:
        assert "that the mirror did not write" in find_written(remotes, {("a.x", number): end}, standings)["x"]
    assert "does not answer" in find_written(remotes, {("a.x", 0): None}, standings)["x"]


def test_only_with_equal_offsets_a_topic_is_known_to_hold_nothing_else() -> None:
    ids = {"x": TopicIds("s", "t")}
    equal = Standing(5, target_end=5, source_id="s", target_id="t")
    assert not find_foreign(ids, {("x", 0): equal}, {})
    assert "translated" in find_foreign(ids, {("x", 0): equal, ("x", 1): equal._replace(translated="why")}, {})["x"]
    assert find_foreign(ids, {}, {}).keys() == {"x"}
