"""One cluster of a world: its brokers, the proxies before them, and what Kafka's own client (librdkafka) sees of it."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, OffsetSpec

from sparkmirror.embedded import Broker, KafkaCluster
from tests.chaos.guard import MIRROR, Login
from tests.chaos.proxy import Proxy, ProxyLoop

SOURCE, TARGET = "source", "target"
# A client that waits ten seconds before it connects again would be slower than the mirror that it judges.
QUICK = {
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 300,
    "socket.connection.setup.timeout.ms": 2000,
    "log_level": 0,
}
PROBE = "probe"
PROBE_MS = 2000
DEADLINE_S = 60.0

Place = tuple[str, int]


class Side:
    def __init__(self, name: str, cluster: KafkaCluster, login: Login, loop: ProxyLoop) -> None:
        self.name, self.cluster, self.login = name, cluster, login
        self.ports_of_mirror = {broker.advertised_port_of(MIRROR): broker.port_of(MIRROR) for broker in cluster.brokers}
        self.proxies = [Proxy(loop, port, behind) for port, behind in self.ports_of_mirror.items()]
        self.admin = AdminClient({"bootstrap.servers": self.servers, **QUICK})

    @property
    def servers(self) -> str:
        return self.cluster.bootstrap_servers

    @property
    def for_mirror(self) -> str:
        return self.cluster.servers_of(MIRROR)

    @property
    def brokers(self) -> Sequence[Broker]:
        return self.cluster.brokers

    @property
    def size(self) -> int:
        return len(self.brokers)

    # -- topics

    def create(
        self, topic: str, partitions: int = 1, on: Sequence[int] = (), config: Mapping[str, str] | None = None
    ) -> None:
        """On the brokers `on`, the first of them leading, or on all."""
        where: dict[str, Any] = {"num_partitions": partitions, "replica_assignment": [list(on)] * partitions}
        if not on:
            where = {"num_partitions": partitions, "replication_factor": self.size}
        new = NewTopic(topic, config=dict(config or {}), **where)
        self.admin.create_topics([new])[topic].result(DEADLINE_S)
        await_true(lambda: len(self.leaders().get(topic, {})) == partitions, f"{topic} on the {self.name}")

    def delete(self, topic: str) -> None:
        self.admin.delete_topics([topic])[topic].result(DEADLINE_S)
        await_true(lambda: topic not in self.leaders(), f"the end of {topic} on the {self.name}")

    def trim(self, before: Mapping[Place, int]) -> None:
        """DeleteRecords."""
        wanted = [TopicPartition(topic, partition, offset) for (topic, partition), offset in before.items()]
        for future in self.admin.delete_records(wanted).values():
            future.result(DEADLINE_S)

    def configure(self, topic: str, settings: Mapping[str, str | None]) -> None:
        """None: as it is by default."""
        self._alter(ConfigResource.Type.TOPIC, topic, settings)

    def configure_brokers(self, settings: Mapping[str, str | None]) -> None:
        """Each of them."""
        for broker in self.brokers:
            self._alter(ConfigResource.Type.BROKER, f"{broker.id}", settings)

    def _alter(self, kind: Any, name: str, settings: Mapping[str, str | None]) -> None:
        entries = [
            ConfigEntry(
                key,
                text or "",
                incremental_operation=AlterConfigOpType.DELETE if text is None else AlterConfigOpType.SET,
            )
            for key, text in settings.items()
        ]
        resource = ConfigResource(kind, name, incremental_configs=entries)
        self.admin.incremental_alter_configs([resource])[resource].result(DEADLINE_S)

    def leaders(self) -> dict[str, dict[int, int]]:
        """By topic and partition; -1: it has none."""
        found = self.admin.list_topics(timeout=10).topics
        return {name: {p: each.leader for p, each in topic.partitions.items()} for name, topic in found.items()}

    def write(self, topic: str, values: Iterable[bytes], partition: int = 0, key: bytes | None = None) -> None:
        producer = Producer({"bootstrap.servers": self.servers, **QUICK})
        for value in values:
            producer.produce(topic, value, key, partition)
        assert producer.flush(DEADLINE_S) == 0

    # -- offsets

    def ends(self, places: Iterable[Place], *, committed: bool = False) -> dict[Place, int]:
        """KafkaException while a partition has no leader."""
        places, leaders = list(places), self.leaders()  # asked for, since librdkafka remembers what was not there
        if bare := [(topic, p) for topic, p in places if leaders.get(topic, {}).get(p, -1) < 0]:
            raise KafkaException(KafkaError(KafkaError._NOENT, f"{bare[0]} has no leader"))
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        wanted = {TopicPartition(*place): OffsetSpec.latest() for place in places}
        asked = self.admin.list_offsets(wanted, isolation_level=level, request_timeout=5)
        return {(place.topic, place.partition): future.result(10).offset for place, future in asked.items()}

    # -- when a fault is over

    def prepare_probe(self) -> None:
        self.create(PROBE, self.size)

    def await_usable(self, deadline_s: float = DEADLINE_S) -> None:
        """Until every partition has a leader, and a client that comes as the mirror does writes and reads one."""
        until = time.monotonic() + deadline_s
        while True:
            why = self._why_unusable()
            if not why:
                return
            assert time.monotonic() < until, f"the {self.name} is not usable after {deadline_s:g} s: {why}"
            time.sleep(0.1)

    def _why_unusable(self) -> str:
        try:
            leaders = self.leaders()
            if bare := [topic for topic, found in leaders.items() if -1 in found.values()]:
                return f"{bare[0]} has no leader"
            return self._probe(leaders[PROBE])
        except (KafkaException, KeyError) as error:
            return str(error)

    def _probe(self, leaders: Mapping[int, int]) -> str:
        client = {"bootstrap.servers": self.for_mirror, **self.login.of_probe, **QUICK}
        mark, failed = uuid.uuid4().bytes, []
        producer = Producer(client | {"message.timeout.ms": PROBE_MS, "linger.ms": 0})
        places: list[TopicPartition] = []

        def note(error: Any, message: Any) -> None:
            if error:
                failed.append(str(error))
            else:
                places.append(TopicPartition(PROBE, message.partition(), message.offset()))

        for partition in leaders:
            producer.produce(PROBE, mark, partition=partition, on_delivery=note)
        if producer.flush(PROBE_MS / 1000 + 1) or failed:
            return f"a write failed: {failed[:1]}"
        consumer = Consumer(client | {"group.id": PROBE, "enable.auto.commit": False})
        try:
            consumer.assign(places)
            until = time.monotonic() + PROBE_MS / 1000
            seen: set[int] = set()
            while len(seen) < len(places) and time.monotonic() < until:
                seen |= {m.partition() for m in consumer.consume(10, 0.2) if not m.error() and m.value() == mark}
            return "" if len(seen) == len(places) else "a read failed"
        finally:
            consumer.close()


def await_true(condition: Callable[[], bool], what: str, deadline_s: float = DEADLINE_S) -> float:
    """Ask until it holds, also while brokers refuse; how long it took."""
    began = time.monotonic()
    while True:
        why = ""
        try:
            if condition():
                return time.monotonic() - began
        except KafkaException as error:
            why = f" ({error})"
        assert time.monotonic() - began < deadline_s, f"waited {deadline_s:g} s for {what}{why}"
        time.sleep(0.05)
