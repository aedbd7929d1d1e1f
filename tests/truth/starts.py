"""Flows that can't start. Each has a mirror of its own, begun when the trouble is there."""

from __future__ import annotations

from confluent_kafka.admin import AclOperation

from sparkmirror.embedded import MirrorMaker2
from tests.chaos.side import await_true
from tests.support.mirror_process import properties
from tests.truth.hands import side_of
from tests.truth.trouble import Must, Trouble
from tests.truth.views import DOCTOR, FILE, LOG, PLAN, STATUS
from tests.truth.world import NEIGHBOUR, TOPIC, World

__all__ = ["TOPIC", "AclOperation", "side_of"]


class OfStart(Trouble):
    neighbours = ()

    def begin(self, world: World) -> None:
        world.stop()
        self.harm(world)
        world.start()
        await_true(lambda: bool(world.running.status()), "the first status", 60)

    def harm(self, world: World) -> None:
        raise NotImplementedError

    def check_well(self, world: World) -> None:
        world.write(NEIGHBOUR)
        world.await_copied(NEIGHBOUR, 1, 90)


class TooManyReplicas(OfStart):
    """The internal topics are not there yet, and can't be made."""

    name = "replication factor too large"
    cause = "offset.storage.replication.factor( is | = )3"
    cure = r"set (it|[\w.]+) to 1"
    must = {
        FILE: Must("failing", "unknown"),
        LOG: Must(),
        STATUS: Must("not running"),
        DOCTOR: Must("FAIL"),
        PLAN: Must("refused"),
    }

    def harm(self, world: World) -> None:
        for name in [name for name in world.target.leaders() if name.startswith("mm2-")]:
            world.target.delete(name)
        text = world.file.read_text()
        world.file.write_text(
            text.replace("offset.storage.replication.factor = 1", "offset.storage.replication.factor = 3")
        )


class ClaimsAge(OfStart):
    """The claim topic deletes by age, and the mirror may not alter it."""

    name = "claim topic deletes by age"
    cause = "cleanup.policy=delete, by which it loses what it must keep"
    cure = r"kafka-configs\.sh --bootstrap-server [^|;]*[^|; ]"
    must = TooManyReplicas.must | {FILE: Must("failing")}


class Rival(OfStart):
    """A MirrorMaker 2 runs on the flow."""

    name = "MirrorMaker 2 runs"
    cause = r"a MirrorMaker 2 still mirrors A->B \(1 worker in group A-mm2 of cluster B\)"
    cure = r"stop it"
    must = {
        FILE: Must("waiting"),
        LOG: Must(),
        STATUS: Must("running|not running"),
        DOCTOR: Must("FAIL"),
        PLAN: Must("refused"),
    }

    def harm(self, world: World) -> None:
        text = properties(world.source.servers, world.target.servers, NEIGHBOUR, ONE_BROKER)
        self._mirrormaker = MirrorMaker2(text)
        self._mirrormaker.start()
        self._mirrormaker.wait_ready()

    def by_hand(self, world: World, said: str) -> None:
        self._mirrormaker.stop()


ONE_BROKER = {
    f"{name}.replication.factor": "1"
    for name in ("status.storage", "config.storage", "checkpoints.topic", "heartbeats.topic", "offset-syncs.topic")
} | {"emit.heartbeats.enabled": "false", "offset-syncs.topic.location": "target"}
ALL = (TooManyReplicas, Rival)
