"""`sparkmirror plan` shows what a run would do, and does nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from sparkmirror.config.mirror import load_mirror_config
from sparkmirror.control.flow_plan import plan_flow
from sparkmirror.topology.internal_topics import COMPACT, InternalTopicPlan
from tests.conftest import Pair
from tests.support.command import run_command
from tests.support.flows import only_flow, write_flow
from tests.support.kafka_client import create_topic, topics
from tests.support.topic_admin import topic_configs

OFF = {"emit.heartbeats.enabled": "false", "emit.checkpoints.enabled": "false", "emit.offset-syncs.enabled": "false"}


def test_it_shows_topics_partitions_and_configurations_and_changes_nothing(
    pair: Pair, topic: str, tmp_path: Path
) -> None:
    new, old = f"{topic}-new", f"{topic}-old"
    file = write_flow(tmp_path, pair.source, pair.target, f"{topic}.*", OFF)
    alias = only_flow(file).source.alias
    create_topic(pair.source, new, 2, config={"retention.ms": "1000000"})
    create_topic(pair.source, old, 3, config={"cleanup.policy": "compact"})
    create_topic(pair.target, f"{alias}.{old}", 1)
    before = topics(pair.source), topics(pair.target)
    shown = run_command("plan", str(file))
    assert shown.returncode == 0, shown.stderr
    lines = [line.split(maxsplit=3) for line in shown.stdout.splitlines()]
    made = "2 partitions, replication factor 1, message.timestamp.type=CreateTime, retention.ms=1000000"
    assert ["create", "B", f"{alias}.{new}", made] in lines
    assert ["extend", "B", f"{alias}.{old}", "from 1 to 3 partitions"] in lines
    assert ["set", "B", f"{alias}.{old}", "cleanup.policy=compact"] in lines
    assert shown.stdout.startswith(f"{alias}->B: 6 to do\n")
    steps = json.loads(run_command("plan", str(file), "--json").stdout)["flows"][0]["steps"]
    assert [s["topic"] for s in steps if s["action"] == "create"][-1] == f"{alias}.{new}"
    assert (topics(pair.source), topics(pair.target)) == before
    assert topic_configs(pair.target, f"{alias}.{old}") == {}


def test_what_cannot_be_is_refused_with_key_value_and_one_that_works(pair: Pair, topic: str, tmp_path: Path) -> None:
    create_topic(pair.source, topic, 1)
    file = write_flow(tmp_path, pair.source, pair.target, f"{topic}, {topic}-x*", {"replication.factor": "2"})
    shown = run_command("plan", str(file))
    assert shown.returncode == 1
    assert f"matches {topic}-x*, or the user may not see it" in shown.stdout
    assert "replication.factor is 2, but cluster B has 1 live broker: set it to 1" in shown.stdout
    assert "checkpoints.topic.replication.factor is 3, but cluster B has 1 live broker: set it to 1" in shown.stdout


def test_heartbeats_that_are_not_there_yet_are_planned_on_both_sides(topic: str, pair: Pair, tmp_path: Path) -> None:
    ours = {"replication.policy.separator": "_", "replication.internal.topic.replication.factor": "1"}
    file = write_flow(tmp_path, pair.source, pair.target, topic, ours)
    alias = only_flow(file).source.alias
    config = load_mirror_config(file)
    topic_of_pair = InternalTopicPlan(name=f"beats-{topic}", key="k", replication_factor=1, configs=COMPACT)
    (flow,) = config.flows
    with_beats = replace(flow, topics=(topic, topic_of_pair.name))
    steps = {step.topic: step for step in plan_flow(with_beats, topic_of_pair).steps}
    made = steps[f"{alias}_{topic_of_pair.name}"]
    assert (made.action, made.cluster) == ("create", "B")
    assert made.detail == "1 partition, replication factor 1, message.timestamp.type=CreateTime, cleanup.policy=compact"
    create_topic(pair.source, topic_of_pair.name, 2)
    steps = {step.topic: step for step in plan_flow(with_beats, topic_of_pair).steps}
    assert steps[made.topic].detail.startswith("2 partitions"), "what is there is planned as any topic"


def test_identity_both_ways_is_refused_by_plan_and_run(pair: Pair, tmp_path: Path) -> None:
    extra = {"replication.policy.class": "IdentityReplicationPolicy"}
    file = write_flow(tmp_path, pair.source, pair.target, ".*", extra)
    alias = only_flow(file).source.alias
    file.write_text(file.read_text() + f"B->{alias}.enabled = true\n")
    for verb in ("plan", "run"):
        done = run_command(verb, str(file))
        assert done.returncode == 2
        assert "would come back for ever: expected identity.bidirectional = true" in done.stderr


def test_a_cluster_that_does_not_answer_is_exit_code_3(tmp_path: Path, topic: str, pair: Pair) -> None:
    file = write_flow(tmp_path, "127.0.0.1:1", pair.target, topic, OFF)
    shown = run_command("plan", str(file))
    assert shown.returncode == 3 and "no broker answers" in shown.stdout
