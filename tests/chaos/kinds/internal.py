"""The topics in which the mirror keeps its state are deleted, emptied, or hold what others wrote."""

from __future__ import annotations

import random

from sparkmirror.topology.storage import Storage
from tests.chaos.fault import RESTART_S, Fault, Kind
from tests.chaos.side import TARGET
from tests.chaos.world import LONGER_S, World
from tests.support.command import run_command

STORAGE = Storage.named("A")
TOPICS = {"claims": STORAGE.claims, "progress": STORAGE.progress, "status": STORAGE.status}
GARBAGE = (b"", b"\x00", b"not json {", b"[1, 2]", b'{"offset": "x"}', b"\xff" * 100)


class OfInternalTopic(Fault):
    """`restarts`: what the driver still knows is lost as well."""

    def __init__(self, world: World, dice: random.Random, topic: str, *, restarts: bool = False) -> None:
        super().__init__(world, dice)
        self._topic, self._restarts = topic, restarts

    def hold(self) -> None:
        """What was read before must not do: a lease that was given still lasts."""
        self.last(LONGER_S, LONGER_S + 2)

    def end(self) -> None:
        if self._restarts or not self.world.driver.is_alive:
            self.world.driver.restart()


class Deleted(OfInternalTopic):
    def begin(self) -> None:
        self.world.target.delete(self._topic)


class Restored(Fault):
    """All of them are lost while no driver runs; the state that was exported before is imported."""

    def begin(self) -> None:
        driver, file = self.world.driver, str(self.world.folder / "state")
        _run("state", "export", str(driver.file), "--out", file)
        driver.kill()
        for topic in TOPICS.values():
            self.world.target.delete(topic)
        _run("state", "import", str(driver.file), "--in", file)

    def end(self) -> None:
        self.world.driver.start()


def _run(*words: str) -> None:
    done = run_command(*words)
    assert done.returncode == 0, done.stdout + done.stderr


class Trimmed(OfInternalTopic):
    def begin(self) -> None:
        target = self.world.target
        places = [(self._topic, partition) for partition in target.leaders()[self._topic]]
        # The topic is compacted, and of such a one records can't be deleted.
        target.configure(self._topic, {"cleanup.policy": "compact,delete"})
        target.trim(target.ends(places))
        target.configure(self._topic, {"cleanup.policy": "compact"})


class Foreign(OfInternalTopic):
    def begin(self) -> None:
        target = self.world.target
        for partition in target.leaders()[self._topic]:
            for key in GARBAGE:
                target.write(self._topic, [self.dice.choice(GARBAGE)], partition, key)


def _kind(name: str, text: str, make: type[OfInternalTopic], topic: str, *, restarts: bool = False) -> Kind:
    more = ", and the driver is started again" if restarts else ""
    return Kind(
        name=f"{topic}-{name}{'-restart' if restarts else ''}",
        text=text.format(topic=TOPICS[topic].replace(".A.", ".<source>.")) + more,
        make=lambda world, dice: make(world, dice, TOPICS[topic], restarts=restarts),
        touches=frozenset({TARGET, "mirror"}),
        limit_s=RESTART_S if restarts else 10.0,
    )


KINDS = [
    *(_kind("deleted", "`{topic}` is deleted", Deleted, topic) for topic in TOPICS),
    *(_kind("trimmed", "all records of `{topic}` are removed", Trimmed, topic) for topic in TOPICS),
    *(_kind("foreign", "others write into `{topic}`", Foreign, topic) for topic in TOPICS),
    _kind("deleted", "`{topic}` is deleted", Deleted, "progress", restarts=True),
    Kind(
        name="state-restored",
        text="all of these topics are lost while the mirror is down, then `sparkmirror state import`",
        make=Restored,
        touches=frozenset({TARGET, "mirror"}),
        limit_s=RESTART_S,
    ),
    *(_kind("foreign", "others write into `{topic}`", Foreign, topic, restarts=True) for topic in TOPICS),
]
