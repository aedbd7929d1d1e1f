"""Failover and failback: a flow is halted for everybody, groups go to their exact places, and back."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition as KafkaPlace

from sparkmirror.cli.failover import SwitchSettings, failback, failover
from sparkmirror.cli.questions import Question
from sparkmirror.cli.status import status
from sparkmirror.client import MirrorClient, TopicPartition
from sparkmirror.config.model import FlowConfig
from sparkmirror.control import switch
from sparkmirror.control.once import OnceGoal
from sparkmirror.control.switch import Order, Switch
from sparkmirror.control.switch_report import ACTIVE, AHEAD, IN_PLACE, MOVED, SHORT, TO_MOVE, Report
from tests.conftest import Pair
from tests.support.flows import only_flow, write_flow
from tests.support.group_members import committed, consuming
from tests.support.group_rounds import KEYS, Groups, commit
from tests.support.kafka_client import await_condition, create_topic, produce, read_all
from tests.support.local_mirror import LocalMirror, mirroring
from tests.support.source_logs.markers import write_markers

AT_ONCE = Order(wait_s=0)


@pytest.fixture
def file(pair: Pair, topic: str, tmp_path: Path) -> Path:
    """A flow whose offsets differ from the source's."""
    create_topic(pair.source, topic, 2)
    keys = KEYS | {"groups": f"{topic}.*", "refresh.topics.interval.seconds": "1", "offsets.preserve": "never"}
    return write_flow(tmp_path, pair.source, pair.target, topic, keys)


def fill(pair: Pair, topic: str) -> None:
    """Records and holes by turns, in two partitions."""
    for turn in range(12):
        rows = ({"value": b"%d-%d" % (turn, i), "partition": turn % 2} for i in range(1 + turn % 5))
        produce(pair.source, topic, rows)
        write_markers(pair.source, topic, 1 + turn % 3, partition=turn % 2)


def run_failover(flow: FlowConfig, order: Order = AT_ONCE) -> Report:
    with Switch(flow, [flow], order, lambda _: None) as switch:
        return switch.failover()


def run_failback(flow: FlowConfig, order: Order = AT_ONCE) -> Report:
    with Switch(flow, [flow], order, lambda _: None) as switch:
        return switch.failback()


def failover_beside(mirror: LocalMirror, order: Order = AT_ONCE) -> Report:
    """The mirror ends its work when it is told to."""
    with ThreadPoolExecutor(1) as pool:
        report = pool.submit(run_failover, mirror.flow, order)
        await_condition(lambda: report.done() or mirror.keeper.lead.owes_rest, "the halt", 20)
        assert not report.done(), "the work of a running mirror is waited for"
        mirror.keeper.lead.note_rest()
        return report.result(30)


def settings(file: Path, flow: str) -> SwitchSettings:
    return SwitchSettings(file=file, flow=flow, groups=(), wait_s=0, force=False, dry_run=False, as_json=True)


def states(report: Report) -> list[str]:
    return [row.state for row in report.moves]


def copy_all(mirror: LocalMirror) -> None:
    """Until a dry run finds nothing missing."""
    mirror.await_topics(2)

    def is_copied() -> bool:
        mirror.round(1.2)
        return not run_failover(mirror.flow, Order(dry_run=True)).missing

    await_condition(is_copied, "the copy", 30)


def test_a_group_goes_over_and_comes_back_at_exact_places(
    pair: Pair, topic: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(pair, topic)
    source = read_all(pair.source, topic)
    commit(pair.source, topic, {(topic, 0): source[0][5].offset, (topic, 1): source[1][2].offset})
    with mirroring(file) as mirror:
        flow, keeper = mirror.flow, mirror.keeper
        remote = f"{flow.source.alias}.{topic}"
        copy_all(mirror)
        target = read_all(pair.target, remote)
        before = committed(pair.target, topic, [(remote, 0)])
        assert states(run_failover(flow, Order(dry_run=True))) == [TO_MOVE, TO_MOVE]
        assert keeper.view.halt is None and committed(pair.target, topic, [(remote, 0)]) == before, "it was dry"

        report = failover_beside(mirror)
        assert report.is_whole and states(report) == [MOVED, MOVED] and report.halt == keeper.view.halt
        there = {(remote, 0): target[0][5].offset, (remote, 1): target[1][2].offset}
        assert committed(pair.target, topic, list(there)) == there
        with MirrorClient(pair.target) as client:
            found = client.remote_consumer_offsets(topic, flow.source.alias)
            assert found[TopicPartition(remote, 0)].offset == there[remote, 0], "checkpoints say the same"

        assert keeper.plan(1, 9, hints={}, weights={}, troubled=(), stop_at=None) == []
        once = OnceGoal([keeper], mirror.ledger)
        assert once.reached({}) and "failback FILE --flow" in once.missing({})[0]
        assert status(Question(file=file)) == 1 and "halted by " in capsys.readouterr().out

        commit(pair.target, topic, {(remote, 0): target[0][9].offset})  # it reads on there
        again = run_failover(flow)
        assert again.is_whole and states(again) == [AHEAD, IN_PLACE]
        assert committed(pair.target, topic, [(remote, 0)]) == {(remote, 0): target[0][9].offset}

        assert failback(settings(file, flow.name)) == 0
        moved = json.loads(capsys.readouterr().out)["groups"]
        assert [(row["to_topic"], row["to_offset"], row["state"]) for row in moved] == [
            (topic, source[0][9].offset, MOVED),
            (topic, source[1][2].offset, IN_PLACE),
        ]
        assert committed(pair.source, topic, [(topic, 0)]) == {(topic, 0): source[0][9].offset}
        await_condition(lambda: keeper.view.is_active, "the flow to go on", 20)
        produce(pair.source, topic, [{"value": b"new", "partition": 0}])
        copy_all(mirror)
        assert read_all(pair.target, remote)[0][-1].value == b"new"
        assert run_failback(flow).is_whole, "once more does no harm"


def test_what_is_missing_or_read_elsewhere_is_said(pair: Pair, topic: str, file: Path) -> None:
    idle, busy, moving = (f"{topic}-{name}" for name in ("idle", "busy", "moving"))
    fill(pair, topic)
    with mirroring(file) as mirror:
        flow = mirror.flow
        copy_all(mirror)
    remote = f"{flow.source.alias}.{topic}"
    ends = {p: records[-1].offset + 1 for p, records in read_all(pair.target, remote).items()}
    for group in (idle, busy):
        commit(pair.source, group, {(topic, 0): read_all(pair.source, topic)[0][1].offset})
    produce(pair.source, topic, ({"value": b"%d" % i, "partition": 0} for i in range(7)))
    late = read_all(pair.source, topic)[0][-1].offset + 1
    began = time.monotonic()
    refused = run_failover(flow, Order(wait_s=60))
    assert time.monotonic() - began < 20, "nobody copies, so it is not waited for"
    (missing,) = refused.missing
    assert refused.problem and refused.halt is None and not refused.moves
    assert (missing.topic, missing.partition) == (topic, 0) and (missing.records or 0) >= 7

    with consuming(pair.target, busy, remote), consuming(pair.source, moving, topic) as consumer:
        consumer.commit(offsets=[KafkaPlace(topic, 0, late)], asynchronous=False)
        forced = run_failover(flow, Order(wait_s=0, force=True))
    by_group = {row.group: row for row in forced.moves}
    assert {group: row.state for group, row in by_group.items()} == {idle: MOVED, busy: ACTIVE, moving: SHORT}
    assert "it has 1 member on B" in by_group[busy].why and list(forced.still_there) == [moving]
    assert committed(pair.target, moving, [(remote, 0)]) == {(remote, 0): ends[0]}, "never past the end"
    assert forced.halt and forced.missing and not forced.is_whole
    assert not forced.problem, "nobody runs, so nobody is waited for"
    named = run_failover(flow, Order(groups=(busy, "nobody"), force=True))
    assert states(named) == [MOVED] and list(named.not_moved) == ["nobody"]
    lifted = run_failback(flow, Order(force=True))
    assert lifted.halt is None and states(lifted) == [AHEAD if r.group == moving else IN_PLACE for r in lifted.moves]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switch, "TRIES_S", 0.0)


@contextlib.contextmanager
def groups_of(mirror: LocalMirror) -> Iterator[Groups]:
    groups = Groups(mirror)
    try:
        yield groups
    finally:
        groups.close()


def without_source(flow: FlowConfig) -> FlowConfig:
    return replace(flow, source=replace(flow.source, bootstrap_servers=("127.0.0.1:9",)))


@pytest.mark.usefixtures("impatient")
def test_without_the_source_groups_go_on_at_the_last_sync(pair: Pair, topic: str, file: Path) -> None:
    fill(pair, topic)
    source = read_all(pair.source, topic)
    at: Mapping[tuple[str, int], int] = {(topic, 0): source[0][5].offset, (topic, 1): source[1][2].offset}
    with mirroring(file) as mirror, groups_of(mirror) as groups:
        flow = mirror.flow
        remote = f"{flow.source.alias}.{topic}"
        copy_all(mirror)
        commit(pair.source, topic, at)
        groups.round()
        target = read_all(pair.target, remote)
        commit(pair.source, topic, {(topic, 0): source[0][8].offset})  # is lost
        commit(pair.target, topic, {(remote, 0): 0})
        produce(pair.source, topic, ({"value": b"%d" % i, "partition": 1} for i in range(3)))
        view = mirror.keeper.view
        seen = view.ends
        await_condition(lambda: view.ends is not seen and bool(view.ends), "a new measure", 20)
    report = run_failover(without_source(flow))
    assert "no broker answers" in report.away and report.halt is not None
    assert [(row.target, row.wanted, row.state) for row in report.moves] == [
        ((remote, 0), target[0][5].offset, MOVED),
        ((remote, 1), target[1][2].offset, IN_PLACE),
    ]
    assert all(0 <= time.time() * 1000 - (row.synced_ms or 0) < 120_000 for row in report.moves)
    assert report.seen is not None and time.time() * 1000 - report.seen.at_ms < 60_000
    assert [(row.topic, row.partition, row.records) for row in report.missing] == [(topic, 1, 3)]
    assert report.partitions == ((topic, 0), (topic, 1)) and not report.is_whole
    assert committed(pair.target, topic, [(remote, 0)]) == {(remote, 0): target[0][5].offset}
    with mirroring(file) as mirror:
        await_condition(lambda: mirror.keeper.view.leads, "a new driver", 20)
        assert mirror.keeper.view.halt == report.halt, "the source is back, and nothing is mirrored"
        assert run_failback(flow).is_whole, "it had committed more at the source, and stays there"
        await_condition(lambda: mirror.keeper.view.is_active, "the flow to go on", 20)
    assert committed(pair.source, topic, [(topic, 0)]) == {(topic, 0): source[0][8].offset}


@pytest.mark.usefixtures("impatient")
def test_exit_codes_of_what_can_not_be_begun(file: Path, pair: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    assert failover(settings(file, "x->y")) == 2
    assert "no flow x->y: there are S" in capsys.readouterr().err
    file.write_text(file.read_text().replace(pair.target, "127.0.0.1:9"))
    assert failover(settings(file, only_flow(file).name)) == 3
    assert "no broker answers" in capsys.readouterr().err
