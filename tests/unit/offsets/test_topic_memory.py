"""What was done to remote topics, as the claim topic keeps it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sparkmirror.offsets.topic_memory import HeldTopic, MadeTopic, TopicConfigs, TopicMemory, rights_value
from sparkmirror.topology.acls import Grant, KnownRights
from sparkmirror.topology.known_configs import NOTHING_KNOWN, KnownConfigs

KNOWN = KnownConfigs(source_id="id-0", written={"k": ("1", None)}, by_hand={"l": "2", "m": None})
RIGHTS = KnownRights(frozenset({Grant("User:x", "*", 3, 3)}), frozenset({Grant("User:y", "*", 3, 2)}))


def as_written(value: dict[str, object]) -> dict[str, Any]:
    written: dict[str, Any] = json.loads(json.dumps(value))
    return written


def test_it_holds_for_the_topic_of_that_id_alone() -> None:
    memory = TopicMemory()
    memory.note({"made": "a.t"}, as_written(MadeTopic("id-1", "t", "cluster", "id-0").to_value()))
    memory.note({"configs": "a.t"}, as_written(TopicConfigs("id-1", KNOWN).to_value()))
    assert memory.made == {"a.t": MadeTopic("id-1", "t", "cluster", "id-0")}
    assert memory.is_made("a.t", "id-1") and not memory.is_made("a.t", "id-2") and not memory.is_made("a.u", "id-1")
    assert memory.configs_of("a.t", "id-1") == KNOWN
    assert memory.configs_of("a.t", "id-2") == memory.configs_of("a.u", "id-1") == NOTHING_KNOWN


def test_a_topic_that_another_was_written_into_is_known_by_its_id() -> None:
    memory = TopicMemory()
    memory.note({"made": "a.t"}, as_written(MadeTopic("id-1", "t", "cluster", "id-0").to_value()))
    assert memory.holds_others("a.t", "id-1", "u") and not memory.holds_others("a.t", "id-1", "t")
    memory.note({"holds": "a.t"}, as_written(HeldTopic("id-1").to_value()))
    assert memory.holds_others("a.t", "id-1", "t") and not memory.holds_others("a.t", "id-2", "u")
    memory.note({"holds": "x"}, as_written(HeldTopic("id-3", "t").to_value()))
    assert memory.holds_others("x", "id-3", "u") and not memory.holds_others("x", "id-3", "t")


def test_rights_hold_for_the_name_as_they_do_in_kafka() -> None:
    memory = TopicMemory()
    memory.note({"rights": "a.t"}, as_written(rights_value(RIGHTS)))
    assert memory.rights_of("a.t") == RIGHTS and memory.rights_of("a.u") == KnownRights()


def test_a_topic_that_ever_shared_its_remote_topic_is_known() -> None:
    memory = TopicMemory()
    memory.note({"origin": ["t", 0], "claim": "x"}, {"producer_id": 1})
    assert memory.merged == {"t"}


def test_the_newest_word_counts() -> None:
    memory = TopicMemory()
    for known in (NOTHING_KNOWN, KNOWN):
        memory.note({"configs": "a.t"}, as_written(TopicConfigs("", known).to_value()))
    assert memory.configs_of("a.t", "") == KNOWN


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"topic_id": 3},
        {"names": ["k"]},
        {"written": None, "by_hand": [1], "given": 3, "taken_away": None},
        {"written": {"k": 3}, "by_hand": {"l": [1]}, "given": [["User:x"], 3, ["User:x", "*", "3", 3]]},
    ],
)
def test_odd_values_are_read_as_far_as_they_go(value: dict[str, Any]) -> None:
    memory = TopicMemory()
    for kind in ("configs", "made", "holds", "rights"):
        memory.note({kind: "a.t"}, value)
    memory.note({"other": 1}, value)
    memory.note({"origin": []}, value)
    assert memory.made.keys() == memory.configs.keys() == memory.rights.keys() == {"a.t"}
    assert memory.rights_of("a.t") == KnownRights() and not memory.merged
    assert not memory.configs_of("a.t", "").written
