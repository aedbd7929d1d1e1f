"""Two and three drivers of one file: the newest leads, and when it is gone another takes over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.chaos.driver import Driver, freeze, wake
from tests.chaos.fault import Fault, Kind
from tests.chaos.world import START_S

LEADS = "leads, with"


class OfDrivers(Fault):
    others = 1

    def prepare(self) -> None:
        """The others start and lead, each in its turn, before this or another fault begins."""
        self.first = self.world.driver
        self.start_more()

    def start_more(self) -> None:
        self.more: Sequence[Driver] = [self.world.start_driver() for _ in range(self.others)]
        for driver in self.more:
            driver.await_log(LEADS, START_S)

    def judge(self) -> Iterator[str]:
        """One is left for the next fault."""
        alive = [driver for driver in self.world.drivers if driver.is_alive]
        if not alive:
            yield "no driver is alive"
        for driver in [*self.world.drivers]:
            if driver not in alive[:1]:
                self.world.dismiss(driver)


class FirstKilled(OfDrivers):
    def begin(self) -> None:
        self.world.dismiss(self.first)


class LeaderKilled(OfDrivers):
    """The first stands by, and must take over."""

    def begin(self) -> None:
        for driver in self.more:
            self.world.dismiss(driver)


class FirstWoken(OfDrivers):
    """The first stands still, the second takes over and copies, the first wakes up in the middle of its work."""

    def prepare(self) -> None:
        self.first = self.world.driver
        self._frozen = self.first.tree()
        freeze(self._frozen)
        self.start_more()
        self.world.await_copying()

    def begin(self) -> None:
        wake(self._frozen)

    def hold(self) -> None:
        self.last(2, 4)

    def judge(self) -> Iterator[str]:
        if not self.first.is_alive:
            yield "the driver that woke up ended by itself"
        self.world.dismiss(self.first)
        yield from super().judge()


class ThreeDrivers(OfDrivers):
    """Two more start at once; then any two of the three are killed."""

    others = 2

    def begin(self) -> None:
        for driver in self.dice.sample(self.world.drivers, 2):
            self.world.dismiss(driver)


IN_DRIVER = ("one", "three")  # a Spark cluster has no room for a second application

KINDS = [
    Kind(
        name="first-driver-killed",
        text="a second driver takes over, the first is killed",
        make=FirstKilled,
        worlds=IN_DRIVER,
    ),
    Kind(
        name="leading-driver-killed",
        text="of two drivers the leading one is killed",
        make=LeaderKilled,
        worlds=IN_DRIVER,
    ),
    Kind(
        name="driver-woken",
        text="a driver hangs, another takes over, the first wakes up",
        make=FirstWoken,
        worlds=IN_DRIVER,
    ),
    Kind(name="three-drivers", text="of three drivers any two are killed", make=ThreeDrivers, worlds=IN_DRIVER),
]
