"""Groups of the source on the target: at exact places, never past its end, never over one that reads there."""

from __future__ import annotations

import json
import threading
import uuid
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from sparkmirror.client import MirrorClient, TopicPartition
from sparkmirror.control.translation import Wanted, translate
from sparkmirror.errors import BrokerError
from sparkmirror.groups import work
from sparkmirror.groups.task import GroupReport
from sparkmirror.offsets.progress import ProgressTopic
from sparkmirror.protocol import codes
from sparkmirror.topology.standing import Standing
from tests.conftest import Pair
from tests.support.command import run_command
from tests.support.flows import write_flow
from tests.support.group_members import committed
from tests.support.group_rounds import KEYS, Groups, commit, following, groups_of
from tests.support.kafka_client import await_condition, create_topic, delete_topic, produce, read_all, topics, total
from tests.support.local_mirror import LocalMirror, mirroring
from tests.support.source_logs.log_start import remove_records
from tests.support.source_logs.markers import write_markers

NOTHING = -1001


def fill(servers: str, topic: str, turns: int = 12, first: int = 0) -> None:
    """Records and holes by turns, in two partitions."""
    for turn in range(first, first + turns):
        produce(servers, topic, ({"value": b"%d-%d" % (turn, i), "partition": turn % 2} for i in range(1 + turn % 5)))
        write_markers(servers, topic, 1 + turn % 3, partition=turn % 2)


def copy_all(mirror: LocalMirror, groups: Groups) -> dict[str, GroupReport]:
    """Until no group has read more than was copied, and something of all was."""

    def is_copied() -> bool:
        mirror.round(1.2)
        reports = groups.round()
        return bool(reports) and not any(report.lagging or "yet" in report.unknown for report in reports.values())

    await_condition(is_copied, "the copy", 60)
    return groups.keeper.reports


@pytest.mark.parametrize("preserve", ["auto", "never"])
def test_a_group_at_any_offset_goes_on_with_the_same_record(
    pair: Pair, topic: str, tmp_path: Path, preserve: str
) -> None:
    create_topic(pair.source, topic, 2)
    fill(pair.source, topic)
    source = read_all(pair.source, topic)
    end = source[0][-1].offset + 1
    names = [f"{topic}-{i}" for i in range(end + 1)]
    for offset, name in enumerate(names):
        commit(pair.source, name, {(topic, 0): offset, (topic, 1): 3}, metadata="m")
    with following(pair, topic, tmp_path, {"offsets.preserve": preserve}) as mirror, groups_of(mirror) as groups:
        reports = copy_all(mirror, groups)
        alias = mirror.flow.source.alias
    remote = f"{alias}.{topic}"
    target = read_all(pair.target, remote)
    assert len(reports) == len(names) and not any(report.why or report.lagging for report in reports.values())
    for offset, name in enumerate(names):
        here = next((r.value for r in source[0] if r.offset >= offset), b"end")
        at = committed(pair.target, name, [(remote, 0)])[remote, 0]
        there = next((r.value for r in target[0] if r.offset >= at), b"end")
        assert here == there, f"offset {offset} became {at}"
    with MirrorClient(pair.target) as client:
        found = client.remote_consumer_offsets(names[2], alias)
        assert found[TopicPartition(remote, 0)].offset == committed(pair.target, names[2], [(remote, 0)])[remote, 0]
        assert found[TopicPartition(remote, 0)].metadata.rstrip("\0") == "m"  # librdkafka ends it so


def test_what_was_not_copied_yet_is_waited_for_at_the_end_of_what_was(pair: Pair, topic: str, tmp_path: Path) -> None:
    create_topic(pair.source, topic, 2)
    produce(pair.source, topic, ({"value": b"%d" % i, "partition": i % 2} for i in range(20)))
    with following(pair, topic, tmp_path) as mirror, groups_of(mirror) as groups:
        remote = f"{mirror.flow.source.alias}.{topic}"
        mirror.round(1.2)
        produce(pair.source, topic, ({"value": b"%d" % i, "partition": 0} for i in range(5)))
        commit(pair.source, topic, {(topic, 0): 15, (topic, 1): 10})
        assert groups.round()[topic].lagging == 1
        assert committed(pair.target, topic, [(remote, 0), (remote, 1)]) == {(remote, 0): 10, (remote, 1): 10}
        mirror.round(1.2)
        assert groups.round()[topic].lagging == 0
        assert committed(pair.target, topic, [(remote, 0)]) == {(remote, 0): 15}


def test_who_reads_on_the_target_is_left_alone_and_the_others_are_not(pair: Pair, topic: str, tmp_path: Path) -> None:
    create_topic(pair.source, topic, 2)
    produce(pair.source, topic, ({"value": b"%d" % i, "partition": i % 2} for i in range(40)))
    active, idle = f"{topic}-active", f"{topic}-idle"
    for group in (active, idle):
        commit(pair.source, group, {(topic, 0): 12})
    with following(pair, topic, tmp_path) as mirror, groups_of(mirror) as groups:
        remote = f"{mirror.flow.source.alias}.{topic}"
        mirror.round(1.2)
        consumer = Consumer({"bootstrap.servers": pair.target, "group.id": active, "enable.auto.commit": False})
        try:
            consumer.subscribe([remote])
            await_condition(lambda: consumer.poll(0.1) is None and bool(consumer.assignment()), "the assignment", 30)
            reports = groups.round()
            assert "the group is Stable on the target, with 1 members" in reports[active].why
            assert not reports[idle].why
        finally:
            consumer.close()
        assert committed(pair.target, idle, [(remote, 0)]) == {(remote, 0): 12}
        assert committed(pair.target, active, [(remote, 0)]) == {(remote, 0): NOTHING}
        groups.round()
        assert committed(pair.target, active, [(remote, 0)]) == {(remote, 0): 12}


@pytest.mark.parametrize("rewind", ["false", "true"])
def test_a_group_that_was_reset_goes_back_only_if_that_is_wanted(
    pair: Pair, topic: str, tmp_path: Path, rewind: str
) -> None:
    create_topic(pair.source, topic, 2)
    produce(pair.source, topic, ({"value": b"%d" % i, "partition": i % 2} for i in range(40)))
    extra = {"sync.group.offsets.rewind": rewind}
    with following(pair, topic, tmp_path, extra) as mirror, groups_of(mirror) as groups:
        alias = mirror.flow.source.alias
        remote = f"{alias}.{topic}"
        mirror.round(1.2)
        commit(pair.source, topic, {(topic, 0): 15})
        groups.round()
        commit(pair.source, topic, {(topic, 0): 4})
        report = groups.round()[topic]
        assert committed(pair.target, topic, [(remote, 0)]) == {(remote, 0): 4 if rewind == "true" else 15}
        assert (report.why == "") == (rewind == "true")
        with MirrorClient(pair.target) as client:
            found = client.remote_consumer_offsets(topic, alias)
            assert found[TopicPartition(remote, 0)].offset == 4, "checkpoints follow"


def test_a_group_that_has_read_on_is_not_taken_for_one_that_was_reset(pair: Pair, topic: str, tmp_path: Path) -> None:
    """It has no members for a moment, as when its consumers are started anew one by one."""
    create_topic(pair.source, topic, 1)
    produce(pair.source, topic, ({"value": b"%d" % i} for i in range(20)))
    extra = {"sync.group.offsets.rewind": "true"}
    with following(pair, topic, tmp_path, extra, partitions=1) as mirror, groups_of(mirror) as groups:
        remote = f"{mirror.flow.source.alias}.{topic}"
        mirror.catch_up(topic)
        commit(pair.source, topic, {(topic, 0): 10})
        assert groups.round()[topic].committed == 1
        commit(pair.target, topic, {(remote, 0): 15})
        for offset in (10, 12, 4):
            commit(pair.source, topic, {(topic, 0): offset})
            assert "it is further on the target" in groups.round()[topic].why
            assert committed(pair.target, topic, [(remote, 0)]) == {(remote, 0): 15}


@pytest.mark.long
def test_a_group_that_was_reset_goes_back_though_the_first_try_fails(
    pair: Pair, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_topic(pair.source, topic, 1)
    produce(pair.source, topic, ({"value": b"%d" % i} for i in range(20)))
    commit(pair.source, topic, {(topic, 0): 10})
    extra = {"sync.group.offsets.rewind": "true"}
    with following(pair, topic, tmp_path, extra, partitions=1) as mirror, groups_of(mirror) as groups:
        remote = f"{mirror.flow.source.alias}.{topic}"
        mirror.catch_up(topic)
        assert groups.round()[topic].committed == 1
        commit(pair.source, topic, {(topic, 0): 4})
        with monkeypatch.context() as patch:
            away = BrokerError(codes.COORDINATOR_NOT_AVAILABLE, "its coordinator does not answer")
            patch.setattr(work, "commit_group_offsets", lambda _, commits: dict.fromkeys(commits, away))
            report = groups.round()[topic]
            assert (report.emitted, report.committed) == (0, 0) and "does not answer" in report.why
        report = groups.round()[topic]
        assert (report.emitted, report.committed, report.why) == (1, 1, "")
        assert committed(pair.target, topic, [(remote, 0)]) == {(remote, 0): 4}


@pytest.mark.long
def test_checkpoints_follow_a_target_topic_that_was_made_anew(pair: Pair, topic: str, tmp_path: Path) -> None:
    create_topic(pair.source, topic, 1)
    produce(pair.source, topic, ({"value": b"%d" % i} for i in range(20)))
    commit(pair.source, topic, {(topic, 0): 10})
    extra = {"on.recreate": "continue", "refresh.topics.interval.seconds": "0.2"}
    with following(pair, topic, tmp_path, extra, partitions=1) as mirror, groups_of(mirror) as groups:
        alias = mirror.flow.source.alias
        remote = f"{alias}.{topic}"
        mirror.catch_up(topic)
        assert groups.round()[topic].emitted == 1
        remove_records(pair.source, topic, 8)
        delete_topic(pair.target, remote)
        await_condition(lambda: remote in topics(pair.target) and total(pair.target, remote) == 0, "another topic", 30)
        with mirroring(write_again(mirror.file, {"offsets.preserve": "never"})) as following_one:
            following_one.await_topics(1)
            with groups_of(following_one) as later:

                def is_lower() -> bool:
                    following_one.round(1.2)
                    later.round()
                    with MirrorClient(pair.target) as client:
                        found = client.remote_consumer_offsets(topic, alias)
                    return found[TopicPartition(remote, 0)].offset == 2

                await_condition(is_lower, "the offset in the new topic", 60)


def write_again(file: Path, more: dict[str, str]) -> Path:
    again = file.with_name("again.properties")
    again.write_text(file.read_text() + "".join(f"{key} = {value}\n" for key, value in more.items()))
    return again


def test_checkpoints_that_the_topic_has_removed_are_emitted_again(pair: Pair, topic: str, tmp_path: Path) -> None:
    create_topic(pair.source, topic, 1)
    produce(pair.source, topic, ({"value": b"%d" % i} for i in range(20)))
    commit(pair.source, topic, {(topic, 0): 10})
    extra = {"checkpoints.topic.retention.ms": "86400000"}
    with following(pair, topic, tmp_path, extra, partitions=1) as mirror, groups_of(mirror) as groups:
        alias = mirror.flow.source.alias
        mirror.catch_up(topic)
        assert [groups.round()[topic].emitted for _ in range(2)] == [1, 0]
        remove_records(pair.target, f"{alias}.checkpoints.internal", 1)
        assert [groups.round()[topic].emitted for _ in range(2)] == [1, 0]
        with MirrorClient(pair.target) as client:
            assert client.remote_consumer_offsets(topic, alias)[TopicPartition(f"{alias}.{topic}", 0)].offset == 10


def test_the_command_shows_both_sides(pair: Pair, topic: str, tmp_path: Path) -> None:
    create_topic(pair.source, topic, 2)
    produce(pair.source, topic, ({"value": b"%d" % i, "partition": i % 2} for i in range(40)))
    commit(pair.source, topic, {(topic, 0): 15, (topic, 1): 20})
    commit(pair.source, f"{topic}\x1b]0;title\x07\rforged\nline", {(topic, 0): 15})
    with following(
        pair, topic, tmp_path, {"sync.group.offsets.enabled": "false", "groups": f"(?s){topic}.*"}
    ) as mirror:
        alias = mirror.flow.source.alias
        while not total(pair.target, f"{alias}.{topic}"):
            mirror.round(1.2)
        commit(pair.target, topic, {(f"{alias}.{topic}", 1): 20})
        shown = run_command("groups", str(mirror.file)).stdout
        document = json.loads(run_command("groups", str(mirror.file), "--group", topic, "--json").stdout)
        nothing = run_command("groups", str(mirror.file), "--group", "other")
    assert f"{topic}\\x1b]0;title\\x07\\rforged\\nline" in shown
    assert all(line.isprintable() for line in shown.split("\n"))
    behind, synced = document["flows"][0]["rows"]
    assert (behind["source_offset"], behind["wanted"], behind["target_offset"], behind["source_lag"]) == (
        15,
        15,
        None,
        5,
    )
    assert (behind["state"], behind["why"]) == ("behind", "sync.group.offsets.enabled is false")
    assert (synced["state"], synced["target_offset"], synced["target_lag"]) == ("synced", 20, 0)
    assert f"{topic}-0  {alias}.{topic}-0" in shown and "behind" in shown
    assert nothing.returncode == 0 and "no group has committed" in nothing.stdout


def test_new_groups_and_a_target_topic_that_is_gone(pair: Pair, topic: str, tmp_path: Path) -> None:
    create_topic(pair.source, topic, 2)
    produce(pair.source, topic, ({"value": b"%d" % i, "partition": i % 2} for i in range(40)))
    with following(pair, topic, tmp_path) as mirror, groups_of(mirror) as groups:
        mirror.round(1.2)
        assert groups.round() == {}
        commit(pair.source, topic, {(topic, 0): 15})
        assert groups.round()[topic].committed == 1
        assert groups.round()[topic].committed == 0, "nothing is new"
        remote = f"{mirror.flow.source.alias}.{topic}"
        delete_topic(pair.target, remote)
        await_condition(lambda: remote not in topics(pair.target), "the end of the topic")
        commit(pair.source, topic, {(topic, 0): 16})
        assert "can't be read on the target" in groups.round()[topic].why


def test_a_partition_that_becomes_translated_meanwhile_puts_no_group_past_its_record(
    pair: Pair, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_topic(pair.source, topic, 1)
    produce(pair.source, topic, ({"value": b"%d" % i} for i in range(20)))
    with (
        following(pair, topic, tmp_path, {"offsets.preserve.max.hole": "5"}, partitions=1) as mirror,
        groups_of(mirror) as groups,
    ):
        remote = f"{mirror.flow.source.alias}.{topic}"
        mirror.catch_up(topic)
        write_markers(pair.source, topic, 10)
        produce(pair.source, topic, ({"value": b"%d" % i} for i in range(20, 60)))
        commit(pair.source, topic, {(topic, 0): 40})
        read_on, copied = ProgressTopic.read_on, threading.Event()

        def read_then_copy(self: ProgressTopic) -> dict[tuple[str, int], Standing]:
            found = read_on(self)
            if not copied.is_set():
                copied.set()
                mirror.catch_up(topic)
            return found

        monkeypatch.setattr(ProgressTopic, "read_on", read_then_copy)
        groups.round()
        assert copied.is_set() and committed(pair.target, topic, [(remote, 0)])[remote, 0] <= 30
        groups.round()
        assert committed(pair.target, topic, [(remote, 0)]) == {(remote, 0): 30}


def test_a_group_before_the_target_s_first_record_goes_there_and_does_not_come_back_as_if_it_had_read(
    pair: Pair, topic: str, tmp_path: Path
) -> None:
    create_topic(pair.source, topic, 1)
    produce(pair.source, topic, ({"value": b"%d" % i} for i in range(20)))
    commit(pair.source, topic, {(topic, 0): 5})
    with following(pair, topic, tmp_path, partitions=1) as mirror, groups_of(mirror) as groups:
        remote = f"{mirror.flow.source.alias}.{topic}"
        mirror.catch_up(topic)
        remove_records(pair.target, remote, 12)
        assert not groups.round()[topic].why
        assert committed(pair.target, topic, [(remote, 0)]) == {(remote, 0): 12}
        back = {
            offset: translate(mirror.flow, [mirror.flow], Wanted(place=(remote, 0), offset=offset, reverse=True)).rows[
                0
            ]
            for offset in (11, 12, 13)
        }
        assert [row.to_offset for row in back.values()] == [None, None, 13]
        assert "may not have read what was removed" in back[12].why


def test_where_topics_are_merged_a_group_that_has_not_read_all_of_them_is_left_alone(
    pair: Pair, topic: str, tmp_path: Path
) -> None:
    one, two = names = [f"{topic}-{name}" for name in ("one", "two")]
    for name in names:
        create_topic(pair.source, name, 1)
    extra = {"topics.map": f"{topic}-(.*):{topic}"}
    file = write_flow(tmp_path, pair.source, pair.target, f"{topic}-.*", KEYS | {"groups": topic} | extra)
    with mirroring(file) as mirror, groups_of(mirror) as groups:
        mirror.await_topics(2)
        for name in (one, two, one):
            produce(pair.source, name, ({"value": b"%d" % i} for i in range(10)))
            mirror.catch_up(name)
        commit(pair.source, topic, {(one, 0): 15})
        why = groups.round()[topic].why
        assert f"it has committed nothing of {two}-0" in why
        assert committed(pair.target, topic, [(topic, 0)]) == {(topic, 0): NOTHING}
        commit(pair.source, topic, {(two, 0): 4})
        assert not groups.round()[topic].why
        assert committed(pair.target, topic, [(topic, 0)]) == {(topic, 0): 14}


def test_a_topic_that_is_merged_in_after_a_round_was_planned_is_not_passed_over(
    pair: Pair, topic: str, tmp_path: Path
) -> None:
    """The round's tasks wait for a slot while the third topic is found and copied, and know nothing of it."""
    one, two, three = (f"{topic}-{name}" for name in ("one", "two", "three"))
    for name in (one, two):
        create_topic(pair.source, name, 1)
    extra = {"topics.map": f"{topic}-(.*):{topic}", "refresh.topics.interval.seconds": "1"}
    file = write_flow(tmp_path, pair.source, pair.target, f"{topic}-.*", KEYS | {"groups": topic} | extra)
    with mirroring(file) as mirror, groups_of(mirror) as groups:
        mirror.await_topics(2)
        for name in (one, two):
            produce(pair.source, name, ({"value": b"%d" % i} for i in range(5)))
            mirror.catch_up(name)
        commit(pair.source, topic, {(one, 0): 5, (two, 0): 5})
        assert not groups.round()[topic].why
        planned = groups.keeper._plan(emit=True, sync=True)
        create_topic(pair.source, three, 1)
        mirror.await_topics(3)
        for name in (three, one, two):
            produce(pair.source, name, ({"value": b"%d" % i} for i in range(5)))
            mirror.catch_up(name)
        commit(pair.source, topic, {(one, 0): 10, (two, 0): 10})
        (report,) = groups._run(planned)
        assert committed(pair.target, topic, [(topic, 0)]) == {(topic, 0): 5}
        assert "another topic was merged into the same one just now" in report.why
        why = groups.round()[topic].why
        assert f"it has committed nothing of {three}-0" in why


def has_seen(mirror: LocalMirror, topic: str) -> bool:
    landscape = mirror.keeper.view.landscape
    return mirror.keeper.view.leads and landscape is not None and topic in landscape.source_topics


def test_a_group_that_moved_gets_its_exact_place_back(pair: Pair, topic: str, tmp_path: Path) -> None:
    """Both ways, with offsets that differ: A's topic on B as `a.topic`, and what was read there is known on A."""
    here, there = f"a{uuid.uuid4().hex[:5]}", f"b{uuid.uuid4().hex[:5]}"
    create_topic(pair.source, topic, 2)
    fill(pair.source, topic)
    text = "".join(
        f"{key} = {value}\n"
        for key, value in {
            "clusters": f"{here}, {there}",
            f"{here}.bootstrap.servers": pair.source,
            f"{there}.bootstrap.servers": pair.target,
            "topics": topic,
            "replication.factor": "1",
            "offset.storage.replication.factor": "1",
            "offsets.preserve": "never",
            "heartbeats.replication.enabled": "false",  # other tests' heartbeats would stand on the shared source
            "groups": topic,
            **KEYS,
        }.items()
    )
    forth, back = tmp_path / "forth.properties", tmp_path / "back.properties"
    forth.write_text(text + f"{here}->{there}.enabled = true\n")
    back.write_text(text + f"{there}->{here}.enabled = true\n")
    remote = f"{here}.{topic}"
    with mirroring(forth) as mirror, mirroring(back) as reverse, groups_of(mirror) as groups:
        mirror.await_topics(2)
        mirror.round(1.5)
        source, target = read_all(pair.source, topic), read_all(pair.target, remote)
        commit(pair.source, topic, {(topic, 0): source[0][3].offset})
        groups.round()
        assert committed(pair.target, topic, [(remote, 0)]) == {(remote, 0): target[0][3].offset}
        await_condition(lambda: has_seen(reverse, remote), "the way back to see the topic", 30)
        with groups_of(reverse) as returning:
            for index in (7, 9, 12):
                commit(pair.target, topic, {(remote, 0): target[0][index].offset})
                assert not returning.round()[topic].why
                assert committed(pair.source, topic, [(topic, 0)]) == {(topic, 0): source[0][index].offset}
                groups.round()  # both ways at once: nothing moves back
                assert committed(pair.target, topic, [(remote, 0)]) == {(remote, 0): target[0][index].offset}
            for _ in range(3):
                reports = groups.round()[topic], returning.round()[topic]
                assert [(r.committed, r.emitted, r.why) for r in reports] == [(0, 0, "")] * 2, (
                    "and none pushes the other"
                )
