"""Troubles of one topic or one partition, by what is done to it. Each has a topic of its own; the rest goes on."""

from __future__ import annotations

import re
import time
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AclOperation, NewPartitions

from tests.chaos.side import await_true
from tests.truth.trouble import WITHIN_S, Must, Trouble, must_of_partition, told_by
from tests.truth.views import FILE, LOG, PLAN, STATUS, Said
from tests.truth.world import CLUSTER, CLUSTER_NAME, LITERAL, TOPIC, World

RECORDS = 10
TO_ACCEPT = r"sparkmirror accept\b"
GRANT = r"kafka-acls\.sh --bootstrap-server \S+ --add [^|;)]*[^|;). ]"


class OfTopic(Trouble):
    """Two partitions of ten records each, copied. Something happens to the first."""

    topic: str

    def __init__(self) -> None:
        self.place = (self.topic, 0)

    @property
    def remote(self) -> str:
        return f"A.{self.topic}"

    def prepare(self, world: World) -> None:
        world.make(self.topic)

    def settle(self, world: World) -> None:
        world.await_copied(self.topic)

    def check_neighbours(self, world: World) -> None:
        """The other partition, too."""
        super().check_neighbours(world)
        if not self.is_whole_topic:
            before = world.end(world.target, (self.remote, 1))
            world.write(self.topic, 1)
            await_true(
                lambda: world.end(world.target, (self.remote, 1)) == before + 1, f"{self.topic}-1 to go on", WITHIN_S
            )

    def check_well(self, world: World) -> None:
        """The next record is copied."""
        partition = max(0, self.place[1])
        place = (self.remote, partition)
        await_true(lambda: partition in world.target.leaders().get(self.remote, {}), f"{place}", 30)
        before = world.end(world.target, place)
        world.write(self.topic, partition)
        await_true(lambda: world.end(world.target, place) > before, f"the next of {self.topic}", 30)


class Gap(OfTopic):
    """Records come and go while the mirror is cut off from the source."""

    name, topic = "gap", "t-gap"
    cause = rf"gap: source offsets {RECORDS}\.\.{RECORDS + 4} were removed before they could be copied"
    cure = TO_ACCEPT
    must = must_of_partition(10)

    def begin(self, world: World) -> None:
        for proxy in world.source.proxies:
            proxy.refuse()
        world.write(self.topic, records=10)
        world.source.trim({(self.topic, 0): RECORDS + 5})
        for proxy in world.source.proxies:
            proxy.heal()


class SourceRecreated(OfTopic):
    name, topic = "source-recreated", "t-source-anew"
    cause = "source-recreated: the source topic t-source-anew was deleted and created anew"
    cure = TO_ACCEPT
    must = must_of_partition(5)
    is_whole_topic = True

    def begin(self, world: World) -> None:
        world.source.delete(self.topic)
        world.source.create(self.topic, 2)
        world.write(self.topic, 0, 5)


class TargetRecreated(OfTopic):
    name, topic = "target-recreated", "t-target-anew"
    cause = "target-recreated: the target topic A.t-target-anew was deleted and created anew"
    cure = TO_ACCEPT
    must = must_of_partition(RECORDS)
    is_whole_topic = True

    def begin(self, world: World) -> None:
        world.target.delete(self.remote)
        world.target.create(self.remote, 2)


class ForeignWriter(OfTopic):
    """In a flow where nothing else happens: no record of the source's meets it."""

    name, topic = "foreign-writer", "t-foreign"
    cause = f"foreign-writer: somebody else wrote into the target topic A.t-foreign, between offsets {RECORDS} and"
    cure = TO_ACCEPT
    must = must_of_partition(0)

    def begin(self, world: World) -> None:
        world.target.write(self.remote, [b"foreign"])


class OfRight(OfTopic):
    """A right of the mirror's user on this topic alone is taken away."""

    side: str
    lost: AclOperation
    cure = GRANT

    def prepare(self, world: World) -> None:
        super().prepare(world)
        for operation in (AclOperation.READ, AclOperation.DESCRIBE_CONFIGS):
            world.allow(world.source, TOPIC, self.topic, LITERAL, operation)
        for operation in self.needed:
            world.allow(world.target, TOPIC, self.remote, LITERAL, operation)

    needed = (
        AclOperation.READ,
        AclOperation.WRITE,
        AclOperation.CREATE,
        AclOperation.ALTER,
        AclOperation.ALTER_CONFIGS,
        AclOperation.DELETE,
    )

    def begin(self, world: World) -> None:
        name = self.topic if self.side == "source" else self.remote
        world.take(world.sides[self.side], TOPIC, name, LITERAL, self.lost)
        world.write(self.topic, records=3)


class ReadLost(OfRight):
    """The topic is not seen any more: it is the fact of the topic."""

    name, topic, side, lost = "unauthorized (source)", "r-read", "source", AclOperation.READ
    cause = "unauthorized: User:mirror has no READ on topic r-read of cluster A"
    must = must_of_partition(3) | dict.fromkeys((FILE, STATUS), Must("stopped"))  # nobody sees how far the source is
    places = dict.fromkeys((FILE, LOG, STATUS), ("r-read", -1))
    is_whole_topic = True


class WriteLost(OfRight):
    name, topic, side, lost = "unauthorized (target)", "r-write", "target", AclOperation.WRITE
    cause = r"unauthorized: User:mirror has no WRITE on topic A\.r-write of cluster B"
    must = must_of_partition(3)
    is_whole_topic = True


class TailUnread(OfRight):
    name, topic, side, lost = "tail-unread", "r-tail", "target", AclOperation.READ
    cause = r"User:mirror has no READ on topic A\.r-tail of cluster B|READ is missing on 1 topic of B: A\.r-tail"
    must = told_by(doctor=Must("WARN"))
    silent = dict.fromkeys(
        (FILE, LOG, STATUS), "within five minutes: brokers weigh each right of each topic when asked"
    )

    def __init__(self) -> None:
        self.place = (self.topic, -1)


TOPICS_ARE_SEEN = dict.fromkeys(
    (FILE, LOG, STATUS, PLAN), "topics are looked for every 5 s, unless the file says otherwise"
)


class TopicRefused(OfRight):
    """A new topic that the mirror may not create."""

    late = TOPICS_ARE_SEEN

    name, topic, side, lost = "topic-refused", "r-new", "target", AclOperation.CREATE
    cause = r"User:mirror has no CREATE on topic A\.r-new|CREATE is missing on"
    must = must_of_partition(RECORDS) | {FILE: Must("stopped", "unknown")}
    places = dict.fromkeys((LOG,), ("r-new", -1))
    is_whole_topic = True

    def prepare(self, world: World) -> None:
        for operation in (AclOperation.READ, AclOperation.DESCRIBE_CONFIGS):
            world.allow(world.source, TOPIC, self.topic, LITERAL, operation)
        for operation in self.needed:
            if operation != self.lost:
                world.allow(world.target, TOPIC, self.remote, LITERAL, operation)

    def settle(self, world: World) -> None:
        """It is not there yet."""

    def begin(self, world: World) -> None:
        world.make(self.topic)


class PartitionCount(OfRight):
    """Partitions are added, and the mirror may not add them."""

    late = TOPICS_ARE_SEEN

    name, topic, side, lost = "partition-count", "r-grow", "target", AclOperation.ALTER
    cause = r"has 2 partitions where the source has 3, and can't be extended|ALTER is missing on"
    must = must_of_partition(4) | {FILE: Must("stopped", "unknown")} | told_by(doctor=Must("WARN"))

    def __init__(self) -> None:
        self.place = (self.topic, 2)

    def begin(self, world: World) -> None:
        world.take(world.target, TOPIC, self.remote, LITERAL, self.lost)
        world.source.admin.create_partitions([NewPartitions(self.topic, 3)])[self.topic].result(30)
        await_true(lambda: len(world.source.leaders()[self.topic]) == 3, "a third partition")
        world.write(self.topic, 2, 4)


class MarkersRefused(Trouble):
    name = "markers-refused"
    cause = "User:mirror has no ALTER on cluster B|ALTER is missing on the cluster B"
    cure = GRANT
    must = told_by(file=Must("leading"), log=Must(), status=Must("running"), doctor=Must())
    late = dict.fromkeys((FILE, LOG, STATUS), "asked for every 30 s; a hole that meets it says so at once")
    patience_s = 45.0

    def begin(self, world: World) -> None:
        world.take(world.target, CLUSTER, CLUSTER_NAME, LITERAL, AclOperation.ALTER)

    def is_well(self, said: Said) -> bool:
        """Others of its act may still be there."""
        return not re.search(self.cause, said.text)


class TargetRestamps(OfTopic):
    name, topic = "target-restamps", "t-restamped"
    cause = r"the target topic A\.t-restamped takes no times of records"
    cure = r"kafka-configs\.sh --bootstrap-server [^|;]*[^|; ]"
    must = told_by(file=Must("noted"), log=Must("noted"), status=Must("noted"), doctor=Must("WARN"), plan=Must("noted"))

    def __init__(self) -> None:
        self.place = (self.topic, -1)

    def prepare(self, world: World) -> None:
        """Somebody made the remote topic before; the source's comes now."""
        world.target.create(self.remote, 2, config={"message.timestamp.type": "LogAppendTime"})

    def settle(self, world: World) -> None:
        """It is not there yet."""

    def begin(self, world: World) -> None:
        world.make(self.topic)

    def check_well(self, world: World) -> None:
        """The fact is over."""


class TooLarge(OfTopic):
    """The mirror did not make the target topic, so it does not raise its limit by itself."""

    name, topic = "record-too-large", "t-large"
    cause = rf"record-too-large: the record at source offset {RECORDS} takes \d+ bytes, more than the target topic's"
    cure = r"kafka-configs\.sh --bootstrap-server [^|;]*[^|; ]"
    must = must_of_partition(1)

    def prepare(self, world: World) -> None:
        world.target.create(self.remote, 2, config={"max.message.bytes": "2000"})
        super().prepare(world)

    def begin(self, world: World) -> None:
        world.write(self.topic, value=bytes(i * 37 % 251 for i in range(5000)))


class TimeRefused(OfTopic):
    name, topic = "timestamp-refused", "t-old"
    cause = "timestamp-refused: the target refuses: INVALID_TIMESTAMP"
    cure = r"kafka-configs\.sh --bootstrap-server [^|;]*[^|; ]"
    must = must_of_partition(1)

    def prepare(self, world: World) -> None:
        world.target.create(self.remote, 2, config={"message.timestamp.before.max.ms": "3600000"})
        super().prepare(world)

    def begin(self, world: World) -> None:
        producer = Producer({"bootstrap.servers": world.source.servers})
        producer.produce(self.topic, b"old", partition=0, timestamp=int(1000 * time.time()) - 86_400_000)
        assert producer.flush(30) == 0


class OpenTransaction(OfTopic):
    name, topic = "open-transaction", "t-open"
    cause = rf"last stable offset {RECORDS} has stood still for \d+ s below the high watermark"
    cure = r"kafka-transactions\.sh --bootstrap-server \S+ abort --topic t-open --partition 0 --start-offset 10"
    must = told_by(file=Must("waiting", "0"), log=Must("waiting"), status=Must("waiting", "0"), doctor=Must("WARN"))
    late = dict.fromkeys(
        (FILE, LOG, STATUS), "a transaction is one that stays open after open.transaction.warn.seconds"
    )

    def begin(self, world: World) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": world.source.servers,
                "transactional.id": "left-open",
                "transaction.timeout.ms": 600_000,
            }
        )
        self._producer.init_transactions(30)
        self._producer.begin_transaction()
        self._producer.produce(self.topic, b"open", partition=0)
        self._producer.flush(30)

    def by_hand(self, world: World, said: str) -> None:
        """The tool is not at hand here: its words must name what the producer then does itself."""
        self._producer.abort_transaction(30)


class Damaged(OfTopic):
    """A bit of the source's log turns over on its disk before the mirror has read it, and is restored."""

    name, topic = "corrupt", "t-damaged"
    cause = "corrupt: .*"
    cure = r"restore the source's log"
    must = must_of_partition(5)

    def begin(self, world: World) -> None:
        for proxy in world.source.proxies:
            proxy.refuse()
        world.write(self.topic, records=5, value=b"to be damaged")
        segment = max((world.source.brokers[0].data_path / f"{self.topic}-0").glob("*.log"))
        self._turn(segment)
        for proxy in world.source.proxies:
            proxy.heal()

    def by_hand(self, world: World, said: str) -> None:
        self._turn(max((world.source.brokers[0].data_path / f"{self.topic}-0").glob("*.log")))

    def _turn(self, segment: Path) -> None:
        data = bytearray(segment.read_bytes())
        with segment.open("r+b") as file:
            file.seek(len(data) - 3)
            file.write(bytes([data[-3] ^ 1]))


ONES = (
    ForeignWriter,
    TargetRecreated,
    Gap,
    SourceRecreated,
    ReadLost,
    WriteLost,
    TailUnread,
    TopicRefused,
    PartitionCount,
    MarkersRefused,
    TargetRestamps,
    TooLarge,
    TimeRefused,
    OpenTransaction,
    Damaged,
)
