"""From a properties file to typed flows, and every way it can be wrong."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from sparkmirror.config.mirror import load_mirror_config, parse_mirror_config
from sparkmirror.config.model import FlowConfig, MirrorConfig
from sparkmirror.errors import ConfigError

BASE = """\
clusters = a, b
a.bootstrap.servers = a1:9092, a2:9092
b.bootstrap.servers = b1:9092
a->b.enabled = true
"""


def parse(more: str = "", *, base: str = BASE, only_targets: tuple[str, ...] = ()) -> MirrorConfig:
    return parse_mirror_config(base + more, "f", only_targets=only_targets)


def only_flow(more: str = "") -> FlowConfig:
    (flow,) = parse(more).flows
    return flow


def errors(more: str = "", *, base: str = BASE, only_targets: tuple[str, ...] = ()) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse(more, base=base, only_targets=only_targets)
    return str(caught.value).splitlines()


def test_the_defaults_of_a_flow() -> None:
    flow = only_flow()
    assert flow.name == "a->b"
    assert flow.source.bootstrap_servers == ("a1:9092", "a2:9092")
    assert flow.topics == (".*",)
    assert flow.topics_exclude == (r"mm2.*\.internal", r".*\.replica", "__.*")
    assert flow.tasks_max == 1
    assert (flow.replication_factor, flow.internal_replication_factor) == (2, 3)
    assert (flow.refresh_topics_interval_s, flow.lease_s) == (5.0, 10.0)


def test_a_flow_key_beats_the_global_key_wherever_it_stands() -> None:
    flow = only_flow("a->b.topics = one\ntopics = two\ntasks.max = 4\na->b.tasks.max = auto\n")
    assert flow.topics == ("one",)
    assert flow.tasks_max is None


def test_global_keys_reach_every_flow() -> None:
    config = parse(
        "b->a.enabled = TRUE\ntopics = x, y-.*\ntopics.exclude =\ntasks.max=8\nreplication.factor=-1\n"
        "offset.storage.replication.factor=1\nrefresh.topics.interval.seconds=0.5\nlease.seconds=2.5\n"
    )
    assert [flow.name for flow in config.flows] == ["a->b", "b->a"]
    for flow in config.flows:
        assert (flow.topics, flow.topics_exclude) == (("x", "y-.*"), ())
        assert (flow.tasks_max, flow.replication_factor, flow.internal_replication_factor) == (8, -1, 1)
        assert (flow.refresh_topics_interval_s, flow.lease_s) == (0.5, 2.5)
    assert config.not_in_force == ()


def test_a_worker_key_may_stand_under_the_target_where_the_global_one_wins() -> None:
    assert only_flow("b.offset.storage.replication.factor=1").internal_replication_factor == 1
    assert only_flow("a.offset.storage.replication.factor=1").internal_replication_factor == 3
    both = "b.offset.storage.replication.factor=1\noffset.storage.replication.factor=2"
    assert only_flow(both).internal_replication_factor == 2


def test_the_status_topic_is_replicated_as_the_progress_topic_unless_the_file_names_it() -> None:
    assert only_flow("offset.storage.replication.factor=1").status_replication_factor == 1
    both = "offset.storage.replication.factor=1\nstatus.storage.replication.factor=2"
    assert only_flow(both).status_replication_factor == 2
    assert parse(both).not_in_force == ()


def test_when_open_transactions_are_said_can_be_set_for_a_flow() -> None:
    assert only_flow("").open_transaction_warn_s == 60.0
    assert only_flow("a->b.open.transaction.warn.seconds = 2.5").open_transaction_warn_s == 2.5


def test_an_empty_topics_list_stays_empty() -> None:
    assert only_flow("topics =").topics == ()


def test_clusters_keep_their_own_keys_as_written() -> None:
    config = parse("a.security.protocol = SSL\na.consumer.isolation.level=read_committed\n")
    a, b = config.clusters
    assert a.properties == {
        "bootstrap.servers": "a1:9092, a2:9092",
        "security.protocol": "SSL",
        "consumer.isolation.level": "read_committed",
    }
    assert b.properties == {"bootstrap.servers": "b1:9092"}


def test_passwords_stay_out_of_the_representation() -> None:
    assert "s3cret" not in repr(parse("a.ssl.key.password=s3cret\nspark.ssl.password=s3cret"))


def test_spark_keys_keep_their_prefix() -> None:
    config = parse("spark.master = local[4]\nspark.sql.shuffle.partitions=1\n")
    assert config.spark == {"spark.master": "local[4]", "spark.sql.shuffle.partitions": "1"}
    assert config.not_in_force == ()


def test_aliases_with_dots_and_hyphens_match_the_longest_first() -> None:
    config = parse_mirror_config(
        "clusters = eu, eu.west-1, us\n"
        "eu.bootstrap.servers=h1:1\neu.west-1.bootstrap.servers=h2:2\nus.bootstrap.servers=h3:3\n"
        "us->eu.west-1.enabled=true\nus->eu.west-1.topics=t\n",
        "f",
    )
    (flow,) = config.flows
    assert (flow.name, flow.topics) == ("us->eu.west-1", ("t",))
    assert flow.target.bootstrap_servers == ("h2:2",)
    assert config.clusters[0].properties == {"bootstrap.servers": "h1:1"}
    assert config.not_in_force == ()


def test_a_cluster_named_like_a_key_does_not_swallow_it() -> None:
    config = parse_mirror_config(
        "clusters=topics,b\ntopics.bootstrap.servers=h:1\nb.bootstrap.servers=i:1\n"
        "topics->b.enabled=true\ntopics.exclude=x\n",
        "f",
    )
    assert config.flows[0].topics_exclude == ("x",)


def test_servers_may_be_ipv6_or_carry_a_protocol_and_count_once() -> None:
    more = "a.bootstrap.servers = [::1]:9092, PLAINTEXT://h_1:9093 ,h_1:9093\n"
    assert only_flow(more).source.bootstrap_servers == ("[::1]:9092", "h_1:9093")


def test_clusters_inherit_global_servers() -> None:
    config = parse_mirror_config("clusters=a,b\nbootstrap.servers=h:1\nb.bootstrap.servers=i:1\na->b.enabled=true", "f")
    assert config.flows[0].source.bootstrap_servers == ("h:1",)
    assert config.not_in_force == ()


def test_what_is_not_in_force_is_listed_once_sorted_and_can_be_located() -> None:
    config = parse("listeners=x\nb.metrics.num.samples=2\nnonsense=1\na->b.transform.sql=all\nlisteners=y\n")
    assert config.not_in_force == ("a->b.transform.sql", "b.metrics.num.samples", "listeners", "nonsense")
    assert config.lines["b.metrics.num.samples"] == 6
    assert config.warnings == (
        "f:6: b.metrics.num.samples changes nothing: it is not in force yet",
        "f:7: nonsense changes nothing: neither MirrorMaker 2 nor sparkmirror has such a key",
        "f:8: a->b.transform.sql changes nothing: it is not in force yet",
        "f:9: listeners is set again: this value wins over the one at line 5",
    )


def test_a_factor_as_the_source_s() -> None:
    config = parse("replication.factor = source\n")
    assert (config.flows[0].replication_factor, config.not_in_force) == (None, ())


def test_a_global_enabled_is_not_in_force() -> None:
    assert parse("enabled=true").not_in_force == ("enabled",)


def test_a_misspelt_key_warns_with_what_was_meant() -> None:
    config = parse("replication.factors=3\na->b.task.max=3\n")
    assert config.flows[0].replication_factor == 2
    assert config.not_in_force == ("a->b.task.max", "replication.factors")
    assert config.warnings == (
        "f:5: unknown key replication.factors: did you mean replication.factor?",
        "f:6: unknown key a->b.task.max: did you mean a->b.tasks.max?",
    )


def test_a_repeated_alias_counts_once_with_a_warning() -> None:
    config = parse("clusters=a,b,a\n")
    assert [cluster.alias for cluster in config.clusters] == ["a", "b"]
    assert any("f:5: clusters: a is named more than once" in warning for warning in config.warnings)


def test_keys_of_an_unknown_flow_only_warn_while_it_is_not_enabled() -> None:
    config = parse("a->x.topics=y\na->x.enabled=false\na->x.emit.heartbeats.enabled=true\n")
    assert config.not_in_force == ("a->x.emit.heartbeats.enabled", "a->x.enabled", "a->x.topics")
    (warning,) = config.warnings
    assert warning.startswith("f:5: a->x.topics belongs to no flow between two of the clusters, and changes nothing")
    assert "(lines 6, 7 speak of it, too)" in warning


def test_only_targets_keeps_flows_into_the_listed_clusters() -> None:
    config = parse("b->a.enabled=true", only_targets=("a",))
    assert [flow.name for flow in config.flows] == ["b->a"]
    assert len(config.clusters) == 2


def test_a_configuration_travels_by_pickle() -> None:
    config = parse("spark.master=local[2]\ngroups=x\n")
    assert pickle.loads(pickle.dumps(config)) == config


@pytest.mark.parametrize(
    ("more", "line", "said"),
    [
        ("a->x.enabled=true", 5, "clusters a, b"),
        ("a->a.enabled=true", 5, "two different aliases"),
        ("x.y->b.enabled=true", 5, "x.y->b"),
        ("a->b.enabled=yes", 5, "expected true or false, got 'yes'"),
        ("tasks.max=abc", 5, "tasks.max: expected a whole number from 1 to 2147483647, got 'abc' (or auto)"),
        ("tasks.max=0", 5, "got '0'"),
        ("tasks.max=1_0", 5, "got '1_0'"),
        ("tasks.max=2147483648", 5, "from 1 to 2147483647"),
        ("replication.factor=0", 5, "-1 for the broker's default"),
        ("replication.factor=2.5", 5, "whole number"),
        ("offset.storage.replication.factor=-2", 5, "from -1 to 32767"),
        ("lease.seconds=0.5", 5, "of at least 1"),
        ("lease.seconds=nan", 5, "got 'nan'"),
        ("refresh.topics.interval.seconds=0", 5, "above 0"),
        ("topics=ok, *(bad", 5, "'*(bad' (element 2 of 2)"),
        ("a->b.topics.exclude=(", 5, "bad regular expression '('"),
        ("a.bootstrap.servers=host", 5, "expected host:port"),
        ("a.bootstrap.servers=host:0", 5, "1 to 65535, got 'host:0'"),
        ("a.bootstrap.servers=host:65536", 5, "1 to 65535"),
        ("a.bootstrap.servers=::1:9092", 5, "[ipv6]:port"),
        ("a.bootstrap.servers=h:1,ho st:1", 5, "got 'ho st:1'"),
        ("a.bootstrap.servers=", 5, "a.bootstrap.servers = host:port"),
        ("clusters=a,,b", 5, "an alias is empty"),
        ("clusters=a b", 5, "bad alias 'a b'"),
        ("clusters=", 5, "clusters = source, target"),
        ("x=\\u00", 5, "four hexadecimal digits"),
    ],
)
def test_a_mistake_is_named_with_file_and_line(more: str, line: int, said: str) -> None:
    (message,) = errors(more)
    assert message.startswith(f"f:{line}: ")
    assert said in message


def test_a_file_without_clusters_says_what_to_write() -> None:
    assert errors(base="topics=.*") == ["f: no clusters: expected a line such as clusters = source, target"]


def test_missing_servers_point_at_the_flow_that_needs_them() -> None:
    (message,) = errors(base="clusters=a,b\na.bootstrap.servers=h:1\na->b.enabled=true\n")
    assert message.startswith("f:3: ") and "b.bootstrap.servers = host:port" in message


def test_missing_servers_of_an_unused_cluster_are_fine() -> None:
    assert parse("clusters=a,b,c").clusters[2].bootstrap_servers == ()


def test_no_enabled_flow_is_an_error() -> None:
    (message,) = errors("a->b.enabled=false")
    assert message == "f: no flow is enabled: expected a line such as a->b.enabled = true"
    (message,) = errors(base="clusters=a")
    assert "a->A.enabled" in message


def test_only_targets_must_be_known_and_leave_a_flow() -> None:
    assert errors(only_targets=("z",)) == ["f: --clusters names 'z', which is not among the clusters a, b"]
    assert errors(only_targets=("a",)) == ["f: --clusters leaves no flow: the enabled flows have the targets b"]


def test_all_mistakes_show_at_once_in_file_order_each_once() -> None:
    found = errors("b->a.enabled=true\ntasks.max=x\na->c.enabled=true\nlease.seconds=0\na.bootstrap.servers=h\n")
    assert [message.split(" ")[0] for message in found] == ["f:6:", "f:7:", "f:8:", "f:9:"]


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    missing = tmp_path / "mm2.properties"
    with pytest.raises(ConfigError, match=r"mm2\.properties: can't read the file: No such file"):
        load_mirror_config(missing)
    with pytest.raises(ConfigError, match="can't read the file"):
        load_mirror_config(tmp_path)


def test_a_file_is_loaded_and_named_in_errors(tmp_path: Path) -> None:
    path = tmp_path / "mm2.properties"
    path.write_text(BASE, encoding="utf-8")
    assert load_mirror_config(path).path == path
    path.write_text(BASE + "tasks.max=x\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_mirror_config(path, only_targets=["b"])
    assert str(caught.value).startswith(f"{path}:5: ")
