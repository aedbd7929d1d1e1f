"""A topic on real brokers, or two that are merged, and its groups: what producers, owner and consumers do at random."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from confluent_kafka import Producer

from tests.consumers.log_book import Application, Origin, Place, ReadUntil, Record
from tests.support.group_rounds import commit
from tests.support.kafka_client import DEADLINE_S, await_condition, create_topic, delete_topic, produce
from tests.support.source_logs.log_start import remove_records
from tests.support.source_logs.markers import write_markers

if TYPE_CHECKING:
    from tests.consumers.world import World

COMPACTED = {
    "cleanup.policy": "compact,delete",
    "segment.ms": "1000",
    "min.cleanable.dirty.ratio": "0.001",
    "max.compaction.lag.ms": "1000",
}
FROM_A = (
    *["produce"] * 4,
    "produce_in_transaction",
    "leave_hole",
    *["read"] * 4,
    *["reset"] * 2,
    "trim",
    "trim_copy",
    "recreate",
    "write_beside",
    "forget_group",
)
FROM_B = (*["read"] * 5, "reset", "forget_group", "trim_copy")
ROUGH = ("trim", "trim_copy", "recreate", "write_beside")  # not in a calm world


@dataclass
class Reader:
    """A group that reads on with every record that comes. `behind`: all before the places that it has committed, also
    what was gone when it came there; `again`: records that it may read once more.
    """

    name: str
    seen: set[Record] = field(default_factory=set)
    behind: ReadUntil = field(default_factory=ReadUntil)
    again: set[Record] = field(default_factory=set)

    def take(self, record: Record, said: str) -> None:
        assert record not in self.seen or record in self.again, f"{self.name} reads {record} again, {said}"
        self.again.discard(record)
        self.seen.add(record)
        self.behind.reach(record)


class TopicLife:
    """`touched`: something was removed, made anew or written by others, on either side. `incarnations`: of each topic,
    how often it was made anew; `numbers`: how many records its partitions have had since.
    """

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name = world, name
        self.dice = random.Random(f"{world.seed} {name[-2:]}")
        topics = [f"{name}-x", f"{name}-y"] if world.merged else [name]
        self.partitions = {topic: self.dice.choice((1, 1, 2)) for topic in topics}
        self.incarnations = dict.fromkeys(topics, 0)
        self.numbers = {(topic, p): 0 for topic in topics for p in range(self.partitions[topic])}
        self.touched = False
        self.is_compacted = not world.merged and self.dice.random() < 0.15
        self.readers = [Reader(f"{name}-steady{i}") for i in range(2)]
        self.wild = [f"{name}-wild{i}" for i in range(2)]
        for topic in topics:
            self._make(topic)

    @property
    def groups(self) -> list[str]:
        return [*(reader.name for reader in self.readers), *self.wild]

    @property
    def topics(self) -> list[str]:
        return list(self.partitions)

    @property
    def remote(self) -> str:
        return f"{self.name}-all" if self.world.merged else f"{self.world.alias}.{self.name}"

    def remote_of(self, place: Place) -> Place:
        return self.remote, place[1] % max(self.partitions.values())

    def _make(self, topic: str) -> None:
        config = COMPACTED if self.is_compacted else None
        create_topic(self.world.source, topic, self.partitions[topic], config=config)

    def _draw_place(self) -> Place:
        return self.dice.choice(list(self.numbers))

    def act(self) -> None:
        names = FROM_B if self.world.is_moved else FROM_A
        name = self.dice.choice([each for each in names if not (self.world.is_calm and each in ROUGH)])
        self.world.counts[name] += 1
        getattr(self, name)()

    # -- producers, and the owner of the topic

    def produce(self) -> None:
        topic = self.dice.choice(self.topics)
        produce(self.world.source, topic, self._draw_records(topic, self.dice.randint(1, 12)))

    def _draw_records(self, topic: str, count: int) -> list[dict[str, Any]]:
        made: list[dict[str, Any]] = []
        for _ in range(count):
            partition = self.dice.randrange(self.partitions[topic])
            origin = Origin(topic, self.incarnations[topic], partition)
            value = Record(origin, self.numbers[topic, partition]).encode()
            self.numbers[topic, partition] += 1
            made.append({"key": b"%d" % self.dice.randrange(6), "value": value, "partition": partition})
        return made

    def produce_in_transaction(self) -> None:
        """One that ends well, and one that does not."""
        topic = self.dice.choice(self.topics)
        producer = Producer({"bootstrap.servers": self.world.source, "transactional.id": topic})
        producer.init_transactions(30)
        for ends_well in (True, False):
            producer.begin_transaction()
            aborted: list[dict[str, Any]] = [{"value": b"aborted", "key": b"x", "partition": 0}]
            for row in self._draw_records(topic, self.dice.randint(1, 5)) if ends_well else aborted:
                producer.produce(topic, **row)
            producer.flush(DEADLINE_S)
            producer.commit_transaction(30) if ends_well else producer.abort_transaction(30)

    def leave_hole(self) -> None:
        topic, partition = self._draw_place()
        write_markers(self.world.source, topic, self.dice.randint(1, 4), partition)

    def trim(self) -> None:
        self._trim(self.world.source, self._draw_place())

    def trim_copy(self) -> None:
        remote, partition = self.remote_of(self._draw_place())
        if remote in self.world.topics(self.world.target):
            self._trim(self.world.target, (remote, partition))

    def _trim(self, servers: str, place: Place) -> None:
        """Not of a partition that is not there yet, and a group may stand before what is left."""
        book = self.world.books[servers]
        book.read([place[0]])
        seen = book.logs.get(place)
        if seen is not None and seen.end > seen.start and self.dice.random() < 0.6:
            self.touched = True
            remove_records(servers, place[0], self.dice.randint(seen.start, seen.end), place[1])

    def recreate(self) -> None:
        """Now and then: a mirror that is not told to go on stops there for good."""
        if self.dice.random() > 0.25:
            return
        self.touched, topic = True, self.dice.choice(self.topics)
        self.world.counts["really made anew"] += 1
        delete_topic(self.world.source, topic)
        await_condition(lambda: topic not in self.world.topics(self.world.source), "its end")
        self.world.books[self.world.source].forget(topic)
        self.incarnations[topic] += 1
        self.numbers |= {(topic, p): 0 for p in range(self.partitions[topic])}
        self._make(topic)

    def write_beside(self) -> None:
        """Somebody else, into the remote topic."""
        remote, partition = self.remote_of(self._draw_place())
        if self.dice.random() < 0.25 and remote in self.world.topics(self.world.target):
            self.touched = True
            produce(self.world.target, remote, [{"value": b"others", "key": b"x", "partition": partition}])

    # -- groups

    def read(self) -> None:
        self.read_on(self.dice.choice(self.readers), self.dice.randint(1, 10))

    def read_on(self, reader: Reader, most: int) -> None:
        """Where its consumers are at present."""
        servers = self.world.target if self.world.is_moved else self.world.source
        places = self.places(on_target=self.world.is_moved)
        if {place[0] for place in places} <= self.world.topics(servers):
            records, ends = Application(servers, reader.name).read(places, most)
            for record in filter(self.is_mine, records):
                reader.take(record, self.world.said)
            if self.touched or self.is_compacted:  # else it has read what was there
                book = self.world.books[servers]
                book.read({place[0] for place in places})
                reader.behind.reach_all(book.read_before(ends))

    def is_mine(self, record: Record) -> bool:
        """What a deleted topic held is nobody's."""
        return self.incarnations.get(record.origin.topic) == record.origin.incarnation

    def places(self, *, on_target: bool) -> list[Place]:
        return sorted({self.remote_of(place) for place in self.numbers}) if on_target else list(self.numbers)

    def reset(self) -> None:
        """A group that is put somewhere, forward or back."""
        servers = self.world.target if self.world.is_moved else self.world.source
        place = self.dice.choice(self.places(on_target=self.world.is_moved))
        book = self.world.books[servers]
        book.read([place[0]])
        if (seen := book.logs.get(place)) is not None:
            commit(servers, self.dice.choice(self.wild), {place: self.dice.randint(seen.start, seen.end)})

    def forget_group(self) -> None:
        servers = self.dice.choice((self.world.source, self.world.target))
        name = self.dice.choice(self.wild)
        admin = self.world.admins[servers]
        if name in {group.group_id for group in admin.list_consumer_groups().result(timeout=20).valid}:
            admin.delete_consumer_groups([name])[name].result(timeout=20)
