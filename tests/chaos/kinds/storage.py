"""Disks that are full, replicas that are missing, elections that lose records, producers that are forgotten."""

from __future__ import annotations

from tests.chaos.disk import empty, fill, why_no_disk
from tests.chaos.fault import MIRROR, Fault, Kind, OfSide, on_each_side
from tests.chaos.kinds.own import OfTopic
from tests.chaos.side import SOURCE, TARGET, Side, await_true
from tests.chaos.traffic import PLAIN
from tests.chaos.world import LONGER_S

IN_SYNC = "min.insync.replicas"
EXPIRATION = "producer.id.expiration.ms"


class DiskFull(OfSide):
    """The broker ends when it can't write; it is started when there is room again."""

    def begin(self) -> None:
        fill(self.side.cluster.directory)

    def hold(self) -> None:
        self.last(3, 6)

    def end(self) -> None:
        empty(self.side.cluster.directory)
        for broker in self.side.brokers:
            broker.kill()  # one that still runs has given up its logs
            broker.start()
            broker.wait_ready()


class NotEnoughReplicas(OfSide):
    def begin(self) -> None:
        self._topic = PLAIN.name if self.side is self.world.source else f"A.{PLAIN.name}"
        self.side.configure(self._topic, {IN_SYNC: f"{self.side.size + 1}"})

    def hold(self) -> None:
        self.last(3, LONGER_S)

    def end(self) -> None:
        self.side.configure(self._topic, {IN_SYNC: None})


class ProducersForgotten(Fault):
    """The target forgets every producer that has not written within the last millisecond."""

    def begin(self) -> None:
        self._expire_after("1")

    def hold(self) -> None:
        self.last(3, 6)

    def end(self) -> None:
        self._expire_after(None)

    def _expire_after(self, ms: str | None) -> None:
        self.world.target.configure_brokers({EXPIRATION: ms})


class UncleanElection(OfTopic):
    """Of two replicas one is down while records come. Then the other goes down, and the first leads without them."""

    side: Side

    def make(self) -> None:
        one, two = (broker.id for broker in self.side.brokers[:2])
        config = {"unclean.leader.election.enable": "true", IN_SYNC: "1"}
        topic = self.topic if self.side is self.world.source else self.remote
        self._place = topic, 0
        self.side.create(topic, 1, on=(one, two), config=config)
        if self.side is self.world.target:
            super().make()

    def begin(self) -> None:
        leader, follower, *_ = self.side.brokers
        follower.kill()
        self.write()
        end = self.written
        await_true(lambda: self.side.ends([self._place])[self._place] == end, "records on one replica")
        self.await_equal()
        leader.kill()
        follower.start()
        follower.wait_ready()
        await_true(lambda: self.side.leaders()[self._place[0]][0] == follower.id, "the election")
        leader.start()
        leader.wait_ready()


class UncleanSource(UncleanElection):
    def prepare(self) -> None:
        self.side = self.world.source
        super().prepare()

    def check(self) -> None:
        self.write()
        self.await_named("source-truncated", "diverged")


class UncleanTarget(UncleanElection):
    def prepare(self) -> None:
        self.side = self.world.target
        super().prepare()

    def check(self) -> None:
        self.write()
        self.await_named_or_equal("target-truncated")


KINDS = [
    *on_each_side("disk-full", "the {side}'s disk has no byte left", DiskFull, worlds=("one",), missing=why_no_disk),
    *on_each_side("not-enough-replicas", "the {side} asks for more replicas than it has", NotEnoughReplicas),
    Kind(
        name="producers-forgotten",
        text="the target forgets its producers' sequences all the time",
        make=ProducersForgotten,
        touches=frozenset({TARGET}),
    ),
    Kind(
        name="unclean-election-source",
        text="a source partition loses records that were copied: `source-truncated` or `diverged`",
        make=UncleanSource,
        worlds=("three",),
        touches=frozenset({MIRROR, SOURCE}),
    ),
    Kind(
        name="unclean-election-target",
        text="a target partition loses acknowledged records: copied again, or `target-truncated`",
        make=UncleanTarget,
        worlds=("three",),
        touches=frozenset({MIRROR, TARGET}),
    ),
]
