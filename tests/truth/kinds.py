"""All kinds of trouble, in acts: those of an act are there at the same time. With the first the mirror begins."""

from __future__ import annotations

from tests.truth import clusters, logs, partitions, starts
from tests.truth.trouble import Trouble


def all_acts() -> list[list[Trouble]]:
    whole: list[Trouble] = [*clusters.ALL, *(kind() for kind in starts.KINDS)]
    return [
        [kind() for kind in starts.FIRST],
        [kind() for kind in partitions.ONES],
        [kind() for kind in logs.SOURCES],
        [kind() for kind in logs.TARGETS],
        *([trouble] for trouble in whole),
    ]


def all_troubles() -> list[Trouble]:
    return [trouble for act in all_acts() for trouble in act]
