"""Markers that fill holes: all of them stand before anything behind them, and the newest lease may always write."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparkmirror.control.flow import FlowKeeper
from sparkmirror.copy.appender import _Markers
from sparkmirror.copy.grantor import Place
from sparkmirror.copy.lease import LeasePartition, Rules
from sparkmirror.net.channel import Channel
from sparkmirror.protocol import markers
from sparkmirror.topology.standing import Standing
from tests.conftest import Pair
from tests.support.flows import only_flow, write_flow
from tests.support.grantor import LocalGrantor
from tests.support.java_reader import JavaReader
from tests.support.kafka_client import await_condition, create_topic, produce
from tests.support.keepers import keeping
from tests.support.leases import Copied, ends, new_producer_id, plan_lease, run_alone, run_copy, run_lease
from tests.support.same_log import assert_same_log
from tests.support.source_logs import write_markers

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def producer_id(pair: Pair) -> int:
    return new_producer_id(pair.target)


def write_with_holes(servers: str, topic: str, holes: int) -> None:
    """Ten records and a hole of five offsets, again and again, and ten records."""
    for _ in range(holes):
        produce(servers, topic, ({"value": b"%d" % number} for number in range(10)))
        write_markers(servers, topic, 5)
    produce(servers, topic, ({"value": b"%d" % number} for number in range(10)))


def test_a_marker_that_failed_though_the_answer_says_otherwise_is_written_before_what_comes_behind(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The markers of a request share one answer, in which the last one's result stands for all."""
    create_topic(pair.source, topic, 1)
    create_topic(pair.target, topic, 1)
    write_with_holes(pair.source, topic, holes=3)
    encode = markers.encode_markers
    failed: list[Any] = []

    def encode_too_few(version: int, wanted: Mapping[Any, int], **fields: Any) -> list[bytes]:
        if not failed and max(wanted.values()) > 1:
            failed.extend(wanted)
            wanted = {partition: number - 1 for partition, number in wanted.items()}
        return encode(version, wanted, **fields)

    monkeypatch.setattr(markers, "encode_markers", encode_too_few)
    copied = run_lease(pair.source, pair.target, topic, producer_id)
    assert failed
    assert copied.facts == []
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, mirrored="read_committed", ends=True)


def test_markers_that_were_not_sent_when_a_lease_was_done_are_sent_no_more(
    pair: Pair, topic: str, producer_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker takes nothing for a while. Whoever copies next has looked where the log ends before it does."""
    create_topic(pair.source, topic, 1)
    create_topic(pair.target, topic, 1)
    write_with_holes(pair.source, topic, holes=1)
    is_full, waits, flush = threading.Event(), threading.Event(), Channel.flush
    is_full.set()

    def flush_later(channel: Channel) -> None:
        if is_full.is_set() and any(isinstance(pending.tag, _Markers) for pending in channel.pending):
            waits.set()
        else:
            flush(channel)

    class Successor(LocalGrantor):
        def tell_done(self, positions: Mapping[Place, Standing], under_way: Collection[Place] = ()) -> None:
            super().tell_done(positions, under_way)
            is_full.clear()

    monkeypatch.setattr(Channel, "flush", flush_later)
    partition = LeasePartition(topic=topic, partition=0, remote=topic)
    lease = plan_lease(pair.source, pair.target, producer_id, [partition], Rules(), seconds=30.0)
    with Successor() as grantor:
        runs = threading.Thread(target=run_copy, args=(lease, grantor))
        runs.start()
        assert waits.wait(30)
        grantor.recall()
        runs.join()
        assert not is_full.is_set()
        assert ends(pair.target, topic) == {0: grantor.standings[topic, 0].target_end} == {0: 10}
        assert grantor.under_way == {(topic, 0)}, "of what was sent nobody knows: it is not given away at once"


def draw_fences(keeper: FlowKeeper, count: int) -> list[int]:
    """As many plans do, each as soon as it can."""
    fences: list[int] = []

    def is_done() -> bool:
        fence = keeper.lead.next_fence()
        if fence is not None:
            fences.append(fence)
        return len(fences) == count

    await_condition(is_done, "fences", 30)
    return fences


def test_a_driver_that_takes_over_is_above_all_fences_of_the_one_before_however_many_these_were(
    pair: Pair, topic: str, producer_id: int, java_reader: JavaReader, tmp_path: Path
) -> None:
    """Tasks that die again and again take a fence each time, within one lease's time."""
    create_topic(pair.source, topic, 1)
    create_topic(pair.target, topic, 1)
    flow = only_flow(write_flow(tmp_path, pair.source, pair.target, topic))

    def fill(fence: int) -> Copied:
        write_with_holes(pair.source, topic, holes=1)
        stop = ends(pair.source, topic)[0]
        partition = LeasePartition(topic=topic, partition=0, remote=topic, stop_at=stop)
        lease = plan_lease(pair.source, pair.target, producer_id, [partition], Rules(), seconds=5.0)
        return run_alone(replace(lease, fence=fence))

    with keeping(flow) as (keeper, _):
        first = draw_fences(keeper, 100)
        assert fill(first[-1]).facts == []
    with keeping(flow) as (keeper, _):
        second = draw_fences(keeper, 1)
        assert fill(second[0]).facts == []
    assert first == sorted(set(first)) and second > first[-1:]
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, mirrored="read_committed", ends=True)
