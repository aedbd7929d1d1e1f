"""What every fault is: how it is brought about, when it is over, and what the mirror owes after it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.chaos.plan import Traits
from tests.chaos.side import SOURCE, TARGET, Side
from tests.chaos.world import World

RECOVER_S, RESTART_S = 10.0, 60.0
ANYWHERE = ("one", "three", "spark")
MIRROR = "mirror"


class Fault:
    """`prepare`, `begin`, `hold`, `end`, then the sides are usable again, all is copied, and `judge`."""

    recovered_s: float | None = None  # measured by the fault itself, from its beginning
    lasts_until_said = False  # then it outlasts others: a mirror may not see both

    def __init__(self, world: World, dice: random.Random) -> None:
        self.world, self.dice = world, dice

    def prepare(self) -> None:
        """What must be there before: a topic of the fault's own."""

    def begin(self) -> None:
        raise NotImplementedError

    def hold(self) -> None:
        """How long it lasts."""

    def end(self) -> None:
        """What an operator would do: the fault's cause is taken away."""

    def judge(self) -> Iterator[str]:
        """What is wrong beside the traffic's topics: facts that were not named, records of the fault's own topic."""
        yield from ()

    def last(self, shortest_s: float, longest_s: float) -> None:
        """The fault is its length: there is nothing to be awaited."""
        time.sleep(self.dice.uniform(shortest_s, longest_s))


class OfSide(Fault):
    def __init__(self, world: World, dice: random.Random, side: str) -> None:
        super().__init__(world, dice)
        self.side: Side = world.side(side)


@dataclass(frozen=True, kw_only=True)
class Kind:
    """`text`: what happens, for the table. `missing`: why it can't be made on this machine, or nothing."""

    name: str
    text: str
    make: Callable[[World, random.Random], Fault]
    worlds: tuple[str, ...] = ANYWHERE
    touches: frozenset[str] = frozenset({MIRROR})
    limit_s: float = RECOVER_S
    missing: Callable[[], str] = lambda: ""

    @property
    def traits(self) -> Traits:
        return Traits(name=self.name, worlds=self.worlds, touches=self.touches)


def on_each_side(
    name: str,
    text: str,
    make: Callable[[World, random.Random, str], Fault],
    *,
    worlds: tuple[str, ...] = ANYWHERE,
    limit_s: float = RECOVER_S,
    missing: Callable[[], str] = lambda: "",
) -> list[Kind]:
    """`text` with {side}."""

    def on(side: str) -> Callable[[World, random.Random], Fault]:
        return lambda world, dice: make(world, dice, side)

    return [
        Kind(
            name=f"{name}-{side}",
            text=text.format(side=side),
            make=on(side),
            worlds=worlds,
            touches=frozenset({side}),
            limit_s=limit_s,
            missing=missing,
        )
        for side in (SOURCE, TARGET)
    ]
