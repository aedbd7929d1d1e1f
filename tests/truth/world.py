"""Two real clusters behind proxies, and a real mirror between them that has no more rights than it needs."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from sparkmirror.embedded import KafkaCluster, start_clusters
from tests.chaos.guard import MIRROR, add_user, password_login
from tests.chaos.proxy import ProxyLoop
from tests.chaos.side import SOURCE, TARGET, Side, await_true
from tests.support.mirror_process import MirrorProcess, properties
from tests.support.sasl import file_settings

ALIASES = {SOURCE: "A", TARGET: "B"}
FLOW = "A->B"
REQUEST_S = 3.0  # how long the mirror's clients wait for an answer
NEIGHBOUR = "t-neighbour"
LEASE_S = 3
CALM_S = LEASE_S + 2.0  # a flow is calm when nothing was copied for a lease's time, which no view shows
OF_BROKERS = {"producer.id.expiration.check.interval.ms": "1000", "broker.session.timeout.ms": "3000"}
OF_MIRROR = {
    "lease.seconds": str(LEASE_S),
    "tasks.max": "2",
    "tasks.min": "2",
    "sync.topic.acls.enabled": "false",
    "emit.heartbeats.enabled": "false",
    "heartbeats.replication.enabled": "false",
    "emit.checkpoints.enabled": "false",
    "offset-syncs.topic.location": "target",
    "offset-syncs.topic.replication.factor": "1",
    "open.transaction.warn.seconds": "2",
    **{
        f"{client}.{key}": str(int(1000 * REQUEST_S))
        for client in ("A.consumer", "B.producer", "A.admin", "B.admin")
        for key in ("request.timeout.ms", "socket.connection.setup.timeout.ms")
    },
}
ALL, LITERAL, PREFIXED = AclOperation.ALL, ResourcePatternType.LITERAL, ResourcePatternType.PREFIXED
TOPIC, CLUSTER = ResourceType.TOPIC, ResourceType.BROKER
CLUSTER_NAME = "kafka-cluster"
# Topics whose names begin with t- are the mirror's to read and to write; of others it has the rights that a test gives.
GIVEN = {
    SOURCE: [(TOPIC, "t-", PREFIXED, ALL), (CLUSTER, CLUSTER_NAME, LITERAL, AclOperation.DESCRIBE)],
    TARGET: [
        *((TOPIC, name, PREFIXED, ALL) for name in ("A.t-", "mm2-", "heartbeats")),
        *(
            (CLUSTER, CLUSTER_NAME, LITERAL, operation)
            for operation in (AclOperation.DESCRIBE, AclOperation.IDEMPOTENT_WRITE, AclOperation.DESCRIBE_CONFIGS)
        ),
        (ResourceType.TRANSACTIONAL_ID, "sparkmirror.", PREFIXED, ALL),
        (ResourceType.GROUP, "A-mm2", LITERAL, AclOperation.DESCRIBE),  # that of a MirrorMaker 2's workers
        (CLUSTER, CLUSTER_NAME, LITERAL, AclOperation.ALTER),
    ],
}

Place = tuple[str, int]


@dataclass
class World:
    folder: Path
    sides: dict[str, Side]
    file: Path
    mirror: MirrorProcess | None = None

    @property
    def source(self) -> Side:
        return self.sides[SOURCE]

    @property
    def target(self) -> Side:
        return self.sides[TARGET]

    @property
    def running(self) -> MirrorProcess:
        assert self.mirror is not None
        return self.mirror

    # -- the mirror

    def start(self) -> None:
        """The file as it stands now."""
        self.mirror = MirrorProcess(self.file.read_text())
        self.mirror.start()

    def stop(self) -> None:
        if self.mirror is not None:
            self.mirror.kill()
            self.mirror = None

    def log(self) -> str:
        return self.mirror.log() if self.mirror else ""

    # -- records

    def make(self, topic: str, partitions: int = 2, records: int = 10, config: dict[str, str] | None = None) -> None:
        self.source.create(topic, partitions, config={"retention.ms": "-1"} | (config or {}))
        for partition in range(partitions):
            self.write(topic, partition, records)

    def write(self, topic: str, partition: int = 0, records: int = 1, value: bytes = b"record") -> None:
        self.source.write(topic, [value] * records, partition)

    def end(self, side: Side, place: Place) -> int:
        return side.ends([place])[place]

    def await_copied(self, topic: str, partitions: int = 2, deadline_s: float = 60.0) -> None:
        """Until both logs of each partition are equally long."""

        def is_copied() -> bool:
            here = self.source.ends([(topic, p) for p in range(partitions)])
            there = self.target.ends([(f"A.{topic}", p) for p in range(partitions)])
            return sorted(here.values()) == sorted(there.values()) and min(here.values()) >= 0

        await_true(is_copied, f"the copy of {topic}", deadline_s)

    # -- rights

    def allow(self, side: Side, kind: ResourceType, name: str, pattern: ResourcePatternType, op: AclOperation) -> None:
        acl = _allowed(side, kind, name, pattern, op)
        side.admin.create_acls([acl])[acl].result(30)

    def take(self, side: Side, kind: ResourceType, name: str, pattern: ResourcePatternType, op: AclOperation) -> None:
        acl = _allowed(side, kind, name, pattern, op)
        where = acl.restype, acl.name, acl.resource_pattern_type
        one = AclBindingFilter(*where, acl.principal, acl.host, acl.operation, acl.permission_type)
        assert side.admin.delete_acls([one])[one].result(30), f"there was no such right: {acl}"


def _allowed(
    side: Side, kind: ResourceType, name: str, pattern: ResourcePatternType, operation: AclOperation
) -> AclBinding:
    return AclBinding(kind, name, pattern, side.login.principal, "*", operation, AclPermissionType.ALLOW)


@contextlib.contextmanager
def build_world() -> Iterator[World]:
    """No mirror runs yet."""
    folder = Path(tempfile.mkdtemp(prefix="sparkmirror-truth-"))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        login = password_login()
        clusters = {
            name: KafkaCluster(
                name=name,
                heap_mb=256,
                listeners={MIRROR: login.protocol},
                proxied=(MIRROR,),
                overrides=OF_BROKERS | login.of_brokers,
            )
            for name in (SOURCE, TARGET)
        }
        start_clusters(*clusters.values())
        for cluster in clusters.values():
            stack.callback(cluster.stop, 0.5)
        loop = ProxyLoop()
        stack.callback(loop.close)
        sides = {name: Side(name, cluster, login, loop) for name, cluster in clusters.items()}
        for side in sides.values():
            for proxy in side.proxies:
                stack.callback(proxy.close)
            add_user(side.cluster)
        world = World(folder, sides, folder / "mm2.properties")
        for name, rights in GIVEN.items():
            for right in rights:
                world.allow(sides[name], *right)
        world.file.write_text(_text(world))
        stack.callback(world.stop)
        yield world


def _text(world: World) -> str:
    extra = dict(OF_MIRROR)
    for name, side in world.sides.items():
        extra |= file_settings(ALIASES[name], side.login.of_mirror)
    return properties(world.source.for_mirror, world.target.for_mirror, "[tr]-.*", extra)
