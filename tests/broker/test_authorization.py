"""Rights that are missing or lost on brokers that ask for them: named, each topic for itself, over when given back."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AclOperation, AdminClient, ResourceType

from sparkmirror.config.mirror import load_mirror_config
from sparkmirror.control import probes
from sparkmirror.control.flow import FlowKeeper
from sparkmirror.control.ledger import Ledger
from sparkmirror.doctor.examine import examine_clusters
from sparkmirror.errors import BrokerError
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.group_offsets import commit_group_offsets, fetch_group_offsets
from sparkmirror.protocol import codes
from sparkmirror.protocol.committed import Committed
from sparkmirror.topology.storage import Storage
from tests.support.connect_scene import connect_scene
from tests.support.flows import only_flow, write_flow
from tests.support.guarded import ALL, ALLOW, AS_ADMIN, DENY, IDS, PREFIXED, TOPIC, Guarded, start_guarded
from tests.support.java_reader import JavaReader
from tests.support.kafka_client import await_condition, create_topic, produce, read_all, total
from tests.support.local_mirror import LocalMirror, mirroring
from tests.support.same_log import assert_same_log
from tests.support.source_logs import make_transactions

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def broker() -> Iterator[Guarded]:
    cluster, for_admin = start_guarded()
    with cluster:
        guarded = Guarded(cluster, for_admin, AdminClient({"bootstrap.servers": for_admin, **AS_ADMIN}))
        for kind in (TOPIC, ResourceType.GROUP, IDS):
            guarded.add(kind, "*", ALL, ALLOW)
        for operation in (AclOperation.CREATE, AclOperation.DESCRIBE, AclOperation.IDEMPOTENT_WRITE):
            guarded.add(ResourceType.BROKER, "kafka-cluster", operation, ALLOW)
        yield guarded


@pytest.fixture
def guarded(broker: Guarded) -> Iterator[Guarded]:
    """Takes back what a test gave."""
    before = list(broker.given)
    yield broker
    for acl in [acl for acl in broker.given if acl not in before]:
        broker.remove(acl)


def rounds_until(mirror: LocalMirror, names: dict[tuple[str, int], str]) -> None:
    """Rights reach a broker a moment after they were given."""

    def is_so() -> bool:
        mirror.round(0.6)
        return {place: fact.name for place, fact in mirror.facts().items() if fact.kind == "stopped"} == names

    await_condition(is_so, f"facts {names}", 30)


def test_a_right_that_is_lost_on_one_topic_stops_that_topic_alone_until_it_is_given_back(
    guarded: Guarded, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    topics = unread, unwritten, unseen, _ = "lost-read", "lost-write", "lost-sight", "lost-nothing"
    extra = {"refresh.topics.interval.seconds": "0.3"}
    for topic in topics:
        create_topic(guarded.servers, topic, 1)
        produce(guarded.servers, topic, ({"value": b"%d" % i} for i in range(10)))
    with mirroring(write_flow(tmp_path, guarded.servers, guarded.servers, "lost-.*", extra)) as mirror:
        alias = mirror.flow.source.alias
        remotes = {topic: f"{alias}.{topic}" for topic in topics}
        mirror.await_topics(4)
        mirror.round()
        denied = [
            guarded.add(TOPIC, unread, AclOperation.READ, DENY),
            guarded.add(TOPIC, remotes[unwritten], AclOperation.WRITE, DENY),
            guarded.add(TOPIC, unseen, ALL, DENY),
        ]
        as_admin: dict[str, Any] = {key.replace(".", "_"): value for key, value in AS_ADMIN.items()}
        for topic in topics:
            produce(guarded.for_admin, topic, ({"value": b"%d" % i} for i in range(10, 20)), **as_admin)
        mirror.await_topics(3)
        rounds_until(mirror, dict.fromkeys([(unread, 0), (unwritten, 0), (unseen, -1)], "unauthorized"))
        status = mirror.status()
        print(status)
        for said in (
            f"unauthorized: User:ANONYMOUS has no READ on topic {unread} of cluster {alias} "
            "(TOPIC_AUTHORIZATION_FAILED (29)), so nothing is copied from source offset 10 on;",
            f"unauthorized: User:ANONYMOUS has no WRITE on topic {remotes[unwritten]} of cluster B "
            "(TOPIC_AUTHORIZATION_FAILED (29)), so nothing is copied from source offset 10 on;",
            f"unauthorized: User:ANONYMOUS has no READ on topic {unseen} of cluster {alias} ",
            f"--add --allow-principal User:ANONYMOUS --operation Read --topic {unseen}",
        ):
            assert said in status
            assert said in caplog.text
        assert f"{unseen}: unauthorized" in status
        assert [total(guarded.servers, remotes[t]) for t in topics] == [10, 10, 10, 20], "others go on"
        for acl in denied:
            guarded.remove(acl)
        mirror.await_topics(4)
        rounds_until(mirror, {})
        await_condition(lambda: not mirror.facts().keys() - {("", -1)}, "the last fact's end", 10)
        assert [total(guarded.servers, remotes[t]) for t in topics] == [20] * 4


def test_a_driver_that_may_not_read_the_claims_gives_no_lease_until_it_may(guarded: Guarded, tmp_path: Path) -> None:
    """Another may lead meanwhile."""
    create_topic(guarded.servers, "claimed", 1)
    flow = only_flow(write_flow(tmp_path, guarded.servers, guarded.servers, "claimed", {"lease.seconds": "1"}))
    claims, changed = Storage.of(flow).claims, threading.Event()
    keeper = FlowKeeper(flow, Ledger(), changed.set)
    keeper.start()
    keeper.lead.allow()

    def is_leased() -> bool:
        return bool(keeper.plan(1, 0, hints={}, weights={}, troubled=(), stop_at=None))

    try:
        await_condition(is_leased, "a lease", 30)
        denied = guarded.add(TOPIC, claims, AclOperation.READ, DENY)
        await_condition(lambda: not keeper.lead.term_s, "the end of its term", 30)
        assert keeper.view.leads and not is_leased() and keeper.plan_empty(0) is None
        await_condition(lambda: f"no READ on topic {claims}" in keeper.view.problem, "the reason", 30)
        changed.clear()
        guarded.remove(denied)
        assert changed.wait(30), "whoever plans is told"
        assert is_leased()
        await_condition(lambda: not keeper.view.problem, "the end of the problem", 30)
    finally:
        keeper.stop()


def test_who_may_not_write_markers_fills_with_transactions_and_else_translates(
    guarded: Guarded, tmp_path: Path, java_reader: JavaReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probes, "PROBE_EVERY_S", 0.2)
    extra = {"refresh.topics.interval.seconds": "0.3"}
    make_transactions(guarded.servers, "holes-a", transactions=20, aborted_share=0.5, partitions=1)
    make_transactions(guarded.servers, "holes-b", transactions=20, aborted_share=0.5, partitions=1)
    with mirroring(write_flow(tmp_path, guarded.servers, guarded.servers, "holes-a", extra)) as mirror:
        mirror.await_topics(1)
        await_condition(lambda: mirror.round(1.0) == [], "the copy", 30)
        remote = f"{mirror.flow.source.alias}.holes-a"
        assert_same_log(
            java_reader, guarded.servers, "holes-a", guarded.servers, remote, mirrored="read_committed", ends=True
        )
        status = mirror.status()
        print(status)
        assert "markers-refused: User:ANONYMOUS has no ALTER on cluster B (CLUSTER_ACTION would do)" in status

    guarded.add(IDS, "sparkmirror.", ALL, DENY, PREFIXED)
    with mirroring(write_flow(tmp_path, guarded.servers, guarded.servers, "holes-b", extra)) as mirror:
        mirror.await_topics(1)
        await_condition(lambda: mirror.round(1.0) == [], "the copy", 30)
        status = mirror.status()
        print(status)
        assert "no transactions (WRITE on transactional ids sparkmirror.*): topics with holes are" in status
        assert "translated  the target permits neither markers nor transactions, so holes can't be filled" in status
        given = guarded.add(ResourceType.BROKER, "kafka-cluster", AclOperation.ALTER, ALLOW)
        await_condition(lambda: not mirror.facts(), "markers to be permitted", 10)
        guarded.remove(given)
        await_condition(lambda: ("", -1) in mirror.facts(), "the loss of markers to be noticed", 10)


def test_who_may_not_read_a_remote_topic_mirrors_it_as_long_as_its_log_is_as_it_was_left(
    guarded: Guarded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probes, "PROBE_EVERY_S", 0.2)
    topic, extra = "blind", {"refresh.topics.interval.seconds": "0.3"}
    file = write_flow(tmp_path, guarded.servers, guarded.servers, topic, extra)
    remote = f"{only_flow(file).source.alias}.{topic}"
    right = f"User:ANONYMOUS has no READ on topic {remote} of cluster B"
    denied = guarded.add(TOPIC, remote, AclOperation.READ, DENY)
    create_topic(guarded.servers, topic, 1)

    def add(first: int) -> None:
        produce(guarded.servers, topic, ({"value": b"%d" % i} for i in range(first, first + 10)))

    add(0)
    for count in (10, 20):  # by one driver after the other
        with mirroring(file) as mirror:
            mirror.await_topics(1)
            mirror.catch_up(topic)
            await_condition(lambda: (topic, -1) in mirror.facts(), "the fact", 10)
            fact = mirror.facts()[topic, -1]
            assert (fact.kind, fact.name) == ("noted", "tail-unread") and right in fact.said
            assert "--operation Read" in fact.said
            assert total(guarded.servers, remote) == count
            add(count)
    with mirroring(file) as mirror:
        mirror.await_topics(1)
        mirror.round(heard=False)  # copies the rest, and is killed before it can say so
        rounds_until(mirror, {(topic, 0): "unauthorized"})
        assert f"{right} " in mirror.facts()[topic, 0].said and "ends at 30 where" in mirror.facts()[topic, 0].said
        guarded.remove(denied)
        rounds_until(mirror, {})
        await_condition(lambda: (topic, -1) not in mirror.facts(), "the end of the fact", 10)
    assert [record.value for record in read_all(guarded.servers, remote)[0]] == [b"%d" % i for i in range(30)]


def test_the_doctor_names_each_right_that_is_missing(guarded: Guarded, tmp_path: Path) -> None:
    for topic in ("sick-a", "sick-b"):
        create_topic(guarded.servers, topic, 1)
    one = {"replication.internal.topic.replication.factor": "1", "emit.heartbeats.enabled": "false"}
    file = write_flow(tmp_path, guarded.servers, guarded.servers, "sick-.*", one)
    alias = only_flow(file).source.alias
    guarded.add(TOPIC, "sick-a", AclOperation.READ, DENY)
    guarded.add(TOPIC, f"{alias}.sick-b", AclOperation.WRITE, DENY)
    guarded.add(TOPIC, f"mm2-status.{alias}.internal", AclOperation.CREATE, DENY)
    guarded.add(ResourceType.BROKER, "kafka-cluster", AclOperation.CREATE, DENY)

    wanted = (
        f"FAIL READ is missing on 1 topic of {alias}: sick-a",
        f"FAIL WRITE is missing on 1 topic of B: {alias}.sick-b",
        f"WARN CREATE is missing on 1 topic of B: mm2-status.{alias}.internal: `status` knows no facts",
        "WARN ALTER is missing on the cluster B: markers-refused: empty transactions are used, which is slow",
        "WARN ALTER is missing on the cluster B: rights are not kept alike",
    )
    said: list[str] = []

    def is_named() -> bool:
        said[:] = [f"{v.level} {v.said}" for v in examine_clusters(load_mirror_config(file)) if v.check == "rights"]
        return all(any(text.startswith(each) for text in said) for each in wanted)

    try:
        await_condition(is_named, "the rights to be gone", 15)
    finally:
        print(*said, sep="\n")
    assert len(said) == len(wanted)


def test_groups_that_may_not_be_seen_or_written_are_refused_each_for_itself(guarded: Guarded) -> None:
    open_topic, closed_topic = (("groups-open", 0), ("groups-closed", 0))
    unseen, unwritten, free = "group-unseen", "group-unwritten", "group-free"
    for topic, _ in (open_topic, closed_topic):
        create_topic(guarded.servers, topic, 1)
    guarded.add(ResourceType.GROUP, unseen, ALL, DENY)
    guarded.add(ResourceType.GROUP, unwritten, AclOperation.READ, DENY)
    guarded.add(TOPIC, closed_topic[0], AclOperation.READ, DENY)
    offsets = {open_topic: Committed(1), closed_topic: Committed(2)}
    wanted = dict.fromkeys((unseen, unwritten, free), offsets)
    with Cluster(ClusterAddress(alias="G", bootstrap=(guarded.servers,))) as cluster:

        def answers() -> dict[str, object]:
            """Rights reach a broker a moment after they were given."""
            written = commit_group_offsets(cluster, wanted)
            return {
                group: answer.code if isinstance(answer, BrokerError) else answer for group, answer in written.items()
            }

        refused, partly = (
            codes.GROUP_AUTHORIZATION_FAILED,
            {open_topic: 0, closed_topic: codes.TOPIC_AUTHORIZATION_FAILED},
        )
        expected = {unseen: refused, unwritten: refused, free: partly}
        await_condition(lambda: answers() == expected, "rights", 30)
        found = fetch_group_offsets(cluster, wanted)
        assert found[free] == {open_topic: Committed(1)}
        assert isinstance(found[unseen], BrokerError)
        assert f"User:ANONYMOUS has no DESCRIBE on group {unseen} of cluster G " in str(found[unseen])


@pytest.mark.long
def test_a_claim_topic_that_loses_its_claim_and_may_not_be_corrected_is_refused_with_the_command(
    guarded: Guarded, tmp_path: Path
) -> None:
    file = write_flow(tmp_path, guarded.servers, guarded.servers, "x")
    claims = Storage.of(only_flow(file)).claims
    create_topic(guarded.servers, claims, 1)
    denied = guarded.add(TOPIC, claims, AclOperation.ALTER_CONFIGS, DENY)
    with mirroring(file) as mirror:
        wanted = f"--alter --entity-type topics --entity-name {claims} --add-config cleanup.policy=compact"
        await_condition(lambda: wanted in mirror.keeper.view.problem, "the refusal", 30)
        assert not mirror.keeper.view.leads
        guarded.remove(denied)
        await_condition(lambda: mirror.keeper.view.leads, "the lead", 30)


def test_workers_that_may_not_be_looked_at_delay_nothing(guarded: Guarded, topic: str, tmp_path: Path) -> None:
    """Neither their group nor the topic of their configurations."""
    offsets = itertools.cycle((0, 1, 2))  # other words of the worker's, so that it is looked for anew
    with connect_scene(guarded.servers, guarded.servers, topic, tmp_path) as scene:

        def look() -> str:
            scene.hold(config_offset=next(offsets))
            return scene.watch.look()

        scene.keep()
        await_condition(lambda: look() == scene.said, "a name")
        for operation in (AclOperation.READ, AclOperation.DESCRIBE_CONFIGS):
            denied = guarded.add(TOPIC, topic, operation, DENY)
            await_condition(lambda: look() == "", f"no name without {operation}")
            guarded.remove(denied)
            await_condition(lambda: look() == scene.said, "a name again")
        denied = guarded.add(ResourceType.GROUP, topic, AclOperation.DESCRIBE, DENY)
        await_condition(lambda: scene.watch.look() == "", "no name without the group")
        guarded.remove(denied)
        await_condition(lambda: scene.watch.look() == scene.said, "a name at last")
