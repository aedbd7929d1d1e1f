"""Brokers that die, hang, restart or hand their partitions over."""

from __future__ import annotations

from sparkmirror.embedded import Broker
from tests.chaos.fault import OfSide, on_each_side
from tests.chaos.kinds.admin import active_controller, elect_preferred, reassign
from tests.chaos.side import await_true
from tests.chaos.traffic import PLAIN, TOPICS
from tests.chaos.world import LONGER_S

ONLY_THREE = ("three",)


class OfBroker(OfSide):
    """The broker that leads a partition of the traffic's."""

    broker: Broker

    def choose(self) -> Broker:
        found = {
            leader for name, topic in self.side.leaders().items() if PLAIN.name in name for leader in topic.values()
        }
        chosen = self.dice.choice(sorted(found))
        return next(broker for broker in self.side.brokers if broker.id == chosen)

    def prepare(self) -> None:
        self.broker = self.choose()


class BrokerKilled(OfBroker):
    def begin(self) -> None:
        self.broker.kill()

    def hold(self) -> None:
        self.last(0, 4)

    def end(self) -> None:
        self.broker.start()
        self.broker.wait_ready()


class ControllerKilled(BrokerKilled):
    def choose(self) -> Broker:
        leader = active_controller(self.side)
        return next(broker for broker in self.side.brokers if broker.id == leader)


class BrokerFrozen(OfBroker):
    def begin(self) -> None:
        self.broker.pause()

    def hold(self) -> None:
        self.last(LONGER_S, LONGER_S + 1)

    def end(self) -> None:
        self.broker.resume()


class BrokerRestarted(OfBroker):
    def begin(self) -> None:
        self.broker.stop()

    def end(self) -> None:
        self.broker.start()
        self.broker.wait_ready()


class SideKilled(OfSide):
    def begin(self) -> None:
        for broker in self.side.brokers:
            broker.kill()

    def hold(self) -> None:
        self.last(0, 5)

    def end(self) -> None:
        for broker in self.side.brokers:
            broker.start()
        everyone = frozenset(broker.id for broker in self.side.brokers)
        for broker in self.side.brokers:
            broker.wait_ready(sees=everyone)


class SideFrozen(OfSide):
    def begin(self) -> None:
        for broker in self.side.brokers:
            broker.pause()

    def hold(self) -> None:
        self.last(LONGER_S, LONGER_S + 1)

    def end(self) -> None:
        for broker in self.side.brokers:
            broker.resume()


class LeadersMoved(OfSide):
    """Each partition of the traffic's gets another preferred leader, and it is elected."""

    def begin(self) -> None:
        names = {topic.name for topic in TOPICS} | {f"A.{topic.name}" for topic in TOPICS}
        ids = [broker.id for broker in self.side.brokers]
        places = {
            (name, partition): [leader % len(ids) + 1, *(i for i in ids if i != leader % len(ids) + 1)]
            for name, found in self.side.leaders().items()
            if name in names
            for partition, leader in found.items()
        }
        reassign(self.side, places)
        elect_preferred(self.side, places)


class Reassigned(OfSide):
    """A topic moves to two of the three brokers, one of which has not had it before, and back to all."""

    def begin(self) -> None:
        topic = PLAIN.name if self.side is self.world.source else f"A.{PLAIN.name}"
        ids = [broker.id for broker in self.side.brokers]
        self._all = {(topic, partition): ids for partition in range(PLAIN.partitions)}
        self._move({(topic, partition): self.dice.sample(ids, 2) for partition in range(PLAIN.partitions)})

    def _move(self, places: dict[tuple[str, int], list[int]]) -> None:
        reassign(self.side, places)
        await_true(lambda: self._stands_on(places), "the reassignment")

    def _stands_on(self, places: dict[tuple[str, int], list[int]]) -> bool:
        topics = self.side.admin.list_topics(timeout=10).topics
        return all(sorted(topics[t].partitions[p].isrs) == sorted(ids) for (t, p), ids in places.items())

    def end(self) -> None:
        self._move(self._all)


KINDS = [
    *on_each_side(
        "broker-killed",
        "SIGKILL for a leading broker of the {side}, then it is started",
        BrokerKilled,
        worlds=ONLY_THREE,
    ),
    *on_each_side(
        "broker-frozen",
        "a leading broker of the {side} hangs longer than every timeout",
        BrokerFrozen,
        worlds=ONLY_THREE,
    ),
    *on_each_side(
        "broker-restarted", "a leading broker of the {side} is stopped and started", BrokerRestarted, worlds=ONLY_THREE
    ),
    *on_each_side(
        "controller-killed", "SIGKILL for the leading controller of the {side}", ControllerKilled, worlds=ONLY_THREE
    ),
    *on_each_side("leaders-moved", "other replicas of the {side} lead", LeadersMoved, worlds=ONLY_THREE),
    *on_each_side(
        "reassigned", "partitions of the {side} move to other brokers and back", Reassigned, worlds=ONLY_THREE
    ),
    *on_each_side("side-killed", "SIGKILL for all brokers of the {side}", SideKilled),
    *on_each_side("side-frozen", "all brokers of the {side} hang longer than every timeout", SideFrozen),
]
