"""What an operator names is found, or the error says what there is."""

from __future__ import annotations

import pytest

from sparkmirror.control.progress_editor import choose_places, plan_set
from sparkmirror.errors import ConfigError
from sparkmirror.topology.standing import AS_SET, Standing

KNOWN = [("orders", 0), ("orders", 1), ("logs-1", 0), ("audit", 0), ("audit", 1), ("audit-1", 0)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("orders", [("orders", 0), ("orders", 1)]),
        ("orders:", [("orders", 0), ("orders", 1)]),
        ("orders:1", [("orders", 1)]),
        ("orders-1", [("orders", 1)]),
        ("logs-1", [("logs-1", 0)]),
        ("logs-1-0", [("logs-1", 0)]),
        ("audit:1", [("audit", 1)]),
        ("audit-1:", [("audit-1", 0)]),
    ],
)
def test_a_topic_or_a_partition_is_found(text: str, expected: list[tuple[str, int]]) -> None:
    assert choose_places(text, KNOWN) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("order", "no topic order: there are audit, audit-1, logs-1, orders"),
        ("orders:7", "topic orders has no partition 7: it has 0, 1"),
        ("logs:1", "no topic logs:1: there are"),
        ("audit-1", "audit-1 can mean a topic or a partition: write audit-1: or audit:1"),
    ],
)
def test_what_is_not_found_is_an_error_with_what_there_is(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        choose_places(text, KNOWN)
    assert str(error.value).startswith(said)


def test_many_topics_are_counted_and_not_listed() -> None:
    with pytest.raises(ConfigError, match="and 30 more"):
        choose_places("x", [(f"t{i}", 0) for i in range(50)])


def test_a_position_that_is_set_is_an_offset_alone() -> None:
    assert plan_set(5, [("orders", 0)], {("orders", 0): 5}) == {("orders", 0): Standing(5, target_end=AS_SET)}


def test_an_offset_beyond_the_sources_end_is_refused() -> None:
    with pytest.raises(ConfigError, match="orders-0 ends at offset 4 in the source"):
        plan_set(5, [("orders", 0)], {("orders", 0): 4})
