"""Logs that lost their ends while a broker was down."""

from __future__ import annotations

from tests.chaos.side import Side, await_true
from tests.support.cut_logs import cut_logs
from tests.truth.partitions import RECORDS, TO_ACCEPT, OfTopic
from tests.truth.trouble import must_of_partition
from tests.truth.world import World

LEFT = 5


class Cut(OfTopic):
    """Ten records in two batches; the broker comes back without the second. `with_others`: cut by the same restart."""

    cure = TO_ACCEPT

    def prepare(self, world: World) -> None:
        world.make(self.topic, records=LEFT)

    def settle(self, world: World) -> None:
        for partition in (0, 1):
            world.write(self.topic, partition, RECORDS - LEFT)
        world.await_copied(self.topic)


class SourceTruncated(Cut):
    name, topic = "source-truncated", "t-source-cut"
    cause = f"source-truncated: .*cut back to {LEFT}"
    must = must_of_partition(0)

    def begin(self, world: World) -> None:
        cut(world.source, {self.topic: LEFT})


class TargetTruncated(Cut):
    name, topic = "target-truncated", "t-target-cut"
    cause = f"target-truncated: the target's log of A.t-target-cut ends at {LEFT} where it ended at {RECORDS} before"
    must = must_of_partition(LEFT)

    def begin(self, world: World) -> None:
        cut(world.target, {self.remote: LEFT, "A.t-target-wiped": 0})


class TargetWiped(Cut):
    """By the same restart."""

    name, topic = "target-wiped", "t-target-wiped"
    cause = "target-wiped: the target topic A.t-target-wiped is empty where it held records"
    must = must_of_partition(RECORDS)

    def begin(self, world: World) -> None:
        pass


def cut(side: Side, ends: dict[str, int]) -> None:
    cut_logs(side.brokers[0], ends)
    await_true(lambda: bool(side.ends([(topic, 0) for topic in ends])), "the logs that were cut")


SOURCES = (SourceTruncated,)
TARGETS = (TargetTruncated, TargetWiped)
