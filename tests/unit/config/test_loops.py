"""Flows that keep names must not lead in a circle."""

from __future__ import annotations

import pytest

from sparkmirror.config.mirror import parse_mirror_config
from sparkmirror.errors import ConfigError

IDENTITY = "replication.policy.class=IdentityReplicationPolicy\n"


def parse(pairs: str, more: str = IDENTITY) -> None:
    lines = "".join(f"{pair}.enabled=true\n" for pair in pairs.split())
    parse_mirror_config(f"clusters=a,b,c\nbootstrap.servers=h:1\n{lines}{more}", "f")


def test_identity_both_ways_is_refused_with_reason_and_cure() -> None:
    with pytest.raises(ConfigError, match=r"on the way a->b->a .*identity\.bidirectional = true"):
        parse("a->b b->a")


def test_a_longer_circle_is_refused_too() -> None:
    with pytest.raises(ConfigError, match="on the way a->b->c->a"):
        parse("a->b b->c c->a", IDENTITY + "identity.bidirectional=true\n")


@pytest.mark.parametrize(
    ("pairs", "more"),
    [
        ("a->b b->a", ""),
        ("a->b", IDENTITY),
        ("a->b b->c a->c", IDENTITY),
        ("a->b b->a", IDENTITY + "identity.bidirectional=true\n"),
        ("a->b b->a", IDENTITY + "a->b.topics=x,y\nb->a.topics=z.*\n"),
        ("a->b b->a", IDENTITY + "a->b.topics=my.topic\nb->a.topics=other\n"),
        ("a->b b->a", IDENTITY + "b->a.topics=\n"),
        ("a->b b->a", "a->b." + IDENTITY),
        ("a->b b->a", "a->b.topics.map=orders:orders\n"),
        ("a->b b->a", "topics.map=orders:orders-eu\n"),
        ("a->b b->a", "topics.map=logs-(.*):eu-logs-$1\n"),
        ("a->b b->a", "a->b.topics.map=.*:all\nb->a.topics=other\n"),
        ("a->b b->a", IDENTITY + "identity.bidirectional=true\ntopics.map=x:y\n"),
        ("a->b b->a", IDENTITY + "a->b.topics=x\nb->a.topics=y\nb->a.topics.map=y:z\n"),
    ],
)
def test_what_cannot_go_round_is_permitted(pairs: str, more: str) -> None:
    parse(pairs, more)


@pytest.mark.parametrize("more", ["a->b.topics=x,y\nb->a.topics=y,z\n", "a->b.topics=my.topic\nb->a.topics=my-topic\n"])
def test_topics_that_both_name_would_go_round(more: str) -> None:
    with pytest.raises(ConfigError, match="come back for ever"):
        parse("a->b b->a", IDENTITY + more)


@pytest.mark.parametrize(
    "more",
    [
        "topics.map=orders:orders\n",
        "topics.map=.*:all\n",
        "topics.map=(.*):$1\n",
        "a->b.topics.map=x:y\nb->a.topics.map=y:x\n",
        "identity.bidirectional=true\ntopics.map=orders:orders\n",
        IDENTITY + "a->b.topics=x\na->b.topics.map=x:y\nb->a.topics=y\nb->a.topics.map=y:x\n",
    ],
)
def test_names_that_topics_map_gives_would_go_round_too(more: str) -> None:
    with pytest.raises(ConfigError, match="on the way a->b->a a record would come back for ever"):
        parse("a->b b->a", more)


def test_what_merges_has_no_cure_but_to_change_the_flows() -> None:
    with pytest.raises(ConfigError, match="come back for ever: expected one flow less"):
        parse("a->b b->a", IDENTITY + "identity.bidirectional=true\ntopics.map=.*:all\n")
