"""What somebody accepts of a partition: said once, and over when it went on."""

from __future__ import annotations

import pytest

from sparkmirror.offsets.accepts import Accepted, accept_key, parse_accept_key, parse_accepted
from sparkmirror.topology.fact import Fact
from sparkmirror.topology.standing import Standing

PLACE = ("orders", 0)
GAP = Accepted("gap", "me@here", 5)
ANEW = Accepted("target-recreated", "me@here", 5, "old")


@pytest.mark.parametrize("word", [GAP, ANEW])
def test_a_record_says_all_of_it(word: Accepted) -> None:
    assert parse_accept_key(accept_key("a", PLACE), "a") == PLACE
    assert parse_accepted(word.to_value()) == word


@pytest.mark.parametrize(
    "key",
    [{}, {"accept": "orders", "source": "a"}, {"accept": ["orders", "0"], "source": "a"}, accept_key("b", PLACE), 5],
)
def test_other_records_are_nobodys_word(key: object) -> None:
    assert parse_accept_key(key, "a") is None


@pytest.mark.parametrize("value", [None, {}, {"fact": 5, "by": "me", "since_ms": 0}, {"fact": "gap", "by": "me"}, []])
def test_what_cannot_be_read_accepts_nothing(value: object) -> None:
    assert parse_accepted(value) is None


def test_it_is_over_when_something_else_or_nothing_stops_the_partition() -> None:
    stopped = Fact(kind="stopped", name="gap", error="...")
    assert not GAP.is_spent(stopped, None)
    assert GAP.is_spent(None, None)
    assert GAP.is_spent(Fact(kind="noted", name="gap", error="..."), None)
    assert GAP.is_spent(Fact(kind="stopped", name="diverged", error="..."), None)


def test_a_topic_that_is_mirrored_anew_has_begun_when_progress_tells_of_another_one() -> None:
    diverged = Fact(kind="stopped", name="diverged", error="...")
    assert not ANEW.is_spent(diverged, None)
    assert not ANEW.is_spent(None, Standing(10, target_id="old"))
    assert not ANEW.is_spent(None, Standing(10)), "set by hand"
    assert ANEW.is_spent(diverged, Standing(10, target_id="new"))
