"""What the driver says of topics whose partition counts differ or that the target refuses."""

from __future__ import annotations

from sparkmirror.control.topic_facts import (
    Refusal,
    all_places,
    find_filling_facts,
    find_hidden_facts,
    find_topic_facts,
    find_unread_facts,
)
from sparkmirror.copy.lease import NOTHING, TRANSACTIONS
from sparkmirror.copy.receipt import NOTED, STOPPED, WAITING
from sparkmirror.net.denial import Denial
from sparkmirror.protocol import codes
from sparkmirror.topology.select import TopicPair

NO = Refusal(codes.TOPIC_AUTHORIZATION_FAILED, "B says no")


def pair(partitions: int, present: int) -> TopicPair:
    return TopicPair(topic="t", remote="A.t", partitions=partitions, present=present)


def test_equal_counts_are_no_fact() -> None:
    assert find_topic_facts([pair(2, 2)], {}) == {}


def test_a_target_with_more_partitions_is_noted_for_the_topic() -> None:
    found = find_topic_facts([pair(2, 5)], {})
    assert [(place, f.kind, f.name) for place, f in found.items()] == [(("t", -1), NOTED, "partition-count")]
    assert "A.t has 5 partitions where the source has 2" in found["t", -1].error


def test_a_target_that_cannot_be_extended_stops_the_missing_partitions() -> None:
    found = find_topic_facts([pair(4, 2)], {"A.t": NO})
    assert [(place, f.kind, f.name) for place, f in found.items()] == [
        (("t", 2), STOPPED, "partition-count"),
        (("t", 3), STOPPED, "partition-count"),
    ]
    assert found["t", 2].error.endswith("can't be extended: B says no")


def test_a_topic_that_is_refused_is_a_fact_of_the_topic() -> None:
    found = find_topic_facts([pair(4, 0)], {"A.t": NO, "A.other": NO})
    assert [(place, f.kind, f.said) for place, f in found.items()] == [(("t", -1), STOPPED, "topic-refused: B says no")]


def test_a_refusal_that_passes_only_waits() -> None:
    found = find_topic_facts([pair(1, 0)], {"A.t": Refusal(codes.REQUEST_TIMED_OUT, "later")})
    assert found["t", -1].kind == WAITING


def test_creation_under_way_is_no_fact() -> None:
    assert find_topic_facts([pair(4, 0), pair(4, 2)], {}) == {}


def test_facts_can_be_about_the_topic_and_each_partition_of_the_source() -> None:
    assert list(all_places([pair(2, 5)])) == [("t", -1), ("t", 0), ("t", 1)]


def test_what_a_missing_right_means_is_said_with_the_command_that_grants_it() -> None:
    denial = Denial("User:m has no READ on topic A.t of cluster B", "kafka-acls.sh --add")
    unread = find_unread_facts([pair(1, 1)], {"A.t": denial, "A.gone": denial})["t", -1]
    assert (unread.kind, unread.name) == (NOTED, "tail-unread")
    hidden = find_hidden_facts({"t": denial})["t", -1]
    assert (hidden.kind, hidden.name) == (STOPPED, "unauthorized")
    slow, none = (find_filling_facts(way, denial)["", -1] for way in (TRANSACTIONS, NOTHING))
    assert "empty transactions" in slow.error and "translated offsets" in none.error
    for fact in (unread, hidden, slow, none):
        assert denial.said in fact.error and fact.error.endswith(f": {denial.cure}")
