"""What a network does to the connections between the mirror and one side's brokers."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.chaos.fault import Kind, OfSide, on_each_side
from tests.chaos.proxy import ANSWERS, REQUESTS, Proxy
from tests.chaos.world import LONGER_S, World

DELAY_S = 0.3


class OfNetwork(OfSide):
    """Done to each proxy of the side, and healed after a while."""

    def __init__(
        self, world: World, dice: Random, side: str, harm: Callable[[Proxy], None], seconds: tuple[float, float]
    ) -> None:
        super().__init__(world, dice, side)
        self._harm, self._seconds = harm, seconds

    def begin(self) -> None:
        for proxy in self.side.proxies:
            self._harm(proxy)

    def hold(self) -> None:
        self.last(*self._seconds)

    def end(self) -> None:
        for proxy in self.side.proxies:
            proxy.heal()


def _kinds(name: str, text: str, harm: Callable[[Proxy], None], seconds: tuple[float, float]) -> list[Kind]:
    return on_each_side(name, text, lambda world, dice, side: OfNetwork(world, dice, side, harm, seconds))


KINDS = [
    *_kinds("cut", "all connections to the {side} end", Proxy.cut, (0.0, 0.0)),
    *_kinds("refused", "connections to the {side} end, and new ones are refused for seconds", Proxy.refuse, (1, 5)),
    *_kinds(
        "black-hole",
        "nothing reaches the {side} and nothing comes back for longer than every timeout, then what was sent arrives",
        lambda proxy: proxy.hold(REQUESTS, ANSWERS),
        (LONGER_S, LONGER_S + 1),
    ),
    *_kinds(
        "one-way",
        "requests reach the {side}, its answers come after every timeout",
        lambda proxy: proxy.hold(ANSWERS),
        (LONGER_S, LONGER_S + 1),
    ),
    *_kinds("slow", f"each piece to and from the {{side}} takes {DELAY_S:g} s", lambda p: p.delay(DELAY_S), (4, 6)),
    *_kinds("split", "answers of the {side} break off in the middle, with their connections", Proxy.split, (2, 4)),
]
