"""A mirror that is killed again and again while it emits checkpoints: they never go back, and none is missing.

KILLS as you like.
"""

from __future__ import annotations

import os

import pytest

from sparkmirror.client import MirrorClient, TopicPartition
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.group_offsets import commit_group_offsets, fetch_group_offsets
from sparkmirror.offsets.checkpoints import Checkpoint, parse_record
from sparkmirror.protocol.committed import Committed
from tests.conftest import Pair
from tests.support.group_rounds import KEYS
from tests.support.kafka_client import await_condition, create_topic, produce, read_all, topics, total
from tests.support.mirror_process import MirrorProcess, properties

KILLS = int(os.environ.get("KILLS", "5"))
GROUPS = 3000
PARTITIONS = 3
PART = 4000  # offsets of each partition that a turn adds

Offsets = dict[str, dict[tuple[str, int], Committed]]


def places(topic: str, turn: int, names: list[str]) -> Offsets:
    """Each group further than in the turn before, and all at different offsets."""
    return {
        name: {(topic, p): Committed((turn + 1) * PART - i - p) for p in range(PARTITIONS)}
        for i, name in enumerate(names)
    }


@pytest.mark.timeout(500)
@pytest.mark.parametrize("preserve", ["auto", "never"])
def test_checkpoints_go_on_where_they_were_after_each_kill(pair: Pair, topic: str, preserve: str) -> None:
    alias = f"k{preserve}"
    remote, kept = f"{alias}.{topic}", f"{alias}.checkpoints.internal"
    create_topic(pair.source, topic, PARTITIONS)
    names = [f"{topic}-{i}" for i in range(GROUPS)]
    extra = KEYS | {
        "groups": f"{topic}.*",
        "offsets.preserve": preserve,
        "lease.seconds": "2",
        "refresh.groups.interval.seconds": "1",
        "emit.checkpoints.interval.seconds": "1",
        "sync.group.offsets.interval.seconds": "1",
    }

    def kept_so_far() -> int:
        return total(pair.target, kept) if kept in topics(pair.target) else 0

    with (
        Cluster(ClusterAddress(alias=alias, bootstrap=(pair.source,))) as source,
        Cluster(ClusterAddress(alias="B", bootstrap=(pair.target,))) as target,
        MirrorProcess(properties(pair.source, pair.target, topic, extra, alias=alias)) as mirror,
    ):
        for turn in range(KILLS + 1):
            rows = ({"value": b"%d" % i, "partition": i % PARTITIONS} for i in range(PART * PARTITIONS))
            produce(pair.source, topic, rows)
            before = kept_so_far()
            commit_group_offsets(source, places(topic, turn, names))
            if turn < KILLS:
                await_condition(lambda b=before: kept_so_far() > b, "the first checkpoints of a round", 90)  # type: ignore[misc]
                mirror.kill()
                mirror.start()
        expected = places(remote, KILLS, names)
        await_condition(lambda: fetch_group_offsets(target, names) == expected, "all commits", 120)
        assert mirror.terminate()[0] == 0
    emitted = [c for r in read_all(pair.target, kept)[0] if (c := parse_record(r.key, r.value))]
    last = check_order(emitted)
    assert last == {(g, *place): c.offset for g, offsets in expected.items() for place, c in offsets.items()}
    with MirrorClient(pair.target) as client:
        found = client.remote_consumer_offsets(names[7], alias)
    assert found[TopicPartition(remote, 1)].offset == expected[names[7]][remote, 1].offset
    print(f"\n{len(emitted):,} checkpoints of {GROUPS} groups in {PARTITIONS} partitions, {KILLS} kills")


def check_order(emitted: list[Checkpoint]) -> dict[tuple[str, str, int], int]:
    """None goes back on either side; the last of each."""
    last: dict[tuple[str, str, int], Checkpoint] = {}
    for found in emitted:
        place = (found.group, found.topic, found.partition)
        before = last.get(place, found)
        assert found.upstream_offset >= before.upstream_offset, (before, found)
        assert found.downstream_offset >= before.downstream_offset, (before, found)
        last[place] = found
    return {place: found.downstream_offset for place, found in last.items()}
