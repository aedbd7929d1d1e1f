"""The real MirrorMaker 2 starts on internal topics that we wrote: it goes on from our progress, past our facts."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkmirror.embedded import MirrorMaker2
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.facts_topic import FactsTopic
from sparkmirror.topology.fact import Fact
from sparkmirror.topology.storage import Storage
from tests.conftest import Pair
from tests.support.command import run_command
from tests.support.flows import only_flow, write_flow
from tests.support.kafka_client import await_condition, create_topic, produce, read_all, topics, total

ONE_BROKER = {
    "status.storage.replication.factor": "1",
    "config.storage.replication.factor": "1",
    "checkpoints.topic.replication.factor": "1",
    "heartbeats.topic.replication.factor": "1",
    "offset-syncs.topic.replication.factor": "1",
    "emit.heartbeats.enabled": "false",  # else a topic is left on a source that other tests share
}


@pytest.mark.timeout(240)
def test_mirrormaker_goes_on_from_a_position_that_was_set_and_discards_facts(
    pair: Pair, topic: str, tmp_path: Path
) -> None:
    create_topic(pair.source, topic, 1)
    produce(pair.source, topic, ({"value": b"%d" % i} for i in range(10)))
    file = write_flow(tmp_path, pair.source, pair.target, topic, ONE_BROKER)
    flow = only_flow(file)
    assert run_command("offsets", "set", str(file), flow.name, topic, "3").returncode == 0
    gap = Fact(kind="stopped", name="gap", error="source offsets 1..2 were removed")
    with Cluster(ClusterAddress(alias="B", bootstrap=(pair.target,))) as cluster:
        facts = FactsTopic(cluster, Storage.of(flow), 1)
        facts.ensure()
        facts.write({(topic, 0): gap, (topic, -1): gap})
        remote = f"{flow.source.alias}.{topic}"
        with MirrorMaker2(file.read_text()) as mirrormaker:
            await_condition(lambda: remote in topics(pair.target) and total(pair.target, remote) >= 7, "the copy")
            log = mirrormaker.log_path.read_text()
        assert set(facts.read()) == {(topic, 0), (topic, -1)}
    assert [record.value for record in read_all(pair.target, remote)[0]] == [b"%d" % i for i in range(3, 10)]
    assert log.count('Discarding record with invalid key {"sparkmirror":"fact"') == 2
    assert "ERROR" not in log
