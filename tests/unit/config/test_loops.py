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
    ("pairs", "more", "way"),
    [
        ("a->b b->a", "a->b.topics.map=x:y\nb->a.topics.map=y:x\n", "x on a, y on b, x on a"),
        (
            "a->b b->a",
            "a->b.topics.map=logs-(.*):eu-logs-$1\nb->a.topics.map=eu-logs-(.*):logs-$1\n",
            "logs-x on a, eu-logs-x on b, logs-x on a",
        ),
        ("a->b b->a", "a->b.topics.map=.*:all\nb->a.topics.map=all:orders\n", "x on a, all on b, orders on a"),
        ("a->b b->a", "topics.map=(.*):$1\n", "x on a, x on b, x on a"),
        ("a->b b->a", "topics.map=(.*):$1-copy\n", "x on a, x-copy on b, x-copy-copy on a"),
        ("a->b b->c c->a", "a->b.topics.map=x:y\nb->c.topics.map=y:z\nc->a.topics.map=z:x\n", "y on b, z on c, x on a"),
        # The alias that the first hop puts in front is taken off again.
        ("a->b b->c c->a", "a->b.topics=x\nb->c.topics.map=a[.](.*):$1\nc->a.topics.map=x:x\n", "x on c, x on a"),
        ("a->b b->a", f"a->b.{IDENTITY}b->a.topics.map=x:x\n", "x on a, x on b, x on a"),
    ],
)
def test_renames_that_undo_one_another_are_refused(pairs: str, more: str, way: str) -> None:
    with pytest.raises(ConfigError, match="would come back for ever") as caught:
        parse(pairs, more)
    assert way in str(caught.value) and "topics.exclude" in str(caught.value)


@pytest.mark.parametrize(
    "more",
    [
        "a->b.topics.map=x:y\nb->a.topics.map=z:x\n",
        "a->b.topics.map=x:y\nb->a.topics.map=y:x\nb->a.topics.exclude=y\n",
        "a->b.topics.map=x:y\nb->a.topics.map=y:x\na->b.topics=other\n",
        "a->b.topics.map=orders:a.orders-of-a\n",
        "topics.map=x:y\n",
        f"topics.map=x:y\nidentity.bidirectional=true\n{IDENTITY}",
        f"topics.map=x:y\nidentity.bidirectional=true\n{IDENTITY}b->a.topics.map=y:x\n",
    ],
)
def test_renames_that_end_somewhere_are_permitted(more: str) -> None:
    parse("a->b b->a", more)


def test_names_both_ways_need_one_prefix_both_ways() -> None:
    mutual = IDENTITY + "identity.bidirectional=true\n"
    parse("a->b b->a", mutual + "replication.internal.topic.prefix=x\n")
    with pytest.raises(ConfigError, match=r"replication\.internal\.topic\.prefix: .* the same both ways"):
        parse("a->b b->a", mutual + "a->b.replication.internal.topic.prefix=x\n")


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
    with pytest.raises(ConfigError, match="a record would come back for ever"):
        parse("a->b b->a", more)


def test_what_merges_has_no_cure_but_to_change_the_flows() -> None:
    with pytest.raises(ConfigError, match="come back for ever: expected one flow less"):
        parse("a->b b->a", IDENTITY + "identity.bidirectional=true\ntopics.map=.*:all\n")
