"""Internal topics stay small however long a mirror runs, and one that has grown is read quickly all the same."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from sparkmirror.errors import ConnectionLostError
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets import internal_topic, run_book
from sparkmirror.offsets.claims import Claims
from sparkmirror.offsets.internal_topic import InternalTopic
from sparkmirror.offsets.map_chain import Ids
from sparkmirror.offsets.map_topic import OffsetMapTopic
from sparkmirror.offsets.offset_map import Translated
from sparkmirror.offsets.progress import ProgressTopic
from sparkmirror.topology.run import Run
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage
from tests.conftest import Pair
from tests.support.aged_progress import BusyProgress
from tests.support.command import run_command
from tests.support.flows import only_flow, write_flow
from tests.support.kafka_client import await_condition, create_topic, delete_topic, topics
from tests.support.keepers import keeping
from tests.support.leases import address
from tests.support.topic_admin import change_configs, topic_configs

SMALL = {"cleanup.policy": "compact", "segment.bytes": "1048576"}
SECOND_OLD = {"min.compaction.lag.ms": "600000"}  # of claims


def test_internal_topics_are_made_so_that_compaction_keeps_them_small(pair: Pair, topic: str, tmp_path: Path) -> None:
    create_topic(pair.source, topic, 1)
    quiet = {"emit.heartbeats.enabled": "false", "checkpoints.topic.replication.factor": "1"}
    flow = only_flow(write_flow(tmp_path, pair.source, pair.target, topic, quiet))
    storage, checkpoints = Storage.of(flow), f"{flow.source.alias}.checkpoints.internal"
    with keeping(flow), Cluster(address(pair.target)) as cluster:
        OffsetMapTopic(cluster, storage, 1).ensure()
        await_condition(lambda: checkpoints in topics(pair.target), "checkpoints")
    for name in (storage.progress, storage.status, storage.offset_map, checkpoints):
        assert topic_configs(pair.target, name) == SMALL
    assert topic_configs(pair.target, storage.claims) == SMALL | SECOND_OLD


def test_an_older_topic_gets_what_it_lacks_and_keeps_what_a_user_set(
    pair: Pair, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="sparkmirror")
    storage = Storage.named(topic)
    create_topic(pair.target, storage.progress, 25, config={"cleanup.policy": "compact"})
    create_topic(pair.target, storage.claims, 1, config={"cleanup.policy": "compact", "segment.bytes": "9000000"})
    with Cluster(address(pair.target)) as cluster:
        ProgressTopic(cluster, storage).ensure()
        Claims(cluster, storage, 1).claim_producer_id()
    assert topic_configs(pair.target, storage.progress) == SMALL
    assert topic_configs(pair.target, storage.claims) == SMALL | SECOND_OLD | {"segment.bytes": "9000000"}
    assert f"topic {storage.progress}: segment.bytes=1048576" in caplog.text


def test_a_topic_that_would_lose_by_age_what_it_must_keep_is_compacted_also_if_another_made_it_anew(
    pair: Pair, topic: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As clients make topics that they ask for, where brokers let them."""
    file = write_flow(tmp_path, pair.source, pair.target, topic)
    storage = Storage.of(only_flow(file))
    create_topic(pair.target, storage.claims, 1)
    create_topic(pair.target, storage.progress, 1, config={"cleanup.policy": "compact,delete"})
    shown = [line.split() for line in run_command("plan", str(file)).stdout.splitlines()]
    for name in (storage.claims, storage.progress):
        assert ["set", "B", name, "cleanup.policy=compact"] in shown
    with Cluster(address(pair.target)) as cluster:
        claims, progress = Claims(cluster, storage, 1), ProgressTopic(cluster, storage)
        producer_id = claims.claim_producer_id()
        claims.lead(1.0)
        progress.ensure()
        assert (
            f"{storage.claims} has cleanup.policy=delete, by which it loses what it must keep: it is set" in caplog.text
        )
        for name in (storage.claims, storage.progress):
            assert topic_configs(pair.target, name)["cleanup.policy"] == "compact"
            delete_topic(pair.target, name)
            await_condition(lambda n=name: n not in topics(pair.target), "its end")  # type: ignore[misc]
            create_topic(pair.target, name, 1)
        assert progress.remake_if_lost()
        claims.refresh()
        assert claims.claim_producer_id() == producer_id
    for name in (storage.claims, storage.progress):
        assert topic_configs(pair.target, name)["cleanup.policy"] == "compact"


def test_what_mirrormaker_made_beside_ours_keeps_its_policy(pair: Pair, topic: str, tmp_path: Path) -> None:
    flow = only_flow(write_flow(tmp_path, pair.source, pair.target, topic, {"emit.heartbeats.enabled": "false"}))
    checkpoints = f"{flow.source.alias}.checkpoints.internal"
    create_topic(pair.target, checkpoints, 1, config={"cleanup.policy": "compact,delete"})
    with keeping(flow):
        await_condition(lambda: "segment.bytes" in topic_configs(pair.target, checkpoints), "what it lacks")
    assert topic_configs(pair.target, checkpoints)["cleanup.policy"] == "compact,delete"


def age(servers: str, name: str) -> None:
    """All that stands in it goes, as by its retention time."""
    change_configs(servers, name, {"cleanup.policy": "delete"})
    admin = AdminClient({"bootstrap.servers": servers})
    for removed in admin.delete_records([TopicPartition(name, 0, -1)]).values():
        removed.result(30)


def test_a_claim_that_has_aged_out_is_said_again_by_who_leads(pair: Pair, topic: str) -> None:
    storage = Storage.named(topic)
    with Cluster(address(pair.target)) as cluster:
        leader = Claims(cluster, storage, 1)
        producer_id, origins = leader.claim_producer_id(), leader.claim_origins([("x", 0)])
        leader.lead(1.0)
        age(pair.target, storage.claims)
        leader.refresh()
        assert leader.leads() and leader.times_anew == 0
        newcomer = Claims(cluster, storage, 1)
        assert (newcomer.claim_producer_id(), newcomer.claim_origins([("x", 0)])) == (producer_id, origins)


@pytest.mark.parametrize("is_said_again", [False, True])
def test_a_claim_that_stands_holds_for_who_knows_one_that_has_aged_out(
    pair: Pair, topic: str, is_said_again: bool
) -> None:
    """Also if that one was said again, but too late."""
    storage = Storage.named(topic)
    with Cluster(address(pair.target)) as cluster:
        first = Claims(cluster, storage, 1)
        first.claim_producer_id()
        first.lead(1.0)
        age(pair.target, storage.claims)
        second = Claims(cluster, storage, 1)
        claimed = second.claim_producer_id()
        if is_said_again:
            first._append(*first._kept.items())
        second.lead(1.0)
        second.release()
        first.refresh()
        assert first.times_anew == 1 and not first.leads()
        assert first.claim_producer_id() == claimed
        first.lead(1.0)
        assert first.leads() and first.claim_producer_id() == claimed


def test_the_plan_shows_what_older_internal_topics_get(pair: Pair, topic: str, tmp_path: Path) -> None:
    file = write_flow(tmp_path, pair.source, pair.target, topic)
    progress = Storage.of(only_flow(file)).progress
    create_topic(pair.target, progress, 25, config={"cleanup.policy": "compact"})
    shown = run_command("plan", str(file)).stdout
    assert ["set", "B", progress, "segment.bytes=1048576"] in [line.split() for line in shown.splitlines()]


def test_a_cluster_that_refuses_small_segments_has_the_topic_without(
    pair: Pair, topic: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Brokers from 4.0 on take no segments of less than 1 MB, others have policies of their own."""
    monkeypatch.setattr(internal_topic, "COMPACTED", SMALL | {"segment.bytes": "1000"})
    storage = Storage.named(topic)
    with Cluster(address(pair.target)) as cluster:
        for _ in range(2):
            ProgressTopic(cluster, storage, 1).ensure()
            assert topic_configs(pair.target, storage.progress) == {"cleanup.policy": "compact"}
    assert f"topic {storage.progress} can't have segment.bytes=1000" in caplog.text


def test_a_topic_with_half_a_million_records_is_read_in_seconds(pair: Pair, topic: str) -> None:
    storage = Storage.named(topic)
    create_topic(pair.target, storage.progress, 25, config={"cleanup.policy": "compact"})
    with Cluster(address(pair.target)) as cluster:
        busy = BusyProgress(cluster, storage, topic, 1000)
        busy.write(500_000, 5_000)
        busy.write(10_000, 6_000)
        began = time.thread_time()
        found = ProgressTopic(cluster, storage).read()
        worked_s = time.thread_time() - began  # whatever else the machine does
    assert busy.written > 400_000
    assert {place: standing.next_offset for place, standing in found.items()} == {(topic, p): 6001 for p in range(1000)}
    assert worked_s < 5


def test_chunks_of_a_map_that_was_begun_anew_are_the_new_ones_alone(pair: Pair, topic: str) -> None:
    """The chunks of a partition stand in different partitions of the topic, which are read in any order."""
    storage = Storage.named(topic)
    old, new = (Ids("", f"00000000-0000-0000-0000-00000000000{n}") for n in (1, 2))
    places = [(topic, number) for number in range(20)]
    with Cluster(address(pair.target)) as cluster:
        writer = OffsetMapTopic(cluster, storage, 1)
        writer.ensure()
        for place in places:
            for run in range(1500):  # more than one chunk
                writer.add(place, old, Run(2 * run, run, 1))
        writer.write()
        for place in places:
            writer.add(place, new, Run(0, 100, 5))
        writer.write()
        reader = OffsetMapTopic(cluster, storage)
        reader.read()
        standing = Standing(5, 0, 105, translated="why", source_id="", target_id=new.target)
        assert [place for place in places if reader.is_lost(place, standing)] == []


def test_a_map_whose_writer_died_while_it_replaced_another_is_whole_when_the_next_one_has_written(
    pair: Pair, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chunks that nobody could remove any more are left over from a topic that was deleted and made anew."""
    monkeypatch.setattr(run_book, "CHUNK_RUNS", 8)
    storage = Storage.named(topic)
    old, new = (Ids(uuid_of(number), "") for number in (1, 2))
    standing = Standing(80, 0, 1040, translated="why", source_id=new.source)
    with Cluster(address(pair.target)) as cluster:
        for death in (5, 15):
            places = [(topic, 100 * death + number) for number in range(10)]
            writer = open_map(cluster, storage)
            for place, run in itertools.product(places, range(80)):
                writer.add(place, old, Run(2 * run, run, 1))
            writer.write()
            for place, run in itertools.product(places, range(40)):
                writer.add(place, new, Run(2 * run, 1000 + run, 1))
            with monkeypatch.context() as patch, contextlib.suppress(ConnectionLostError):
                die_after(patch, death)
                writer.write()
            following = open_map(cluster, storage)
            for place, run in itertools.product(places, range(40)):
                following.add(place, new, Run(2 * run, 1000 + run, 1))
            following.write()
            reader = open_map(cluster, storage)
            for place in places:
                found = reader.map_of(place, standing)
                stands = [found.to_target(offset) for offset in range(80)]
                assert stands == [Translated(1000 + (offset + 1) // 2) for offset in range(80)]


def open_map(cluster: Cluster, storage: Storage) -> OffsetMapTopic:
    topic = OffsetMapTopic(cluster, storage, 1)
    topic.ensure()
    topic.read()
    return topic


def die_after(monkeypatch: pytest.MonkeyPatch, appends: int) -> None:
    real, left = InternalTopic.append, itertools.count(appends, -1)

    def append(self: InternalTopic, partition: int, records: Sequence[tuple[bytes, bytes | None]]) -> int:
        if next(left) <= 0:
            raise ConnectionLostError("its writer is dead")
        return real(self, partition, records)

    monkeypatch.setattr(InternalTopic, "append", append)


def test_a_map_goes_on_when_brokers_begin_to_give_topics_ids(pair: Pair, topic: str) -> None:
    storage, place = Storage.named(topic), (topic, 0)
    ids = [Ids("", ""), Ids(uuid_of(1), ""), Ids(uuid_of(1), uuid_of(2))]
    with Cluster(address(pair.target)) as cluster:
        for number, known in enumerate(ids):  # a driver each
            writer = open_map(cluster, storage)
            for run in range(1500 * number, 1500 * (number + 1)):  # more than one chunk
                writer.add(place, known, Run(2 * run, 3000 + run, 1))
            writer.write()
            standing = Standing(3000 * (number + 1), 0, 4500 + 1500 * number, -1, 0, "why", *known)
            found = open_map(cluster, storage).map_of(place, standing)
            assert [found.to_target(2 * run) for run in (5, 1499, 1500 * number)] == [
                Translated(3000 + run) for run in (5, 1499, 1500 * number)
            ]


def uuid_of(number: int) -> str:
    return f"00000000-0000-0000-0000-{number:012}"


def test_who_has_read_a_topic_reads_another_of_its_name_from_its_beginning(pair: Pair, topic: str) -> None:
    """Spark's workers read progress on from where they were, also when the topic was deleted meanwhile."""
    storage, (gone, new) = Storage.named(topic), ((topic, 0), (topic, 1))
    with Cluster(address(pair.target)) as cluster:
        writer, worker, driver = (ProgressTopic(cluster, storage, 1) for _ in range(3))
        writer.ensure()
        writer.write({place: Standing(5, 4, 5) for place in (gone, new)})
        for place in (gone, new):
            assert worker.read_place(place) == Standing(5, 4, 5)
        assert driver.read_on().keys() == {gone, new}
        delete_topic(pair.target, storage.progress)
        await_condition(lambda: storage.progress not in topics(pair.target), "the end of the topic")
        writer.ensure()
        for end in range(10, 13):  # further than the old one was read
            writer.write({new: Standing(end, end - 1, end)})
        assert worker.read_place(gone) is None
        assert worker.read_place(new) == Standing(12, 11, 12)
        assert driver.read_on() == {new: Standing(12, 11, 12)}
