"""How a comparison is dealt out to tasks: large partitions in pieces, or some random stretches of each. Pure."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace

from sparkmirror.offsets.offset_map import OffsetMap
from sparkmirror.verify.task import VerifyTask

PIECES_A_SLOT = 6
SMALLEST_PIECE = 20_000  # offsets
SAMPLE_OFFSETS = 10_000

Partition = tuple[VerifyTask, OffsetMap]


def split_tasks(partitions: Sequence[Partition], slots: int) -> list[VerifyTask]:
    """Pieces of about one size, the largest first; compacted partitions stay whole, since keys are spread over them."""
    total = sum(task.end - task.first for task, _ in partitions)
    size = max(SMALLEST_PIECE, total // (slots * PIECES_A_SLOT))
    tasks = [piece for task, known in partitions for piece in _cut(task, known, size)]
    return sorted(tasks, key=lambda task: task.first - task.end)


def _cut(task: VerifyTask, known: OffsetMap, size: int) -> Iterable[VerifyTask]:
    count = 1 if task.by_key else max(1, (task.end - task.first) // size)
    edges = [task.first + (task.end - task.first) * i // count for i in range(1, count)]
    return _between(task, known, edges)


def _between(task: VerifyTask, known: OffsetMap, edges: Sequence[int]) -> Iterable[VerifyTask]:
    """Cut at source offsets. What the target has behind the source's end belongs to the last piece."""
    rest = task
    for edge in edges:
        at = known.to_target(edge)
        if at is None or not rest.target_first <= at.offset <= rest.target_end:
            continue
        yield replace(rest, end=edge, target_end=at.offset)
        rest = replace(rest, first=edge, target_first=at.offset)
    yield rest


def sample_tasks(partitions: Sequence[Partition], count: int, seed: int) -> list[VerifyTask]:
    """`count` random stretches of each partition; of a compacted one all, since no stretch of it stands for itself."""
    dice = random.Random(seed)
    tasks = []
    for task, known in partitions:
        room = task.end - task.first - SAMPLE_OFFSETS
        if task.by_key or room <= 0:
            tasks.append(task)
            continue
        for first in sorted(dice.randrange(room + 1) + task.first for _ in range(count)):
            pieces = list(_between(task, known, [first, first + SAMPLE_OFFSETS]))
            tasks += [piece for piece in pieces if piece.first == first]
    return tasks
