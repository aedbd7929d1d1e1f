"""Ends of logs that are watched at no cost: whatever moves them is noticed, and nothing else."""

from __future__ import annotations

import pytest

from sparkmirror.control.discovery import pick_leaders
from sparkmirror.net import ends_watch
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.ends_watch import EndsWatch
from tests.conftest import Pair
from tests.support.kafka_client import await_condition, create_topic, delete_topic, produce
from tests.support.leases import address


def test_a_record_and_a_topic_that_goes_are_noticed_once_each(
    pair: Pair, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ends_watch, "LOG_S", 0.0)
    create_topic(pair.target, topic, 3)
    with Cluster(address(pair.target)) as cluster:
        watch = EndsWatch(cluster)
        assert not watch.have_moved(), "it looks at nothing yet"
        leaders = pick_leaders(cluster.fetch_metadata([topic]), [(topic, p) for p in range(3)])
        watch.look_at(leaders)
        assert watch.have_moved(), "it knew nothing of them"
        await_condition(lambda: not watch.have_moved(), "an end to what new logs do")
        produce(pair.target, topic, [{"value": b"one", "partition": 2}])
        assert [watch.have_moved() for _ in range(3)] == [True, False, False]
        watch.look_at(dict(leaders))
        assert not watch.have_moved(), "these are the same"
        delete_topic(pair.target, topic)
        await_condition(watch.have_moved, "its end: metadata show it before the logs are gone", 10)


def test_many_logs_are_asked_for_less_often(pair: Pair, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    create_topic(pair.target, topic, 3)
    with Cluster(address(pair.target)) as cluster:
        watch = EndsWatch(cluster)
        watch.look_at(pick_leaders(cluster.fetch_metadata([topic]), [(topic, p) for p in range(3)]))
        monkeypatch.setattr(ends_watch, "LOG_S", 1000.0)
        assert watch.have_moved(), "it knew nothing of them"
        produce(pair.target, topic, [{"value": b"one", "partition": 2}])
        assert not watch.have_moved(), "it does not ask yet"
