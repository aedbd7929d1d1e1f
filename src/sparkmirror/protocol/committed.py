"""What a consumer group has committed for one partition."""

from __future__ import annotations

from typing import NamedTuple

Partition = tuple[str, int]


class Committed(NamedTuple):
    """`offset` is the next one to read. `leader_epoch` -1: none is known."""

    offset: int
    metadata: str = ""
    leader_epoch: int = -1
