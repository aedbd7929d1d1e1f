"""Holes that are filled with empty transactions, by tasks that come one after the other or stand still meanwhile."""

from __future__ import annotations

import os
import socket
import threading
from dataclasses import replace
from typing import Any

import pytest
from kafka.protocol.producer import EndTxnRequest, InitProducerIdRequest

from sparkmirror.copy.appender import Fills
from sparkmirror.copy.copy import Copy
from sparkmirror.copy.lease import TRANSACTIONS, Lease, LeasePartition, Rules
from sparkmirror.copy.receipt import STOPPED
from sparkmirror.copy.scout import Scout
from sparkmirror.net.channel import Channel
from sparkmirror.net.cluster import Cluster
from tests.conftest import Pair
from tests.support.grantor import LocalGrantor
from tests.support.java_reader import JavaReader
from tests.support.kafka_client import create_topic, produce
from tests.support.leases import Copied, ends, new_producer_id, plan_lease, run_alone
from tests.support.same_log import assert_same_log
from tests.support.source_logs import write_markers

pytestmark = pytest.mark.timeout(90)

HOLE = 5


def write_with_hole(servers: str, topic: str, size: int = HOLE) -> None:
    produce(servers, topic, ({"value": b"%d" % number} for number in range(10)))
    write_markers(servers, topic, size)
    produce(servers, topic, ({"value": b"%d" % number} for number in range(10)))


def plan(pair: Pair, topic: str, producer_id: int, index: int) -> Lease:
    """The lease of a round's task with this index, up to what the source holds now."""
    stop = ends(pair.source, topic)[0]
    partition = LeasePartition(topic=topic, partition=0, remote=topic, stop_at=stop)
    rules = Rules(fill_with=TRANSACTIONS)
    lease = plan_lease(pair.source, pair.target, producer_id, [partition], rules, seconds=20.0)
    return replace(lease, lease_id=f"0.test.{index}")


@pytest.mark.parametrize("written", [0, HOLE - 1])
def test_a_task_that_stood_still_in_a_hole_adds_no_marker_when_another_has_filled_it(
    pair: Pair, topic: str, java_reader: JavaReader, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    """The next round has put its partition into another lease. It wakes up with a marker to be ended."""
    create_topic(pair.source, topic, 1)
    create_topic(pair.target, topic, 1)
    write_with_hole(pair.source, topic)
    producer_id = new_producer_id(pair.target)
    stands_still, goes_on, call = threading.Event(), threading.Event(), Cluster.call
    ended: list[object] = []

    def call_late(cluster: Cluster, node: int, request: Any, **options: Any) -> Any:
        if isinstance(request, EndTxnRequest):
            ended.append(request)
            if len(ended) == written + 1:
                stands_still.set()
                goes_on.wait()
        return call(cluster, node, request, **options)

    monkeypatch.setattr(Cluster, "call", call_late)
    first: list[Copied] = []
    frozen = threading.Thread(target=lambda: first.append(run_alone(plan(pair, topic, producer_id, 0))))
    frozen.start()
    try:
        assert stands_still.wait(30)
        second = run_alone(plan(pair, topic, producer_id, 1))
        assert second.facts == []
        assert ends(pair.target, topic) == {0: 20 + HOLE}
    finally:
        goes_on.set()
        frozen.join()
    write_with_hole(pair.source, topic)
    third = run_alone(plan(pair, topic, producer_id, 0))
    assert third.facts == [] and not third.standings[topic, 0].translated
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, mirrored="read_committed", ends=True)


@pytest.mark.parametrize("slow", [InitProducerIdRequest, EndTxnRequest])
def test_a_hole_is_filled_once_though_its_cursor_was_lost_and_found_while_the_fill_was_under_way(
    pair: Pair, topic: str, java_reader: JavaReader, monkeypatch: pytest.MonkeyPatch, slow: type
) -> None:
    """The coordinator takes long. Meanwhile the source's connection breaks, and the hole is to be filled again."""
    create_topic(pair.source, topic, 1)
    create_topic(pair.target, topic, 1)
    write_with_hole(pair.source, topic, 1)
    takes_long, is_asked_again, call, fill = threading.Event(), threading.Event(), Cluster.call, Scout.fill
    fills: list[Fills] = []

    def call_late(cluster: Cluster, node: int, request: Any, **options: Any) -> Any:
        if isinstance(request, slow) and not takes_long.is_set():
            takes_long.set()
            assert is_asked_again.wait(30)
        return call(cluster, node, request, **options)

    def fill_noted(scout: Scout, wanted: Fills) -> None:
        fills.append(wanted)
        fill(scout, wanted)
        if len(fills) == 2:
            is_asked_again.set()

    lease = plan(pair, topic, new_producer_id(pair.target), 0)
    monkeypatch.setattr(Cluster, "call", call_late)
    monkeypatch.setattr(Scout, "fill", fill_noted)
    with LocalGrantor() as grantor:
        copy = Copy(lease, grantor)
        runs = threading.Thread(target=lambda: list(copy.run(grantor.turn(lease, lease.seconds))))
        runs.start()
        try:
            assert takes_long.wait(30)
            for fetcher in list(copy._links.fetchers.values()):
                break_off(fetcher.channel)
        finally:
            runs.join()
            copy.close()
        assert len(fills) > 1
        assert not grantor.standings[topic, 0].translated
        assert not any(receipt.kind == STOPPED for receipt in grantor.receipts)
    assert_same_log(java_reader, pair.source, topic, pair.target, topic, mirrored="read_committed", ends=True)


def break_off(channel: Channel) -> None:
    with socket.socket(fileno=os.dup(channel.fileno())) as same:
        same.shutdown(socket.SHUT_RDWR)
