"""Internal topics under names of the file's own: two mirrors of the same clusters know nothing of one another."""

from __future__ import annotations

from pathlib import Path

from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.progress import ProgressTopic
from sparkmirror.topology.storage import Storage
from tests.conftest import Pair
from tests.support.flows import only_flow, write_flow
from tests.support.kafka_client import create_topic, produce, topics, total
from tests.support.local_mirror import mirroring

QUIET = {"emit.heartbeats.enabled": "false", "emit.checkpoints.enabled": "false"}
ONE = {"replication.internal.topic.replication.factor": "1"}


def test_mirrors_with_prefixes_of_their_own_lead_side_by_side(pair: Pair, topic: str, tmp_path: Path) -> None:
    for name in ("east", "west"):
        create_topic(pair.source, f"{topic}-{name}", 1)
        produce(pair.source, f"{topic}-{name}", ({"value": b"%d" % i} for i in range(10)))
    (tmp_path / "west").mkdir()
    east = write_flow(tmp_path, pair.source, pair.target, f"{topic}-east", QUIET | ONE)
    alias = only_flow(east).source.alias
    text = east.read_text()
    east.write_text(text + "replication.internal.topic.prefix = east\n")
    west = tmp_path / "west" / "mm2.properties"
    west.write_text(text.replace("-east", "-west") + "replication.internal.topic.prefix = west\n")
    with mirroring(east) as one, mirroring(west) as other:
        for name, mirror in (("east", one), ("west", other)):
            mirror.await_topics(1)
            mirror.round()
            assert mirror.keeper.view.leads
            assert total(pair.target, f"{alias}.{topic}-{name}") == 10
            assert "copied" in mirror.status()
    made = {name for name in (topics(pair.source) | topics(pair.target)) if f".{alias}.internal" in name}
    assert made == {
        f"{side}-{kind}.{alias}.internal" for side in ("east", "west") for kind in ("claims", "offsets", "status")
    }
    assert {"east-offset-syncs.B.internal", "west-offset-syncs.B.internal"} <= set(topics(pair.source))


def test_flows_share_topics_that_the_file_names(pair: Pair, topic: str, tmp_path: Path) -> None:
    create_topic(pair.source, topic, 1)
    produce(pair.source, topic, ({"value": b"%d" % i} for i in range(10)))
    shared = {"offset.storage.topic": f"{topic}-offsets", "status.storage.topic": f"{topic}-status"}
    counts = {"offset.storage.partitions": "3", "status.storage.partitions": "2"}
    aliases = []
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        file = write_flow(folder, pair.source, pair.target, topic, QUIET | ONE | shared | counts)
        with mirroring(file) as mirror:
            mirror.await_topics(1)
            mirror.round()
            aliases.append(mirror.flow.source.alias)
    with Cluster(ClusterAddress(alias="B", bootstrap=(pair.target,))) as target:
        found = target.fetch_metadata().topics
        assert [len(found[name].leaders) for name in shared.values()] == [3, 2]
        assert not any(f"mm2-{kind}.{alias}.internal" in found for alias in aliases for kind in ("offsets", "status"))
        for alias in aliases:
            storage = Storage(source=alias, claims="", progress=f"{topic}-offsets", status="", offset_map="")
            assert [s.next_offset for s in ProgressTopic(target, storage).read().values()] == [10]


def test_a_connector_s_own_file_keeps_its_progress_under_its_name(pair: Pair, topic: str, tmp_path: Path) -> None:
    create_topic(pair.source, topic, 1)
    produce(pair.source, topic, ({"value": b"%d" % i} for i in range(10)))
    alias = only_flow(write_flow(tmp_path, pair.source, pair.target, topic)).source.alias
    file = tmp_path / "connector.properties"
    lines = {
        "name": "mine",
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "source.cluster.alias": alias,
        "source.cluster.bootstrap.servers": pair.source,
        "target.cluster.bootstrap.servers": pair.target,
        "topics": topic,
        "replication.factor": "1",
        **ONE,
    }
    file.write_text("".join(f"{key} = {value}\n" for key, value in lines.items()))
    with mirroring(file) as mirror:
        mirror.await_topics(1)
        mirror.round()
    with Cluster(ClusterAddress(alias="B", bootstrap=(pair.target,))) as target:
        assert ProgressTopic(target, Storage.named(alias)).read() == {}
        assert list(ProgressTopic(target, Storage.of(only_flow(file))).read()) == [(topic, 0)]
