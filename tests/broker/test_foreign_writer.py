"""Somebody else writes into a remote topic: it is said at once, by its name, and that name stays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sparkmirror.cli.status import exit_code
from sparkmirror.config.mirror import load_mirror_config
from sparkmirror.control.flow_plan import plan_flow
from sparkmirror.control.status import flow_status
from sparkmirror.control.survey import survey_flow
from sparkmirror.copy.lease import CONTINUE
from sparkmirror.doctor.examine import examine_clusters
from tests.conftest import Pair
from tests.support.flows import write_flow
from tests.support.kafka_client import await_condition, create_topic, produce, read_all
from tests.support.local_mirror import LocalMirror, mirroring

OFTEN = {
    "refresh.topics.interval.seconds": "0.3",
    "replication.internal.topic.replication.factor": "1",
    "emit.heartbeats.enabled": "false",  # they would stand on the shared target
}


def write(servers: str, topic: str, partition: int, *values: bytes) -> None:
    produce(servers, topic, ({"value": value, "partition": partition} for value in values))


def names(mirror: LocalMirror) -> dict[int, str]:
    return {partition: fact.name for (_, partition), fact in mirror.facts().items()}


@contextmanager
def copied(pair: Pair, topic: str, folder: Path) -> Iterator[tuple[LocalMirror, str]]:
    """Two partitions of three records each, copied; the remote topic's name."""
    create_topic(pair.source, topic, 2)
    for partition in range(2):
        write(pair.source, topic, partition, b"a", b"b", b"c")
    with mirroring(write_flow(folder, pair.source, pair.target, topic, OFTEN)) as mirror:
        mirror.await_topics(2)
        mirror.catch_up(topic)
        yield mirror, f"{mirror.flow.source.alias}.{topic}"


def test_in_an_idle_topic_it_is_said_before_anything_is_appended_behind_it(
    pair: Pair, topic: str, tmp_path: Path
) -> None:
    with copied(pair, topic, tmp_path) as (mirror, remote):
        assert exit_code([survey_flow(mirror.flow)]) == 0
        woken: list[bool] = []
        mirror.keeper._changed = lambda: woken.append(True)
        write(pair.target, remote, 1, b"foreign")
        shown = survey_flow(mirror.flow)
        assert exit_code([shown]) == 1 and [said.split(":")[0] for said in shown.stuck()] == ["foreign-writer"]
        await_condition(lambda: bool(woken), "tasks that begin anew", 20)
        mirror.round()
        assert names(mirror) == {1: "foreign-writer"}

        refused = [step for step in plan_flow(mirror.flow).steps if step.refusal]
        assert [(step.topic, step.values) for step in refused] == [(remote, {"partitions": [1]})]
        failed = [v for v in examine_clusters(load_mirror_config(mirror.file)) if v.level == "FAIL"]
        assert [(v.check, v.said.split(":")[1].strip()) for v in failed] == [("partitions", "foreign-writer")]
        assert failed[0].cure.startswith("sparkmirror accept goes on behind them")

        write(pair.source, topic, 1, b"d", b"e")
        mirror.round()
        assert names(mirror) == {1: "foreign-writer"}, "the first cause stays"
        await_condition(lambda: flow_status(mirror.keeper, mirror.ledger, mirror.hints)["lag"] == 2, "the lag", 20)


def test_where_ours_came_behind_it_the_cause_is_still_named_and_a_policy_goes_on(
    pair: Pair, topic: str, tmp_path: Path
) -> None:
    with copied(pair, topic, tmp_path) as (mirror, remote):
        lease_began = mirror.hints[topic, 1]
        write(pair.target, remote, 1, b"foreign")
        write(pair.source, topic, 1, b"d")
        behind = mirror.round(heard=False, on_divergence=CONTINUE)  # one that appends, and nobody hears of it
        assert behind
        mirror.hints[topic, 1] = lease_began
        write(pair.source, topic, 1, b"x")  # at the offset at which `d` stands
        mirror.round()
        assert names(mirror) == {1: "foreign-writer"}, "and neither diverged nor source-truncated"
        mirror.round(on_divergence=CONTINUE)
        values = [record.value for record in read_all(pair.target, remote)[1]]
        assert values == [b"a", b"b", b"c", b"foreign", b"d", b"x"]
