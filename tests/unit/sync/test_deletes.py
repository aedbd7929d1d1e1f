"""Which remote topics may end with their source topics."""

from __future__ import annotations

import pytest

from sparkmirror.sync.deletes import find_shared, plan_deletes
from sparkmirror.topology.select import TopicSelector
from tests.support.flow_text import flow_of

SELECTOR = TopicSelector.of(flow_of("topics=t,u\n"))
MADE = {"a.t": "t"}


def test_a_topic_that_the_mirror_made_goes_when_its_source_is_not_listed() -> None:
    assert plan_deletes(MADE, {"u"}, {"a.t", "a.u"}, SELECTOR) == {"a.t": "t"}


@pytest.mark.parametrize(
    ("made", "source", "target"),
    [
        (MADE, {"t"}, {"a.t"}),  # it is there
        ({}, set(), {"a.t"}),  # somebody else made it
        (MADE, set(), set()),  # gone already
        ({"a.x": "x"}, set(), {"a.x"}),  # the file does not name it any more
        ({"renamed": "t"}, set(), {"renamed"}),  # the file calls it otherwise now
        ({"a.t": ""}, set(), {"a.t"}),  # its source was not noted
    ],
)
def test_all_others_stay(made: dict[str, str], source: set[str], target: set[str]) -> None:
    assert plan_deletes(made, source, target, SELECTOR) == {}


def test_a_topic_that_others_still_write_to_stays() -> None:
    chosen = TopicSelector.of(flow_of("topics.map=[tu]:all\n"))
    assert plan_deletes({"all": "t"}, {"u"}, {"all"}, chosen) == {}


def test_a_topic_that_others_share_or_shared_is_not_its_source_topics_alone() -> None:
    merging = TopicSelector.of(flow_of("topics.map=[tu]:all\n"))
    assert find_shared(["t"], merging, (), mutual=False).keys() == {"t"}
    assert find_shared(["t", "u"], SELECTOR, {"u"}, mutual=False).keys() == {"u"}
    assert find_shared(["t"], SELECTOR, (), mutual=True).keys() == {"t"}
    assert not find_shared(["t"], SELECTOR, (), mutual=False)
