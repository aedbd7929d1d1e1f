"""Flows that can't start. The mirror is begun when the trouble is there."""

from __future__ import annotations

from confluent_kafka.admin import AclOperation

from sparkmirror.embedded import MirrorMaker2
from tests.chaos.side import await_true
from tests.support.mirror_process import properties
from tests.truth.trouble import Must, Trouble, told_by
from tests.truth.views import FILE, PLAN, STATUS
from tests.truth.world import ALL, NEIGHBOUR, PREFIXED, TOPIC, World

FACTOR = "offset.storage.replication.factor"
CLAIMS = "mm2-claims.A.internal"
WITHOUT_ALTERING = (AclOperation.READ, AclOperation.WRITE, AclOperation.CREATE, AclOperation.DESCRIBE_CONFIGS)
ONE_BROKER = {
    f"{name}.replication.factor": "1"
    for name in ("status.storage", "config.storage", "checkpoints.topic", "heartbeats.topic", "offset-syncs.topic")
} | {"emit.heartbeats.enabled": "false", "offset-syncs.topic.location": "target"}
NEIGHBOUR_COPY = f"A.{NEIGHBOUR}"
FAILING = told_by(
    file=Must("failing", "unknown"),
    log=Must(),
    status=Must("not running"),
    doctor=Must("FAIL"),
)


class OfStart(Trouble):
    neighbours = ()
    begins_the_log = True

    def begin(self, world: World) -> None:
        """Until the driver has told anything: it begins with Spark."""
        world.stop()
        self.harm(world)
        world.start()
        self._before = self._copied(world)
        await_true(lambda: bool(world.running.status()), "the first status", 60)

    def harm(self, world: World) -> None:
        raise NotImplementedError

    def check_well(self, world: World) -> None:
        """The next record is copied. Whoever was killed just now may have copied more than it wrote down."""
        world.write(NEIGHBOUR)
        await_true(lambda: self._copied(world) > self._before, "the next record", 90)

    def _copied(self, world: World) -> int:
        there = NEIGHBOUR_COPY in world.target.leaders()
        return world.end(world.target, (NEIGHBOUR_COPY, 0)) if there else -1


class TooManyReplicas(OfStart):
    """Of the internal topics, which are not there yet."""

    name, row = "replication factor too large", "... replication.factor is 3, but cluster B has 1 live broker"
    cause = rf"{FACTOR}( is | = )3"
    cure = r"set (it|[\w.]+) to 1"
    must = FAILING | told_by(plan=Must("refused"))

    def harm(self, world: World) -> None:
        text = world.file.read_text()
        world.file.write_text(text.replace(f"{FACTOR} = 1", f"{FACTOR} = 3"))


class ClaimsAge(OfStart):
    """The claim topic deletes by age, and the mirror may not alter it."""

    name, row = "claim topic deletes by age", "cleanup.policy=delete, by which it loses what it must keep"
    cause = "cleanup.policy=delete, by which it loses what it must keep"
    cure = r"kafka-configs\.sh --bootstrap-server [^|;]*[^|; ]"
    must = FAILING | {STATUS: Must("running|not running")}
    silent = dict.fromkeys((PLAN,), "it says that a run sets the policy, which is so where the mirror may do that")

    def harm(self, world: World) -> None:
        for operation in WITHOUT_ALTERING:
            world.allow(world.target, TOPIC, "mm2-", PREFIXED, operation)
        world.take(world.target, TOPIC, "mm2-", PREFIXED, ALL)
        world.target.configure(CLAIMS, {"cleanup.policy": "delete"})

    def check_well(self, world: World) -> None:
        super().check_well(world)
        world.allow(world.target, TOPIC, "mm2-", PREFIXED, ALL)


class Rival(OfStart):
    """A MirrorMaker 2 runs on the flow."""

    name, row = "MirrorMaker 2 runs", "a MirrorMaker 2 still mirrors A->B"
    cause = r"a MirrorMaker 2 still mirrors A->B \(connector MirrorSourceConnector in group A-mm2 of cluster B\)"
    cure = r"stop it"
    must = FAILING | {FILE: Must("waiting"), STATUS: Must("running|not running")} | told_by(plan=Must("refused"))

    def harm(self, world: World) -> None:
        text = properties(world.source.servers, world.target.servers, NEIGHBOUR, ONE_BROKER)
        self._mirrormaker = MirrorMaker2(text)
        self._mirrormaker.start()
        self._mirrormaker.wait_ready()

    def by_hand(self, world: World, said: str) -> None:
        self._mirrormaker.stop()


FIRST = (TooManyReplicas,)
KINDS = (ClaimsAge, Rival)
