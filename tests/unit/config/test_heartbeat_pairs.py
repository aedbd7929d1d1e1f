"""Which pairs emit heartbeats (MirrorMakerConfigTest: testClusterPairs...)."""

from __future__ import annotations

import pytest

from sparkmirror.config.mirror import parse_mirror_config

HEAD = "clusters=a,b,c\nbootstrap.servers=h:1\na->b.enabled=true\n"


def pairs(more: str = "", targets: tuple[str, ...] = ()) -> list[str]:
    return [pair.name for pair in parse_mirror_config(HEAD + more, "f", only_targets=targets).heartbeat_pairs]


def test_every_pair_that_is_not_enabled_emits_by_default() -> None:
    assert pairs() == ["a->c", "b->a", "b->c", "c->a", "c->b"]


@pytest.mark.parametrize(
    ("more", "left"),
    [
        ("emit.heartbeats.enabled=false\n", []),
        ("emit.heartbeats.enabled=false\nc->b.emit.heartbeats.enabled=true\n", ["c->b"]),
        ("a->c.emit.heartbeats.enabled=false\nb->c.emit.heartbeats.interval.seconds=-1\n", ["b->a", "c->a", "c->b"]),
    ],
)
def test_a_pairs_own_setting_counts_before_the_global_one(more: str, left: list[str]) -> None:
    assert pairs(more) == left


def test_the_targets_of_the_command_line_hold_for_pairs_too() -> None:
    assert pairs(targets=("b",)) == ["c->b"]


def test_a_cluster_without_an_address_gets_none() -> None:
    text = "clusters=a,b,c\na.bootstrap.servers=h:1\nb.bootstrap.servers=i:1\na->b.enabled=true\n"
    assert [pair.name for pair in parse_mirror_config(text, "f").heartbeat_pairs] == ["b->a", "c->a", "c->b"]
