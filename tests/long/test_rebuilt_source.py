"""A source that was built anew, empty, under its old address: what the target has of the old one stays."""

from __future__ import annotations

from pathlib import Path

from sparkmirror.embedded import KafkaCluster
from sparkmirror.embedded.ports import reserve_port
from tests.conftest import Pair
from tests.support.flows import write_flow
from tests.support.group_members import committed
from tests.support.group_rounds import KEYS, commit, groups_of
from tests.support.kafka_client import create_topic, produce
from tests.support.local_mirror import mirroring


def test_groups_stay_where_they_were_on_the_target(pair: Pair, topic: str, tmp_path: Path) -> None:
    idle, moved = f"{topic}-idle", f"{topic}-moved"
    port = reserve_port()
    port.release()
    keys = KEYS | {
        "groups": f"{topic}.*",
        "sync.group.deletes.enabled": "true",
        "sync.group.offsets.rewind": "true",
        "refresh.groups.interval.seconds": "1",
    }
    with KafkaCluster(name="old", ports=[port.number], heap_mb=256) as source:
        servers = source.bootstrap_servers
        fill(servers, topic, 20)
        for group in (idle, moved):
            commit(servers, group, {(topic, 0): 15})
        file = write_flow(tmp_path, servers, pair.target, topic, keys)
        with mirroring(file) as mirror, groups_of(mirror) as groups:
            mirror.await_topics(1)
            mirror.catch_up(topic)
            assert [report.committed for report in groups.round().values()] == [1, 1]
            remote = f"{mirror.flow.source.alias}.{topic}"
    with KafkaCluster(name="new", ports=[port.number], heap_mb=256) as source:
        fill(source.bootstrap_servers, topic, 5)
        commit(source.bootstrap_servers, moved, {(topic, 0): 3})
        with mirroring(file) as mirror, groups_of(mirror) as groups:
            mirror.await_topics(1)
            for _ in range(3):
                report = groups.round()[moved]
                assert "made anew" in report.why and not report.committed and not report.emitted
            assert "another cluster" in groups.keeper._left_out[idle]
        for group in (idle, moved):
            assert committed(pair.target, group, [(remote, 0)]) == {(remote, 0): 15}


def fill(servers: str, topic: str, records: int) -> None:
    create_topic(servers, topic, 1)
    produce(servers, topic, ({"value": b"%d" % i} for i in range(records)))
