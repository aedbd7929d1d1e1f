"""Where a sink's micro-batch begins, and how much of it is there."""

from __future__ import annotations

import pytest

from sparkmirror.copy.sink_position import MicroBatch, check_count, plan_base
from sparkmirror.errors import MirrorError
from sparkmirror.topology.standing import Standing

NOW = MicroBatch(name="s", query="q", batch=7)
AFTER_SIX = Standing(100, 99, 500, batch=6, batch_first=80, query="q")


def test_rows_are_numbered_on_from_the_last_micro_batch() -> None:
    assert plan_base(None, NOW) == 0
    assert plan_base(AFTER_SIX, NOW) == 100


def test_a_micro_batch_that_was_written_gets_the_same_numbers_again() -> None:
    assert plan_base(AFTER_SIX._replace(batch=7), NOW) == 80


@pytest.mark.parametrize(
    ("hint", "name"),
    [(AFTER_SIX._replace(batch=8), "older-micro-batch"), (AFTER_SIX._replace(query="other"), "other-query")],
)
def test_another_checkpoint_is_refused(hint: Standing, name: str) -> None:
    with pytest.raises(MirrorError) as caught:
        plan_base(hint, NOW)
    assert caught.value.name == name
    assert "another name" in str(caught.value) or "a name of its own" in str(caught.value)


def test_a_replay_with_fewer_rows_is_named() -> None:
    check_count("t-0", 130, 130, 100)
    check_count("t-0", 150, 130, 100)
    with pytest.raises(MirrorError, match="t-0"):
        check_count("t-0", 129, 130, 100)
