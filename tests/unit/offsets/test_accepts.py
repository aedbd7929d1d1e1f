"""What somebody accepts of a partition: said once, and over when it went on."""

from __future__ import annotations

import pytest

from sparkmirror.offsets.accepts import Accepted, accept_key, parse_accept_key, parse_accepted
from sparkmirror.topology.fact import Fact
from sparkmirror.topology.standing import Standing

PLACE = ("orders", 0)
GAP = Accepted(fact="gap", by="me@here", since="then")
ANEW = Accepted(fact="target-recreated", by="me@here", target_id="old")


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


@pytest.mark.parametrize("value", [None, {}, {"fact": 5, "by": "me", "since": ""}, {"fact": "gap", "by": "me"}, []])
def test_what_cannot_be_read_accepts_nothing(value: object) -> None:
    assert parse_accepted(value) is None


def test_a_word_holds_for_the_fact_that_was_shown_and_no_other() -> None:
    assert GAP.holds(Fact(kind="stopped", name="gap", error="...", since="then"), None)
    assert not GAP.holds(None, None)
    assert not GAP.holds(Fact(kind="stopped", name="gap", error="...", since="later"), None)
    assert not GAP.holds(Fact(kind="noted", name="gap", error="...", since="then"), None)
    assert not GAP.holds(Fact(kind="stopped", name="diverged", error="...", since="then"), None)


def test_a_topic_that_is_mirrored_anew_has_begun_when_progress_tells_of_another_one() -> None:
    diverged = Fact(kind="stopped", name="diverged", error="...")
    assert ANEW.holds(diverged, Standing(10, target_id="old"))
    assert not ANEW.holds(diverged, Standing(10, target_id="new"))
    assert not ANEW.holds(None, Standing(10)), "set by hand"
    assert not ANEW.holds(None, None)
