"""Every configuration that the seed documents print can be started."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkmirror.config.mirror import load_mirror_config, parse_mirror_config

SEEDS = Path(__file__).parents[2] / "fixtures" / "seeds"
ALL = (".*",)
CARS = ("toa.evehicles-latest-dev",)
ONE_TWO = ("cluster-1", "cluster-2")
SOURCE_DESTINATION = ("source", "destination")

EXPECTED: dict[str, tuple[tuple[str, ...], dict[str, tuple[str, ...]]]] = {
    "000-sample": (SOURCE_DESTINATION, {"source->destination": CARS}),
    "000-ssl": (SOURCE_DESTINATION, {"source->destination": CARS}),
    "001-first": (SOURCE_DESTINATION, {"source->destination": ALL}),
    "001-active-active": (SOURCE_DESTINATION, {"source->destination": ALL, "destination->source": ALL}),
    "001-final": (
        ("primary-kafka-cluster", "secondary-kafka-cluster"),
        {
            "primary-kafka-cluster->secondary-kafka-cluster": ALL,
            "secondary-kafka-cluster->primary-kafka-cluster": ALL,
        },
    ),
    "002-bidirectional": (ONE_TWO, {"cluster-1->cluster-2": ALL, "cluster-2->cluster-1": ALL}),
    "002-identity": (ONE_TWO, {"cluster-1->cluster-2": ALL, "cluster-2->cluster-1": ALL}),
    "002-group-offsets": (ONE_TWO, {"cluster-1->cluster-2": ALL, "cluster-2->cluster-1": ALL}),
    "002-tasks-max": (ONE_TWO, {"cluster-1->cluster-2": ALL}),
    "002-high-volume": (ONE_TWO, {"cluster-1->cluster-2": ALL}),
    "002-legacy-switches": (ONE_TWO, {"cluster-1->cluster-2": ALL}),
    "003-sample": (SOURCE_DESTINATION, {"source->destination": CARS}),
    "004-dialect": (("source", "target"), {"source->target": ("my-topic",)}),
    "004-wildcard": (("source", "target"), {"source->target": ALL}),
}


def not_in_force(name: str) -> tuple[str, ...]:
    return load_mirror_config(SEEDS / f"{name}.properties").not_in_force


@pytest.mark.parametrize("path", sorted(SEEDS.glob("*.properties")), ids=lambda path: path.stem)
def test_a_seed_sample_loads_with_its_aliases_flows_and_topics(path: Path) -> None:
    aliases, flows = EXPECTED[path.stem]
    config = load_mirror_config(path)
    assert tuple(cluster.alias for cluster in config.clusters) == aliases
    assert {flow.name: flow.topics for flow in config.flows} == flows
    assert all(flow.source.bootstrap_servers and flow.target.bootstrap_servers for flow in config.flows)


def test_no_seed_sample_is_forgotten() -> None:
    assert {path.stem for path in SEEDS.glob("*.properties")} == EXPECTED.keys()


def test_a_blacklist_is_listed_and_the_default_exclude_applies() -> None:
    config = load_mirror_config(SEEDS / "000-sample.properties")
    assert "topics.blacklist" in config.not_in_force
    assert "__.*" in config.flows[0].topics_exclude
    assert (config.flows[0].replication_factor, config.flows[0].internal_replication_factor) == (3, 1)


def test_slips_in_the_samples_are_listed() -> None:
    assert "Replication.factor" in not_in_force("001-final")
    assert "cluster-2->cluster-1B->C.topics" in not_in_force("002-bidirectional")


def test_settings_of_the_samples_are_in_force() -> None:
    assert load_mirror_config(SEEDS / "002-tasks-max.properties").flows[0].tasks_max == 10
    refresh = load_mirror_config(SEEDS / "002-bidirectional.properties").flows[0].refresh_topics_interval_s
    assert refresh == 60.0


def test_the_dialect_without_clusters_lists_its_rename() -> None:
    assert not_in_force("004-dialect") == (
        "emit.checkpoints.interval.seconds",
        "replication.internal.topic.replication.factor",
        "source.replication.group.id",
        "source.replication.topic.my-topic",
    )


def test_the_dialect_takes_several_names_any_alias_and_dots_as_they_are() -> None:
    config = parse_mirror_config(
        "bootstrap.servers=h:1\ntarget.cluster.bootstrap.servers=i:1\n"
        "eu.replication.topic.my.topic=x\neu.replication.topic.logs-*=y\n",
        "f",
        only_targets=("target",),
    )
    (flow,) = config.flows
    assert (flow.name, flow.topics) == ("eu->target", (r"my\.topic", "logs-.*"))
