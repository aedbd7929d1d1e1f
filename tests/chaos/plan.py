"""Which fault comes when: all of it from the seed, so that a run can be stopped, taken up and repeated. Pure.

The plan is a row of laps. A lap has every kind once, and pairs of kinds that come at once. Steps of one world stand
together, since a world takes half a minute to build.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

PAIRS_OF_KINDS = 2  # one pair for so many kinds
TRIES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What a plan must know of a kind. Kinds that touch the same thing never come at once."""

    name: str
    worlds: tuple[str, ...]
    touches: frozenset[str]


@dataclass(frozen=True, slots=True)
class Step:
    """One fault, or several at once. `index` counts from the plan's first step."""

    index: int
    world: str
    kinds: tuple[str, ...]

    @property
    def name(self) -> str:
        return "+".join(self.kinds)


def plan_steps(seed: int, kinds: Sequence[Traits], count: int) -> list[Step]:
    """The first `count` steps; a longer plan of the same seed begins with them."""
    steps: list[Step] = []
    lap = 0
    while len(steps) < count:
        steps += [Step(len(steps) + place, *each) for place, each in enumerate(_plan_lap(seed, lap, kinds))]
        lap += 1
    return steps[:count]


def _plan_lap(seed: int, lap: int, kinds: Sequence[Traits]) -> Iterator[tuple[str, tuple[str, ...]]]:
    dice = random.Random(f"{seed} {lap}")
    groups: dict[str, list[tuple[str, ...]]] = {}
    for kind in kinds:
        groups.setdefault(dice.choice(kind.worlds), []).append((kind.name,))
    for _ in range(len(kinds) // PAIRS_OF_KINDS):
        if pair := _choose_pair(dice, kinds):
            world, names = pair
            groups.setdefault(world, []).append(names)
    worlds = sorted(groups)
    dice.shuffle(worlds)
    for world in worlds:
        dice.shuffle(groups[world])
        for names in groups[world]:
            yield world, names


def _choose_pair(dice: random.Random, kinds: Sequence[Traits]) -> tuple[str, tuple[str, ...]] | None:
    for _ in range(TRIES):
        one, two = dice.choice(kinds), dice.choice(kinds)
        shared = sorted(set(one.worlds) & set(two.worlds))
        if shared and not one.touches & two.touches:
            return dice.choice(shared), (one.name, two.name)
    return None


def choose_steps(steps: Sequence[Step], done: Collection[int], wanted: range | None) -> list[Step]:
    """Those of `wanted`, or all that are not done."""
    if wanted is not None:
        return [step for step in steps if step.index in wanted]
    return [step for step in steps if step.index not in done]
