"""Two mirrors of one file: compare-and-append keeps every record single, and only one of them leads."""

from __future__ import annotations

import threading

import pytest

from tests.conftest import Pair
from tests.support.kafka_client import assert_same, await_condition, create_topic, produce, read_all, topics, total
from tests.support.mirror_process import MirrorProcess, properties


@pytest.mark.timeout(240)
def test_started_in_the_same_second_for_twenty_seconds_under_load(pair: Pair, topic: str) -> None:
    create_topic(pair.source, topic, 4)
    remote, text = f"A.{topic}", properties(pair.source, pair.target, topic)
    stop = threading.Event()
    load = threading.Thread(target=_load, args=(pair.source, topic, stop))
    load.start()
    try:
        with MirrorProcess(text) as one, MirrorProcess(text) as two:
            await_condition(
                lambda: remote in topics(pair.target) and total(pair.target, remote) > 0, "first records", 90
            )
            assert not stop.wait(20)
            stop.set()
            load.join()
            await_condition(lambda: total(pair.target, remote) >= total(pair.source, topic), "the rest")
            assert one.process.poll() is None and two.process.poll() is None
            logs = one.log() + two.log()
            assert logs.count("standing by") == 1, logs
    finally:
        stop.set()
        load.join()
    assert_same(read_all(pair.source, topic), read_all(pair.target, remote))


@pytest.mark.timeout(240)
def test_the_one_that_stands_by_takes_over_when_the_leader_is_killed(pair: Pair, topic: str) -> None:
    create_topic(pair.source, topic, 2)
    remote, text = f"A.{topic}", properties(pair.source, pair.target, topic, {"lease.seconds": "2"})
    with MirrorProcess(text) as one:
        one.await_log("leads, with")
        with MirrorProcess(text) as two:
            one.await_log("standing by")
            produce(pair.source, topic, ({"value": b"%d" % i} for i in range(100)))
            await_condition(lambda: remote in topics(pair.target) and total(pair.target, remote) == 100, "records")
            two.kill()
        await_condition(lambda: one.log().count("leads, with") == 2, "the take-over", 30)
        produce(pair.source, topic, ({"value": b"%d" % i} for i in range(100)))
        await_condition(lambda: total(pair.target, remote) == 200, "records after the take-over")
    assert_same(read_all(pair.source, topic), read_all(pair.target, remote))


@pytest.mark.timeout(240)
def test_each_runs_only_the_flows_into_its_clusters(pair: Pair, topic: str) -> None:
    both = {"B->A.enabled": "true", "B->A.topics": f"{topic}.*"}
    text = properties(pair.source, pair.target, f"{topic}.*", both)
    create_topic(pair.source, f"{topic}-a", 1)
    create_topic(pair.target, f"{topic}-b", 1)
    produce(pair.source, f"{topic}-a", [{"value": b"from A"}])
    produce(pair.target, f"{topic}-b", [{"value": b"from B"}])
    with MirrorProcess(text, "--clusters", "B") as into_b:
        await_condition(lambda: f"A.{topic}-a" in topics(pair.target), "the flow into B")
        assert f"B.{topic}-b" not in topics(pair.source)
        with MirrorProcess(text, "--clusters", "A") as into_a:
            await_condition(lambda: f"B.{topic}-b" in topics(pair.source), "the flow into A")
            await_condition(lambda: total(pair.source, f"B.{topic}-b") == 1, "its record")
            await_condition(lambda: total(pair.target, f"A.{topic}-a") == 1, "the other's record")
            assert [f["flow"] for f in into_a.status()["flows"]] == ["B->A"]
            assert [f["flow"] for f in into_b.status()["flows"]] == ["A->B"]
    assert f"A.B.{topic}-b" not in topics(pair.target), "a record went round in a circle"


def _load(servers: str, topic: str, stop: threading.Event) -> None:
    number = 0
    while not stop.is_set():
        produce(servers, topic, ({"value": b"%d" % i, "partition": i % 4} for i in range(number, number + 2000)))
        number += 2000
        stop.wait(0.05)
