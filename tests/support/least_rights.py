"""Two clusters with an authorizer, and flows with everything switched on, each of its own user, in this process."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AdminClient,
    NewTopic,
    ResourceType,
)

from sparkmirror.config.jaas import PLAIN_MODULE
from sparkmirror.config.mirror import load_mirror_config
from sparkmirror.control.heartbeat_pairs import HeartbeatPairs
from sparkmirror.errors import SparkmirrorError
from sparkmirror.net.acls import describe_topic_acls
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.configs import describe_topic_configs
from sparkmirror.net.group_offsets import fetch_group_offsets
from sparkmirror.net.groups import DEAD, GroupState, describe_groups
from sparkmirror.net.offsets import EARLIEST, LATEST, list_offsets
from sparkmirror.offsets.checkpoint_topic import CheckpointTopic
from sparkmirror.offsets.group_marks import GroupMarksTopic
from sparkmirror.offsets.heartbeats import parse_record
from sparkmirror.offsets.internal_topic import InternalTopic
from sparkmirror.offsets.progress import ProgressTopic
from sparkmirror.pipeline.beating import beating
from sparkmirror.protocol import codes
from sparkmirror.topology.least_rights import SOURCE, TARGET, Names
from sparkmirror.topology.right import CLUSTER, GROUP, TOPIC, TRANSACTIONAL_ID, Right
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage
from tests.support.flows import only_flow
from tests.support.group_rounds import groups_of
from tests.support.guarded import ALLOW, AS_ADMIN, LITERAL, PREFIXED
from tests.support.kafka_client import await_condition
from tests.support.local_mirror import LocalMirror, mirroring
from tests.support.sasl import address, file_settings, jaas

DEADLINE_S = 60.0
RETENTION = "123456789"
READER = "User:reader"
HEARTBEATS = "heartbeats"
RECORDS, LATE_FROM = 20, 5
NAMED_RIGHT = re.compile(r"has no (\w+ on (?:cluster|topic|group|transactional ids?) \S+)")

KINDS = {
    TOPIC: ResourceType.TOPIC,
    GROUP: ResourceType.GROUP,
    CLUSTER: ResourceType.BROKER,
    TRANSACTIONAL_ID: ResourceType.TRANSACTIONAL_ID,
}
KEYS = {
    "replication.factor": "1",
    "offset.storage.replication.factor": "1",
    "offset.storage.partitions": "1",
    "status.storage.partitions": "1",
    "checkpoints.topic.replication.factor": "1",
    "offset-syncs.topic.replication.factor": "1",
    "heartbeats.topic.replication.factor": "1",
    "lease.seconds": "5",
    "offset.lag.max": "0",
    "refresh.topics.interval.seconds": "0.5",
    "sync.topic.configs.interval.seconds": "0.5",
    "sync.topic.acls.interval.seconds": "0.5",
    "sync.topic.deletes.enabled": "true",
    "sync.group.offsets.enabled": "true",
    "sync.group.deletes.enabled": "true",
    "emit.heartbeats.interval.seconds": "1",
}

Grants = dict[str, list[Right]]  # by side


@dataclass(frozen=True)
class Side:
    """A cluster as its admin sees it."""

    servers: str

    @cached_property
    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.servers, **AS_ADMIN})

    @cached_property
    def cluster(self) -> Cluster:
        return Cluster(address(self.servers, login_of("admin")))

    def close(self) -> None:
        self.cluster.close()

    def create(self, topics: Iterable[NewTopic]) -> None:
        wait(self.admin.create_topics(list(topics)).values())

    def produce(self, records: Iterable[tuple[str, int]]) -> None:
        """So many into each topic's first partition."""
        producer = Producer({"bootstrap.servers": self.servers, **AS_ADMIN})
        for topic, count in records:
            for number in range(count):
                producer.produce(topic, b"%d" % number, partition=0)
        assert producer.flush(DEADLINE_S) == 0

    def commit(self, group: str, topic: str, offset: int) -> None:
        def is_taken() -> bool:  # not while the topic or the coordinator is new
            wanted = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, offset)])
            (answer,) = self.admin.alter_consumer_group_offsets([wanted]).values()
            return all(place.error is None for place in answer.result(DEADLINE_S).topic_partitions)

        await_condition(is_taken, f"the commit of {group}")

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        found = fetch_group_offsets(self.cluster, [group])[group]
        return {place: each.offset for place, each in found.items()} if isinstance(found, dict) else {}

    def grant(self, principal: str, rights: Sequence[Right]) -> None:
        acls = [
            AclBinding(
                KINDS[right.resource], right.name or "kafka-cluster", PREFIXED if right.is_prefix else LITERAL,
                principal, "*", AclOperation[right.operation], ALLOW,
            )
            for right in dict.fromkeys(rights)
        ]  # fmt: skip
        wait(self.admin.create_acls(acls).values())

    def bounds(self, topic: str, partition: int = 0) -> tuple[int, int] | None:
        info = self.cluster.fetch_metadata([topic]).topics[topic]
        if partition not in info.leaders:
            return None
        place = {(topic, partition): info.leaders[partition]}
        first, end = (list_offsets(self.cluster, place, when).get((topic, partition)) for when in (EARLIEST, LATEST))
        return None if first is None or end is None else (first, end)

    def end(self, topic: str, partition: int = 0) -> int:
        return (self.bounds(topic, partition) or (0, 0))[1]

    def is_there(self, topic: str) -> bool:
        return self.cluster.fetch_metadata([topic]).topics[topic].error != codes.UNKNOWN_TOPIC_OR_PARTITION

    def has_beat(self, source: str, target: str) -> bool:
        if not self.is_there(HEARTBEATS):
            return False
        topic = InternalTopic(self.cluster, HEARTBEATS, partitions=1, replication_factor=-1)
        found = (parse_record(record.key, record.value) for record in topic.read())
        return any(beat is not None and (beat.source, beat.target) == (source, target) for beat in found)


def wait(futures: Iterable[Future[object]]) -> None:
    for future in futures:
        future.result(DEADLINE_S)


def login_of(user: str) -> dict[str, str]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": jaas(PLAIN_MODULE, username=user, password="x"),
    }


class Scene(logging.Handler):
    """One flow of one user. `features`: what it does, each with a question whether that has been done.

    Topics: copy, new, wide (a partition more), late (its log begins above 0), holes, mapped (translated), conf, grp.
    """

    def __init__(
        self, number: int, folder: Path, source: Side, target: Side, extra: dict[str, str] | None = None
    ) -> None:
        super().__init__()
        self.number = number
        self.users = {SOURCE: f"reader{number}", TARGET: f"writer{number}"}
        self.source, self.target = source, target
        self.here, self.there = f"S{number:02d}", f"T{number:02d}"
        self.topics = {n: f"r{number}-{n}" for n in ("copy", "new", "wide", "late", "holes", "mapped", "conf", "grp")}
        self.groups = {name: f"r{number}-{name}" for name in ("billing", "mapper", "gone")}
        self.file = self._write(folder, extra or {})
        self.flow = only_flow(self.file)
        self.names = Names.of(self.flow, (*self.topics.values(), HEARTBEATS), self.groups.values())
        self.features: dict[str, Callable[[], bool]] = {
            "copy": lambda: target.end(self.remote("copy")) == RECORDS,
            "new topics": lambda: target.end(self.remote("new")) == RECORDS,
            "partitions": lambda: target.bounds(self.remote("wide"), 1) is not None,
            "log start": lambda: target.bounds(self.remote("late")) == (LATE_FROM, RECORDS),
            "holes": self._has_equal_holes,
            "translated": lambda: target.end(self.remote("mapped")) == RECORDS + 1,
            "configurations": self._has_configs,
            "rights": self._has_rights,
            "end of topics": lambda: self._is_deleted and not target.is_there(self.remote("new")),
            "progress": self._has_progress,
            "facts": lambda: target.end(self.names.status) > self._filled.get(self.names.status, 0),
            "checkpoints": self._has_checkpoints,
            "group offsets": lambda: self._committed("billing") == {(self.remote("grp"), 0): 12},
            "translated groups": lambda: self._committed("mapper") == {(self.remote("mapped"), 0): 5},
            "end of groups": self._has_ended_group,
            "offset syncs": lambda: max(side.end(self.names.offset_syncs) for side in (source, target)) > 0,
            "heartbeats": lambda: target.has_beat(self.here, self.there),
            "heartbeats back": lambda: source.has_beat(self.there, self.here),
        }
        self.done: set[str] = set()
        self._is_deleted = self._is_group_deleted = False
        self._filled: dict[str, int] = {}
        self._said: dict[str, None] = {}
        self._lock = threading.Lock()

    def remote(self, name: str) -> str:
        return f"{self.here}.{self.topics[name]}"

    def alias(self, side: str) -> str:
        return {SOURCE: self.here, TARGET: self.there}[side]

    def _write(self, folder: Path, extra: dict[str, str]) -> Path:
        lines = {
            "clusters": f"{self.here}, {self.there}",
            f"{self.here}.bootstrap.servers": self.source.servers,
            f"{self.there}.bootstrap.servers": self.target.servers,
            f"{self.here}->{self.there}.enabled": "true",
            "topics": ", ".join(self.topics.values()),
            "groups": f"r{self.number}-.*",
            **file_settings(self.here, login_of(self.users[SOURCE])),
            **file_settings(self.there, login_of(self.users[TARGET])),
            **KEYS,
            **extra,
        }
        file = folder / f"{self.number}.properties"
        file.write_text("".join(f"{key} = {value}\n" for key, value in lines.items()))
        return file

    # -- what an admin does

    def prepare(self, grants: Grants) -> None:
        """Topics, records, groups, and rights, which hold when this returns. Remote topics are there but for one."""
        wide = {self.topics["wide"]: 2}
        configs = {self.topics["conf"]: {"retention.ms": RETENTION}}
        names = self.topics.values()
        self.source.create(NewTopic(n, wide.get(n, 1), 1, config=configs.get(n, {})) for n in names)
        self.target.create(NewTopic(self.remote(n), 1, 1) for n in self.topics if n != "new")
        plain = [name for name in self.topics if name != "holes"]
        self.source.produce((self.topics[name], RECORDS) for name in plain)
        self.target.produce([(self.remote("mapped"), 1)])
        late = TopicPartition(self.topics["late"], 0, LATE_FROM)
        wait(self.source.admin.delete_records([late]).values())
        self._make_holes()
        self.source.commit(self.groups["billing"], self.topics["grp"], 12)
        self.source.commit(self.groups["mapper"], self.topics["mapped"], 4)
        self.source.commit(self.groups["gone"], self.topics["conf"], 3)
        self.source.grant(READER, [Right("READ", TOPIC, self.topics["conf"])])
        for side, cluster in ((SOURCE, self.source), (TARGET, self.target)):
            last = Right("DESCRIBE", TOPIC, f"last-{self.number}")
            cluster.grant(f"User:{self.users[side]}", [*grants[side], last])
            with Cluster(address(cluster.servers, login_of(self.users[side]))) as mine:
                await_condition(lambda m=mine, n=last.name: not _is_hidden(m, n), "rights", 30)  # type: ignore[misc]

    def fill(self, topic: str) -> None:
        """An internal topic that is there and holds something, as of an earlier driver: it has to be read."""
        self.target.create([NewTopic(topic, 1, 1)])
        self.target.produce([(topic, 1)])
        self._filled[topic] = 1

    def _make_holes(self) -> None:
        producer = Producer({"bootstrap.servers": self.source.servers, "transactional.id": self.here, **AS_ADMIN})
        producer.init_transactions(DEADLINE_S)
        for is_kept in (True, False, True):
            producer.begin_transaction()
            for number in range(5):
                producer.produce(self.topics["holes"], b"%d" % number, partition=0)
            assert producer.flush(DEADLINE_S) == 0  # else an abort may find nothing to end
            producer.commit_transaction(DEADLINE_S) if is_kept else producer.abort_transaction(DEADLINE_S)

    # -- the flow

    def run(self, wanted: set[str], is_said: Callable[[], bool]) -> None:
        """Until all that is wanted is done, and something is said."""
        until = time.monotonic() + DEADLINE_S
        logging.getLogger("sparkmirror").addHandler(self)
        with ExitStack() as stack:
            stack.callback(logging.getLogger("sparkmirror").removeHandler, self)
            mirror = stack.enter_context(mirroring(self.file))
            groups = stack.enter_context(groups_of(mirror))
            pairs = HeartbeatPairs(load_mirror_config(self.file).heartbeat_pairs, lambda: None)
            pairs.start()
            stack.callback(pairs.stop)
            are_beating: set[str] = set()
            while not (wanted <= self.done and is_said()):
                assert time.monotonic() < until, f"{self.here}: not done: {wanted - self.done}; said: {self.said()}"
                for beat in filter(None, (mirror.keeper.plan_heartbeat(), *pairs.ready)):
                    if beat.source not in are_beating:
                        are_beating.add(beat.source)
                        stack.enter_context(beating([beat]))
                self._turn(mirror, groups.round)
                self._look()

    def _turn(self, mirror: LocalMirror, groups_round: Callable[[], object]) -> None:
        view = mirror.keeper.view
        self._hear(view.problem)
        if view.problem or not view.leads or view.landscape is None or view.ends is None:
            time.sleep(0.2)  # it tells by its view
            return
        mirror.round(0.7)
        try:
            groups_round()
        except SparkmirrorError as error:
            self._hear(str(error))
        for fact in mirror.facts().values():
            self._hear(fact.said)
        for standing in self._standings().values():
            self._hear(standing.translated)

    def _look(self) -> None:
        self.done |= {name for name, is_done in self.features.items() if name not in self.done and is_done()}
        if "new topics" in self.done and not self._is_deleted:
            wait(self.source.admin.delete_topics([self.topics["new"]]).values())
            self._is_deleted = True
        if not self._is_group_deleted and self._committed("gone"):
            wait(self.source.admin.delete_consumer_groups([self.groups["gone"]]).values())
            self._is_group_deleted = True
        if self._is_group_deleted and "facts" in self.done:
            for group, mark in GroupMarksTopic(self.target.cluster, Storage.of(self.flow)).read().groups.items():
                self._hear(f"group {group}: {mark.sync.why}")

    # -- what was said

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if self.here in text or self.there in text:
            self._hear(text)

    def _hear(self, text: str) -> None:
        with self._lock:
            self._said[text] = None

    def said(self) -> list[str]:
        with self._lock:
            return list(self._said)

    def named_rights(self) -> set[str]:
        """`READ on topic t`: all that this user was said to lack."""
        return {found for text in self.said() for found in NAMED_RIGHT.findall(text)}

    # -- what is done

    def _has_equal_holes(self) -> bool:
        return self.target.end(self.remote("holes")) == self.source.end(self.topics["holes"])

    def _standings(self) -> dict[tuple[str, int], Standing]:
        if not self.target.is_there(self.names.progress):
            return {}
        return ProgressTopic(self.target.cluster, Storage.of(self.flow)).read()

    def _has_configs(self) -> bool:
        remote = self.remote("conf")
        found = describe_topic_configs(self.target.cluster, [remote]).found.get(remote, {})
        return "retention.ms" in found and found["retention.ms"].value == RETENTION

    def _has_rights(self) -> bool:
        acls = describe_topic_acls(self.target.cluster) or []
        return any((acl.name, acl.principal) == (self.remote("conf"), READER) for acl in acls)

    def _has_progress(self) -> bool:
        found = self._standings().get((self.topics["copy"], 0))
        return found is not None and found.next_offset == RECORDS

    def _has_checkpoints(self) -> bool:
        if not self.target.end(self.names.checkpoints):
            return False
        topic = CheckpointTopic(self.target.cluster, self.names.checkpoints)
        topic.read_on()
        return (self.remote("grp"), 0) in topic.last(self.groups["billing"])

    def _committed(self, name: str) -> dict[tuple[str, int], int]:
        return self.target.committed(self.groups[name])

    def _has_ended_group(self) -> bool:
        group = self.groups["gone"]
        state = describe_groups(self.target.cluster, [group])[group]
        return self._is_group_deleted and isinstance(state, GroupState) and state.state == DEAD


def _is_hidden(cluster: Cluster, topic: str) -> bool:
    return cluster.fetch_metadata([topic]).topics[topic].error in codes.FORBIDDEN
