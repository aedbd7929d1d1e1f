"""A topic under another name, its end and its second beginning, while the mirror runs."""

from __future__ import annotations

import pytest

from tests.conftest import Pair
from tests.support.kafka_client import (
    assert_same,
    await_condition,
    create_topic,
    delete_topic,
    produce,
    read_all,
    topics,
    total,
)
from tests.support.mirror_process import MirrorProcess, properties


@pytest.mark.timeout(180)
def test_a_renamed_topic_is_mirrored_ends_with_its_source_and_begins_anew(pair: Pair, topic: str) -> None:
    remote = f"{topic}-there"
    create_topic(pair.source, topic, 2)
    produce(pair.source, topic, ({"value": b"%d" % i, "partition": i % 2} for i in range(50)))
    extra = {
        "topics.map": f"{topic}:{remote}",
        "sync.topic.deletes.enabled": "true",
        "refresh.topics.interval.seconds": "1",
        "emit.heartbeats.enabled": "false",
    }
    with MirrorProcess(properties(pair.source, pair.target, topic, extra)):
        await_condition(lambda: remote in topics(pair.target) and total(pair.target, remote) == 50, "the topic", 90)
        assert_same(read_all(pair.source, topic), read_all(pair.target, remote))
        assert f"A.{topic}" not in topics(pair.target)
        delete_topic(pair.source, topic)
        await_condition(lambda: remote not in topics(pair.target), "its end", 60)
        create_topic(pair.source, topic, 1)
        produce(pair.source, topic, ({"value": b"anew"} for _ in range(7)))
        await_condition(lambda: remote in topics(pair.target) and total(pair.target, remote) == 7, "the new one", 60)
        assert_same(read_all(pair.source, topic), read_all(pair.target, remote))
