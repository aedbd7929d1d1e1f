"""Where a flow keeps what must not be forgotten."""

from __future__ import annotations

from sparkmirror.config.mirror import parse_mirror_config
from sparkmirror.control.storage import plan_storage_topics
from sparkmirror.topology.choose import choose_policy
from sparkmirror.topology.select import TopicSelector
from sparkmirror.topology.storage import Storage
from tests.support.flow_text import flow_of

CONNECTOR_FILE = """\
name = mine
connector.class = MirrorSourceConnector
source.cluster.alias = a
source.cluster.bootstrap.servers = h:1
target.cluster.bootstrap.servers = i:1
"""


def test_the_names_are_mirrormaker_s_unless_the_file_gives_others() -> None:
    assert Storage.of(flow_of()) == Storage.named("a")
    assert Storage.named("a").progress == "mm2-offsets.a.internal"
    given = Storage.of(flow_of("offset.storage.topic=o\nb.status.storage.topic=s\n"))
    assert (given.claims, given.progress, given.status) == ("mm2-claims.a.internal", "o", "s")


def test_a_prefix_is_that_of_all_our_topics_and_they_are_not_mirrored() -> None:
    flow = flow_of("replication.internal.topic.prefix=east\n")
    names = {topic.name for topic in plan_storage_topics(flow)} | {choose_policy(flow).offset_syncs_topic("b")}
    assert names == {f"east-{kind}.internal" for kind in ("claims.a", "offsets.a", "status.a", "offset-syncs.b")}
    selector = TopicSelector.of(flow)
    assert not any(map(selector.should_replicate, names))
    assert not selector.should_replicate("mm2-offsets.a.internal"), "another mirror's"
    assert selector.should_replicate("east-orders")


def test_new_topics_get_the_partitions_that_the_file_says() -> None:
    flow = flow_of("offset.storage.partitions=3\nstatus.storage.partitions=2\n")
    assert [topic.partitions for topic in plan_storage_topics(flow)] == [1, 3, 2]


def test_a_connector_s_own_file_names_its_progress() -> None:
    (flow,) = parse_mirror_config(CONNECTOR_FILE, "f").flows
    assert Storage.of(flow).connector == "mine"
    assert Storage.of(flow_of("a->b.name=mine\n")).connector == "MirrorSourceConnector"
