"""New topics and partitions are noticed while the mirror runs, and mirrored from their start."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Pair
from tests.support.flows import write_flow
from tests.support.kafka_client import (
    add_partitions,
    assert_same,
    await_condition,
    create_topic,
    produce,
    read_all,
    topics,
    total,
)
from tests.support.local_mirror import mirroring
from tests.support.mirror_process import MirrorProcess, properties


@pytest.mark.long
@pytest.mark.timeout(180)
def test_a_new_topic_and_an_added_partition_are_mirrored_within_15_s(pair: Pair, topic: str) -> None:
    first, second = f"{topic}-first", f"{topic}-second"
    create_topic(pair.source, first, 1)
    produce(pair.source, first, [{"value": b"0"}])
    with MirrorProcess(properties(pair.source, pair.target, f"{topic}-.*", {"lease.seconds": "10"})):
        await_condition(lambda: f"A.{first}" in topics(pair.target), "the first topic", 60)
        await_condition(lambda: total(pair.target, f"A.{first}") == 1, "its record", 60)
        create_topic(pair.source, second, 2)
        produce(pair.source, second, ({"value": b"%d" % i, "partition": i % 2} for i in range(10)))
        took = await_condition(
            lambda: f"A.{second}" in topics(pair.target) and total(pair.target, f"A.{second}") == 10,
            "the new topic",
            30,
        )
        print(f"new topic: {took:.1f} s")
        assert took < 15
        add_partitions(pair.source, first, 2)
        produce(pair.source, first, ({"value": b"%d" % i, "partition": 1} for i in range(10)))
        took = await_condition(lambda: total(pair.target, f"A.{first}") == 11, "the added partition", 30)
        print(f"added partition: {took:.1f} s")
        assert took < 15
    for name in (first, second):
        assert_same(read_all(pair.source, name), read_all(pair.target, f"A.{name}"))


def test_without_refresh_what_comes_later_is_not_mirrored(pair: Pair, topic: str, tmp_path: Path) -> None:
    extra = {"refresh.topics.enabled": "false", "refresh.topics.interval.seconds": "0.2"}
    first, second = f"{topic}-first", f"{topic}-second"
    create_topic(pair.source, first, 1)
    file = write_flow(tmp_path, pair.source, pair.target, f"{topic}-.*", extra)
    with mirroring(file) as mirror:
        mirror.await_topics(1)
        remotes = [f"{mirror.flow.source.alias}.{name}" for name in (first, second)]
        create_topic(pair.source, second, 1)
        add_partitions(pair.source, first, 2)
        produce(pair.source, first, [{"value": b"0", "partition": 0}])
        # Both were there before this record, and a look that sees it sees them.
        await_condition(
            lambda: any(e.source == 1 for e in (mirror.keeper.view.ends or {}).values()), "a later look", 15
        )
        mirror.round()
        assert total(pair.target, remotes[0]) == 1
        assert remotes[1] not in topics(pair.target)
        assert len(mirror.keeper.view.landscape.partitions if mirror.keeper.view.landscape else ()) == 1
