"""What failover and failback refuse: records that stand on one side alone, or that came after the flow was halted."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_INVALID

from sparkmirror.config.model import FlowConfig
from sparkmirror.control import switch
from sparkmirror.control.switch import Order, Switch
from sparkmirror.control.switch_report import AHEAD, MOVED, SHORT, UNKNOWN
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.claims import Claims, read_leader, write_halt
from sparkmirror.offsets.halts import Halt
from sparkmirror.topology.storage import Storage
from tests.broker.test_failover import groups_of, run_failback, run_failover, states, without_source
from tests.conftest import Pair
from tests.support.flows import write_flow
from tests.support.group_members import committed
from tests.support.group_rounds import KEYS, commit
from tests.support.kafka_client import await_condition, create_topic, delete_topic, produce, topics, total
from tests.support.leases import address
from tests.support.local_mirror import mirroring
from tests.support.source_logs.log_start import remove_records

IDENTITY = {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}
AT_ONCE, FORCED = Order(wait_s=0), Order(wait_s=0, force=True)


def write(servers: str, topic: str, count: int) -> None:
    produce(servers, topic, ({"value": b"%d" % i} for i in range(count)))


@pytest.fixture
def flow(pair: Pair, topic: str, tmp_path: Path) -> Iterator[FlowConfig]:
    """Ten records, mirrored at their offsets under the same name. Nobody runs the mirror any more."""
    create_topic(pair.source, topic, 1)
    write(pair.source, topic, 10)
    file = write_flow(tmp_path, pair.source, pair.target, topic, KEYS | IDENTITY | {"groups": f"{topic}.*"})
    with mirroring(file) as mirror:
        mirror.await_topics(1)
        mirror.catch_up(topic)
    yield mirror.flow


def find_halt(pair: Pair, flow: FlowConfig) -> Halt | None:
    with Cluster(address(pair.target)) as cluster:
        return read_leader(cluster, Storage.of(flow))[1]


def test_records_of_others_on_the_target_do_not_stand_for_those_that_are_missing(
    pair: Pair, topic: str, flow: FlowConfig
) -> None:
    """Both logs are as long as each other."""
    write(pair.target, topic, 5)
    write(pair.source, topic, 5)
    commit(pair.source, topic, {(topic, 0): 15})
    refused = run_failover(flow, AT_ONCE)
    assert refused.problem and not refused.moves and find_halt(pair, flow) is None
    (missing,) = refused.missing
    assert (missing.topic, missing.partition, missing.records) == (topic, 0, 5) and "foreign-writer" in missing.why
    forced = run_failover(flow, FORCED)
    assert states(forced) == [SHORT] and not forced.is_whole
    assert committed(pair.target, topic, [(topic, 0)]) == {(topic, 0): 10}, "it has not read what others wrote there"


def test_failback_goes_past_no_record_that_was_never_mirrored(pair: Pair, topic: str, flow: FlowConfig) -> None:
    write(pair.source, topic, 4)  # is not mirrored
    assert run_failover(flow, FORCED).halt
    write(pair.target, topic, 3)
    commit(pair.target, topic, {(topic, 0): 13})
    refused = run_failback(flow, AT_ONCE)
    assert refused.problem and not refused.moves and find_halt(pair, flow)
    (missing,) = refused.missing
    assert (missing.topic, missing.partition, missing.records) == (topic, 0, 3) and "on B alone" in missing.why
    assert committed(pair.source, topic, [(topic, 0)])[topic, 0] < 0
    forced = run_failback(flow, FORCED)
    assert states(forced) == [SHORT] and not forced.is_whole and not forced.halt
    assert committed(pair.source, topic, [(topic, 0)]) == {(topic, 0): 10}


def test_what_comes_between_the_look_and_the_halt_moves_no_group(
    pair: Pair, topic: str, flow: FlowConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(pair.source, topic, {(topic, 0): 10})

    def write_and_halt(*args: Any, **keys: Any) -> Halt:
        write(pair.source, topic, 2)
        return write_halt(*args, **keys)

    with monkeypatch.context() as patched:
        patched.setattr(switch, "write_halt", write_and_halt)
        refused = run_failover(flow, AT_ONCE)
    assert refused.problem and not refused.moves and [row.records for row in refused.missing] == [2]
    assert refused.halt is None and find_halt(pair, flow) is None, "it can be mirrored, and tried again"
    with Cluster(address(pair.target)) as cluster:
        write_halt(cluster, Storage.of(flow), 1, by="me", why="a test")
    again = run_failover(flow, AT_ONCE)
    assert again.problem and not again.moves and find_halt(pair, flow), "it was not this one's halt"
    assert committed(pair.target, topic, [(topic, 0)])[topic, 0] < 0
    assert states(run_failover(flow, FORCED)) == [MOVED]


def test_failback_of_one_group_leaves_the_flow_halted(pair: Pair, topic: str, flow: FlowConfig) -> None:
    commit(pair.source, topic, {(topic, 0): 5})
    assert run_failover(flow, AT_ONCE).is_whole
    commit(pair.target, topic, {(topic, 0): 7})
    one = run_failback(flow, Order(wait_s=0, groups=(topic,)))
    assert states(one) == [MOVED] and one.halt and find_halt(pair, flow)
    assert "stays halted" in one.notes[0]
    assert not run_failback(flow, AT_ONCE).halt and not find_halt(pair, flow)


def test_a_driver_whose_clock_is_slow_is_waited_for(
    pair: Pair, topic: str, flow: FlowConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the time that its record has, it was silent for half a century."""
    waits = threading.Event()
    with Cluster(address(pair.target)) as beside, ThreadPoolExecutor(1) as pool:
        other = Claims(beside, Storage.of(flow), 1)
        other.refresh()
        with monkeypatch.context() as patched:
            patched.setattr(time, "time", lambda: 1.0)
            other.lead(60.0)

        def tell(text: str) -> None:
            if "to end its work" in text:
                waits.set()

        with Switch(flow, [flow], AT_ONCE, tell) as command:
            report = pool.submit(command.failover)
            await_condition(lambda: waits.is_set() or report.done(), "its end", 30)
            assert not report.done()
            other.release()
            assert report.result(30).is_whole


@pytest.mark.long
def test_what_a_killed_mirror_has_copied_counts_though_it_wrote_no_progress(
    pair: Pair, topic: str, flow: FlowConfig, tmp_path: Path
) -> None:
    write(pair.source, topic, 6)
    with mirroring(tmp_path / "mm2.properties") as mirror:
        mirror.await_topics(1)
        await_condition(lambda: bool(mirror.round(heard=False)) and total(pair.target, topic) == 16, "a copy", 30)
    commit(pair.source, topic, {(topic, 0): 16})
    there = run_failover(flow, AT_ONCE)
    assert there.is_whole and states(there) == [MOVED]
    assert committed(pair.target, topic, [(topic, 0)]) == {(topic, 0): 16}
    commit(pair.source, topic, {(topic, 0): 3})
    back = run_failback(flow, AT_ONCE)
    assert back.is_whole and committed(pair.source, topic, [(topic, 0)]) == {(topic, 0): 16}


@pytest.mark.long
def test_a_source_that_was_made_anew_is_not_the_one_that_was_mirrored(pair: Pair, topic: str, flow: FlowConfig) -> None:
    delete_topic(pair.source, topic)
    await_condition(lambda: topic not in topics(pair.source), "its end")
    create_topic(pair.source, topic, 1)
    write(pair.source, topic, 10)
    refused = run_failover(flow, AT_ONCE)
    assert refused.problem and [row.why.split(":")[0] for row in refused.missing] == ["source-recreated"]
    commit(pair.target, topic, {(topic, 0): 10})
    assert run_failback(flow, AT_ONCE).problem
    assert states(run_failback(flow, FORCED)) == ["unknown"]


@pytest.mark.long
@pytest.mark.parametrize("preserve", ["auto", "never"])
def test_what_was_written_on_the_target_is_named_on_the_way_back_whatever_it_is_called(
    pair: Pair, topic: str, tmp_path: Path, preserve: str
) -> None:
    """Into the mirrored topic, or into one of the source's name that no flow brings back."""
    create_topic(pair.source, topic, 1)
    write(pair.source, topic, 10)
    keys = KEYS | {"groups": f"{topic}.*", "offsets.preserve": preserve}
    with mirroring(write_flow(tmp_path, pair.source, pair.target, topic, keys)) as mirror:
        mirror.await_topics(1)
        mirror.catch_up(topic)
    flow, remote = mirror.flow, f"{mirror.flow.source.alias}.{topic}"
    assert run_failover(flow, AT_ONCE).is_whole
    create_topic(pair.target, topic, 1)
    write(pair.target, topic, 4)
    write(pair.target, remote, 2)
    commit(pair.target, topic, {(remote, 0): 12})
    refused = run_failback(flow, AT_ONCE)
    assert {(row.topic, row.records) for row in refused.missing} == {(remote, 2), (topic, 4)} and refused.problem
    assert states(run_failback(flow, FORCED)) == [SHORT]
    assert committed(pair.source, topic, [(topic, 0)]) == {(topic, 0): 10}


@pytest.mark.long
def test_without_the_source_what_stands_still_is_named_and_holds_groups_back(
    pair: Pair, topic: str, flow: FlowConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(switch, "TRIES_S", 0.0)
    commit(pair.source, topic, {(topic, 0): 10})
    with mirroring(tmp_path / "mm2.properties") as mirror, groups_of(mirror) as groups:
        mirror.await_topics(1)
        write(pair.target, topic, 5)
        write(pair.source, topic, 5)
        mirror.round()
        assert mirror.facts()[topic, 0].name == "foreign-writer"
        commit(pair.source, topic, {(topic, 0): 15})
        groups.round()
        commit(pair.target, topic, {(topic, 0): 2})
    report = run_failover(without_source(flow), AT_ONCE)
    assert not report.is_whole and [row.why.split(":")[0] for row in report.missing] == ["foreign-writer"]
    assert states(report) == [SHORT]
    assert committed(pair.target, topic, [(topic, 0)]) == {(topic, 0): 10}


@pytest.mark.parametrize("preserve", ["auto", "never"])
def test_without_the_source_no_group_is_put_before_the_targets_first_record(
    pair: Pair, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, preserve: str
) -> None:
    """With auto.offset.reset=latest it would skip all that the target holds."""
    monkeypatch.setattr(switch, "TRIES_S", 0.0)
    create_topic(pair.source, topic, 1)
    write(pair.source, topic, 10)
    commit(pair.source, topic, {(topic, 0): 3})
    keys = (
        KEYS | IDENTITY | {"groups": f"{topic}.*", "offsets.preserve": preserve, "sync.group.offsets.enabled": "false"}
    )
    file = write_flow(tmp_path, pair.source, pair.target, topic, keys)
    with mirroring(file) as mirror, groups_of(mirror) as groups:
        mirror.await_topics(1)
        mirror.catch_up(topic)
        groups.round()
    remove_records(pair.target, topic, 6)
    report = run_failover(without_source(mirror.flow), AT_ONCE)
    assert [(row.offset, row.wanted, row.state) for row in report.moves] == [(3, 6, MOVED)]
    assert committed(pair.target, topic, [(topic, 0)]) == {(topic, 0): 6}


def test_without_the_source_checkpoints_of_a_topic_that_was_made_anew_move_nobody(
    pair: Pair, topic: str, flow: FlowConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(switch, "TRIES_S", 0.0)
    commit(pair.source, topic, {(topic, 0): 5})
    with mirroring(tmp_path / "mm2.properties") as mirror, groups_of(mirror) as groups:
        mirror.await_topics(1)
        groups.round()
    delete_topic(pair.target, topic)
    await_condition(lambda: topic not in topics(pair.target), "its end")
    create_topic(pair.target, topic, 1)
    write(pair.target, topic, 8)
    report = run_failover(without_source(flow), AT_ONCE)
    assert states(report) == [UNKNOWN] and "target topic was deleted and made anew" in report.moves[0].why
    assert not report.is_whole and committed(pair.target, topic, [(topic, 0)]) == {(topic, 0): OFFSET_INVALID}


def test_a_group_that_has_read_on_there_is_not_taken_for_one_that_was_reset(
    pair: Pair, topic: str, flow: FlowConfig, tmp_path: Path
) -> None:
    """A failover with `rewind`, by the checkpoints: as each round does."""
    file = tmp_path / "mm2.properties"
    file.write_text(f"{file.read_text()}sync.group.offsets.rewind = true\n")
    read_on, reset = f"{topic}-1", f"{topic}-2"
    for group in (read_on, reset):
        commit(pair.source, group, {(topic, 0): 4})
    with mirroring(file) as mirror, groups_of(mirror) as groups:
        mirror.await_topics(1)
        groups.round()
    commit(pair.target, read_on, {(topic, 0): 7})
    commit(pair.source, reset, {(topic, 0): 2})
    report = run_failover(mirror.flow, AT_ONCE)
    assert {row.group: (row.before, row.wanted, row.state) for row in report.moves} == {
        read_on: (7, 4, AHEAD),
        reset: (4, 2, MOVED),
    }
    assert committed(pair.target, read_on, [(topic, 0)]) == {(topic, 0): 7}


@pytest.mark.long
def test_records_of_others_that_the_copy_went_on_behind_stand_on_the_target_alone(
    pair: Pair, topic: str, flow: FlowConfig, tmp_path: Path
) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(f"{file.read_text()}on.divergence = continue\n")
    write(pair.target, topic, 2)
    write(pair.source, topic, 1)
    with mirroring(file) as mirror:
        mirror.await_topics(1)
        mirror.catch_up(topic)
    assert run_failover(mirror.flow, AT_ONCE).is_whole, "the source has nothing that the target lacks"
    commit(pair.target, topic, {(topic, 0): 13})
    refused = run_failback(mirror.flow, AT_ONCE)
    assert refused.problem and ["others wrote into the target topic" in row.why for row in refused.missing] == [True]
    assert states(run_failback(mirror.flow, FORCED)) == [MOVED]
    assert committed(pair.source, topic, [(topic, 0)]) == {(topic, 0): 11}


def test_who_was_put_at_the_sources_first_record_goes_back_to_where_it_was(
    pair: Pair, topic: str, flow: FlowConfig
) -> None:
    """The source has lost what the group has not read, and the target has it."""
    commit(pair.source, topic, {(topic, 0): 2})
    assert run_failover(flow, AT_ONCE).is_whole
    remove_records(pair.source, topic, 5)
    assert run_failback(flow, AT_ONCE).is_whole
    assert committed(pair.source, topic, [(topic, 0)]) == {(topic, 0): 5}
    again = run_failover(flow, AT_ONCE)
    assert states(again) == [UNKNOWN] and "may not have read" in again.moves[0].why
    assert committed(pair.target, topic, [(topic, 0)]) == {(topic, 0): 2}
    commit(pair.source, topic, {(topic, 0): 6})
    assert states(run_failover(flow, AT_ONCE)) == [MOVED], "it has read on there"
    assert committed(pair.target, topic, [(topic, 0)]) == {(topic, 0): 6}


def test_without_the_source_checkpoints_of_a_merged_topic_that_was_made_anew_move_nobody(
    pair: Pair, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of such a place the target alone can't tell where a group stands: its marks tell which topic it was in."""
    monkeypatch.setattr(switch, "TRIES_S", 0.0)
    merged, group = f"{topic}-all", f"{topic}-group"
    create_topic(pair.source, topic, 1)
    write(pair.source, topic, 10)
    commit(pair.source, group, {(topic, 0): 5})
    keys = KEYS | {"groups": group, "topics.map": f"{topic}.*:{merged}"}
    with mirroring(write_flow(tmp_path, pair.source, pair.target, topic, keys)) as mirror, groups_of(mirror) as groups:
        mirror.await_topics(1)
        mirror.catch_up(topic)
        groups.round()
    assert committed(pair.target, group, [(merged, 0)]) == {(merged, 0): 5}
    delete_topic(pair.target, merged)
    await_condition(lambda: merged not in topics(pair.target), "its end")
    create_topic(pair.target, merged, 1)
    write(pair.target, merged, 8)
    report = run_failover(without_source(mirror.flow), AT_ONCE)
    assert states(report) == [UNKNOWN] and "made anew since its checkpoint" in report.moves[0].why
    assert committed(pair.target, group, [(merged, 0)]) == {(merged, 0): OFFSET_INVALID}
