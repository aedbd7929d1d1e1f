"""What was done to remote topics, as the claim topic keeps it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sparkmirror.offsets.topic_memory import MadeTopic, SetConfigs, TopicMemory


def test_it_holds_for_the_topic_of_that_id_alone() -> None:
    memory = TopicMemory()
    memory.note({"made": "a.t"}, json.loads(json.dumps(MadeTopic("id-1", "t", "cluster", "id-0").to_value())))
    memory.note({"configs": "a.t"}, json.loads(json.dumps(SetConfigs("id-1", frozenset({"k"})).to_value())))
    assert memory.made == {"a.t": MadeTopic("id-1", "t", "cluster", "id-0")}
    assert memory.is_made("a.t", "id-1") and not memory.is_made("a.t", "id-2") and not memory.is_made("a.u", "id-1")
    assert set(memory.names_set("a.t", "id-1")) == {"k"}
    assert not memory.names_set("a.t", "id-2") and not memory.names_set("a.u", "id-1")


def test_the_newest_word_counts() -> None:
    memory = TopicMemory()
    for names in (["k"], ["l", "m"]):
        memory.note({"configs": "a.t"}, {"topic_id": "", "names": names})
    assert set(memory.names_set("a.t", "")) == {"l", "m"}


@pytest.mark.parametrize("value", [{}, {"topic_id": 3}, {"names": "k"}, {"names": None}, {"names": [1, None]}])
def test_odd_values_are_read_as_far_as_they_go(value: dict[str, Any]) -> None:
    memory = TopicMemory()
    memory.note({"configs": "a.t"}, value)
    memory.note({"made": "a.t"}, value)
    memory.note({"other": 1}, value)
    assert memory.made.keys() == memory.configs.keys() == {"a.t"}
