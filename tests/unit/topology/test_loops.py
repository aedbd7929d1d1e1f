"""Flows that keep names must not lead in a circle."""

from __future__ import annotations

import pytest

from sparkmirror.config.mirror import parse_mirror_config
from sparkmirror.config.model import FlowConfig
from sparkmirror.errors import ConfigError
from sparkmirror.topology.loops import refuse_loops

IDENTITY = "replication.policy.class=IdentityReplicationPolicy\n"


def flows(pairs: str, more: str = IDENTITY) -> tuple[FlowConfig, ...]:
    lines = "".join(f"{pair}.enabled=true\n" for pair in pairs.split())
    return parse_mirror_config(f"clusters=a,b,c\nbootstrap.servers=h:1\n{lines}{more}", "f").flows


def test_identity_both_ways_is_refused_with_reason_and_cure() -> None:
    with pytest.raises(ConfigError, match=r"a->b and b->a keep topic names .*identity\.bidirectional=true"):
        refuse_loops(flows("a->b b->a"))


def test_a_longer_circle_is_refused_too() -> None:
    with pytest.raises(ConfigError, match="a->b and b->c and c->a"):
        refuse_loops(flows("a->b b->c c->a", IDENTITY + "identity.bidirectional=true\n"))


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
    ],
)
def test_what_cannot_go_round_is_permitted(pairs: str, more: str) -> None:
    refuse_loops(flows(pairs, more))


@pytest.mark.parametrize("more", ["a->b.topics=x,y\nb->a.topics=y,z\n", "a->b.topics=my.topic\nb->a.topics=my-topic\n"])
def test_topics_that_both_name_would_go_round(more: str) -> None:
    with pytest.raises(ConfigError, match="in a circle"):
        refuse_loops(flows("a->b b->a", IDENTITY + more))
