"""Two mirrors of one file at once: compare-and-append keeps every record single, and only one of them leads."""

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


def _load(servers: str, topic: str, stop: threading.Event) -> None:
    number = 0
    while not stop.is_set():
        produce(servers, topic, ({"value": b"%d" % i, "partition": i % 4} for i in range(number, number + 2000)))
        number += 2000
        stop.wait(0.05)
