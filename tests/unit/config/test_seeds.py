"""Every configuration that the seed documents print is read as its text means it, or refused with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkmirror.config.logins import KerberosLogin, read_login
from sparkmirror.config.mirror import load_mirror_config, parse_mirror_config
from sparkmirror.config.model import FlowConfig
from sparkmirror.errors import ConfigError

SEEDS = Path(__file__).parents[2] / "fixtures" / "seeds"
ALL = (".*",)
CARS = ("toa.evehicles-latest-dev",)
ONE_TWO = ("cluster-1", "cluster-2")
SOURCE_DESTINATION = ("source", "destination")

EXPECTED: dict[str, tuple[tuple[str, ...], dict[str, tuple[str, ...]]]] = {
    "000-sample": (SOURCE_DESTINATION, {"source->destination": CARS}),
    "000-ssl": (SOURCE_DESTINATION, {"source->destination": CARS}),
    "000-table": (("us-west", "us-east"), {"us-west->us-east": ("topic1", "topic2", "topic3")}),
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
    "002-identity": (ONE_TWO, {"cluster-1->cluster-2": ALL}),
    "002-group-offsets": (ONE_TWO, {"cluster-1->cluster-2": ALL, "cluster-2->cluster-1": ALL}),
    "002-tasks-max": (ONE_TWO, {"cluster-1->cluster-2": ALL}),
    "002-high-volume": (ONE_TWO, {"cluster-1->cluster-2": ALL}),
    "002-legacy-switches": (ONE_TWO, {"cluster-1->cluster-2": ALL}),
    "003-sample": (SOURCE_DESTINATION, {"source->destination": CARS}),
    "004-dialect": (("source", "target"), {"source->target": ("my-topic",)}),
    "004-wildcard": (("source", "target"), {"source->target": ALL}),
}


@pytest.fixture(autouse=True)
def exported(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the document says for clusters with Kerberos."""
    monkeypatch.setenv("KAFKA_OPTS", f"-Djava.security.auth.login.config={SEEDS / 'kafka_client_jaas.conf'}")


@pytest.mark.parametrize("path", sorted(SEEDS.glob("*.properties")), ids=lambda path: path.stem)
def test_a_seed_sample_loads_with_its_aliases_flows_and_topics(path: Path) -> None:
    aliases, flows = EXPECTED[path.stem]
    config = load_mirror_config(path)
    assert tuple(cluster.alias for cluster in config.clusters) == aliases
    assert {flow.name: flow.topics for flow in config.flows} == flows
    assert all(flow.source.bootstrap_servers and flow.target.bootstrap_servers for flow in config.flows)


def test_no_seed_sample_is_forgotten() -> None:
    assert {path.stem for path in SEEDS.glob("*.properties")} == EXPECTED.keys()


@pytest.mark.parametrize(
    ("name", "line", "said"),
    [
        ("001-first-as-printed", 8, "line 6 is a comment that holds one: give it a line of its own"),
        ("002-identity-both-ways", 17, "a record would come back for ever: expected identity.bidirectional = true"),
    ],
)
def test_a_seed_sample_that_can_not_work_is_refused_with_the_reason(name: str, line: int, said: str) -> None:
    path = SEEDS / "refused" / f"{name}.properties"
    with pytest.raises(ConfigError) as caught:
        load_mirror_config(path)
    first = str(caught.value).splitlines()[0]
    assert first.startswith(f"{path}:{line}: ") and said in first


def test_identity_both_ways_is_taken_when_it_is_asked_for() -> None:
    text = (SEEDS / "refused" / "002-identity-both-ways.properties").read_text()
    assert len(parse_mirror_config(text + "identity.bidirectional=true\n", "f").flows) == 2


@pytest.mark.parametrize("name", ["000-sample", "001-final", "003-sample"])
def test_a_quoted_blacklist_of_globs_excludes_what_it_says(name: str) -> None:
    config = load_mirror_config(SEEDS / f"{name}.properties")
    assert {flow.topics_exclude for flow in config.flows} == {(r".*\.internal", "__.*")}
    assert {flow.replication_factor for flow in config.flows} == {3}
    assert not {"topics.blacklist", "Replication.factor"} & set(config.not_in_force)
    (line,) = {config.lines["topics.blacklist"]}
    about = [warning for warning in config.warnings if f".properties:{line}: " in warning]
    assert [warning.partition("blacklist: ")[2] for warning in about] == [
        "read as topics.exclude",
        "the quotes are left out: *.internal,__.*",
        r"*.internal is no regular expression, read as .*\.internal",
    ]


def test_intervals_in_milliseconds_are_taken() -> None:
    config = load_mirror_config(SEEDS / "001-final.properties")
    assert [flow.groups.sync_offsets_interval_s for flow in config.flows] == [30.0, 30.0]
    assert sum("read as" in warning and ".interval.seconds" in warning for warning in config.warnings) == 2


def test_a_slip_in_a_flow_is_told_with_the_flow_that_was_meant() -> None:
    config = load_mirror_config(SEEDS / "002-bidirectional.properties")
    assert "cluster-2->cluster-1B->C.topics" in config.not_in_force
    assert any("did you mean cluster-2->cluster-1.topics?" in warning for warning in config.warnings)


def test_settings_of_the_samples_arrive() -> None:
    def only(name: str) -> FlowConfig:
        return load_mirror_config(SEEDS / f"{name}.properties").flows[0]

    assert only("002-tasks-max").tasks_max == 10
    assert only("002-bidirectional").refresh_topics_interval_s == 60.0
    assert only("002-bidirectional").naming.separator == "-"
    assert only("002-bidirectional").sync.acls_interval_s is None
    assert only("002-high-volume").limits.flush_timeout_ms == 30000
    assert only("002-high-volume").producer.buffer_memory == 8388608
    assert only("002-identity").naming.keeps_names
    assert only("002-legacy-switches").naming.keeps_names
    assert only("002-legacy-switches").heartbeats.interval_s is None
    assert only("000-ssl").security.target_producer["security.protocol"] == "SASL_SSL"
    login = read_login(only("000-ssl").security.target_producer)
    assert isinstance(login, KerberosLogin) and (login.service, login.principal) == ("kafka", "mirror@EXAMPLE.TEST")
    assert only("000-ssl").security.source_consumer == {}


def test_the_table_of_a_seed_as_a_connector_s_file_arrives() -> None:
    (flow,) = load_mirror_config(SEEDS / "000-table.properties").flows
    assert (flow.source.bootstrap_servers, flow.target.bootstrap_servers) == (("west1:9092",), ("east1:9092",))
    assert flow.connector_name == "us-west->us-east"
    assert flow.groups.exclude == ()
    assert flow.groups.checkpoints_interval_s == 5.0
    assert flow.limits.readahead_records == 500
    assert flow.heartbeats.topic.retention_ms == 86_400_000
    assert flow.offset_syncs.topic.retention_ms == 2**63 - 1


def test_the_dialect_without_clusters() -> None:
    config = load_mirror_config(SEEDS / "004-dialect.properties")
    (flow,) = config.flows
    assert flow.naming.topics_map == ("my-topic:my-topic",)
    assert (flow.groups.include, flow.groups.sync_offsets_interval_s) == (("my-mirror-group",), 60.0)
    assert {flow.internal_replication_factor, flow.heartbeats.topic.replication_factor} == {3}
    assert config.not_in_force == ()


def test_the_dialect_s_wildcard_sends_all_topics_into_one() -> None:
    (flow,) = load_mirror_config(SEEDS / "004-wildcard.properties").flows
    assert flow.naming.topics_map == (".*:my-replicated-topics",)


def test_the_dialect_takes_several_names_any_alias_and_dots_as_they_are() -> None:
    config = parse_mirror_config(
        "bootstrap.servers=h:1\ntarget.cluster.bootstrap.servers=i:1\n"
        "eu.replication.topic.my.topic=x\neu.replication.topic.logs-*=y\n",
        "f",
        only_targets=("target",),
    )
    (flow,) = config.flows
    assert (flow.name, flow.topics) == ("eu->target", (r"my\.topic", "logs-.*"))
