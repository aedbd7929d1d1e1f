"""Processes of the mirror that die, or stand still for longer than every timeout."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence

import psutil

from tests.chaos.driver import freeze, wake
from tests.chaos.fault import RESTART_S, Fault, Kind
from tests.chaos.world import LEASE_S, LONGER_S, World

Choose = Callable[[World, random.Random], Sequence[psutil.Process]]
FROZEN_LIMIT_S = 2.5 * LEASE_S
GIVE_UP_S = 8 * LEASE_S


class Killed(Fault):
    """SIGKILL. If the driver has ended, it is started again, as whoever watches over it would do."""

    def __init__(self, world: World, dice: random.Random, choose: Choose) -> None:
        super().__init__(world, dice)
        self._choose = choose

    def begin(self) -> None:
        self.world.driver.tree()  # whose children are known is found when it is gone
        victims = self._choose(self.world, self.dice)
        for victim in victims:
            victim.kill()
        psutil.wait_procs(victims, timeout=10)

    def hold(self) -> None:
        self.last(0.5, 1.5)  # until a driver that ends with its JVM has done so

    def end(self) -> None:
        if not self.world.driver.is_alive:
            self.world.driver.restart()


class Frozen(Fault):
    """SIGSTOP and, after longer than every timeout, SIGCONT."""

    def __init__(self, world: World, dice: random.Random, choose: Choose) -> None:
        super().__init__(world, dice)
        self._choose = choose
        self.victims: Sequence[psutil.Process] = ()

    def begin(self) -> None:
        self.victims = self._choose(self.world, self.dice)
        freeze(self.victims)

    def hold(self) -> None:
        self.last(LONGER_S, LONGER_S + 2)

    def end(self) -> None:
        wake(self.victims)
        if not self.world.driver.is_alive:
            self.world.driver.restart()


class FrozenWorker(Frozen):
    """Others must copy its partitions while it stands still, so the time counts from the beginning."""

    def begin(self) -> None:
        super().begin()
        self._began = time.monotonic()

    def hold(self) -> None:
        self.last(0.2, 0.5)  # so that there is something to copy
        self.world.comparison.note_ends()
        try:
            self.world.comparison.await_copied(GIVE_UP_S)
        except AssertionError:
            return
        self.recovered_s = time.monotonic() - self._began


def _driver(world: World, _: random.Random) -> Sequence[psutil.Process]:
    return [psutil.Process(world.driver.process.pid)]


def _jvm(world: World, _: random.Random) -> Sequence[psutil.Process]:
    return [world.driver.jvm()]


def _worker(world: World, dice: random.Random) -> Sequence[psutil.Process]:
    return [dice.choice(world.workers())]


def _workers(world: World, _: random.Random) -> Sequence[psutil.Process]:
    return world.workers()


def _daemon(world: World, _: random.Random) -> Sequence[psutil.Process]:
    return world.driver.daemons()


def _all(world: World, _: random.Random) -> Sequence[psutil.Process]:
    return world.driver.tree()


def _killed(name: str, text: str, choose: Choose, limit_s: float = 10.0, worlds: tuple[str, ...] = ()) -> Kind:
    return Kind(
        name=f"{name}-killed",
        text=f"SIGKILL for {text}",
        make=lambda world, dice: Killed(world, dice, choose),
        limit_s=limit_s,
        worlds=worlds or ("one", "three", "spark"),
    )


def _frozen(name: str, text: str, choose: Choose, limit_s: float = 10.0) -> Kind:
    return Kind(
        name=f"{name}-frozen",
        text=f"SIGSTOP for {text}, SIGCONT after every timeout",
        make=lambda world, dice: Frozen(world, dice, choose),
        limit_s=limit_s,
    )


IN_DRIVER = ("one", "three")  # Python workers of a Spark cluster are not the driver's children

KINDS = [
    _killed("driver", "the driver; it is started again", _driver, RESTART_S),
    _killed("jvm", "Spark's JVM", _jvm, RESTART_S),
    _killed("mirror", "all processes of the mirror at once", _all, RESTART_S),
    _killed("worker", "one Python worker", _worker, worlds=IN_DRIVER),
    _killed("workers", "all Python workers", _workers, worlds=IN_DRIVER),
    _killed("daemon", "the parent of the Python workers", _daemon, worlds=IN_DRIVER),
    _frozen("driver", "the driver", _driver),
    _frozen("jvm", "Spark's JVM", _jvm),
    _frozen("mirror", "all processes of the mirror", _all),
    Kind(
        name="worker-frozen",
        text="SIGSTOP for one Python worker",
        make=lambda world, dice: FrozenWorker(world, dice, _worker),
        limit_s=FROZEN_LIMIT_S,
        worlds=IN_DRIVER,
    ),
]
