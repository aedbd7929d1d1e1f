"""Who gives a lease, as the copy sees it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sparkmirror.copy.receipt import Receipt
from sparkmirror.topology.standing import Standing

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Word:
    """The lease may last `until` then, by this process's monotonic clock, and may copy what is `added`, too.

    With each partition comes where a predecessor left off, if that is known. `as_left`: the predecessor said it last of
    all, and nobody has written since. `ends`: it must end.
    """

    until: float
    added: Mapping[Place, Standing | None] = field(default_factory=dict)
    as_left: frozenset[Place] = frozenset()
    ends: bool = False

    @classmethod
    def end(cls) -> Word:
        return cls(0.0, ends=True)


class Grantor(Protocol):
    """Readable when it has something to say.

    `ask`: for more time, which counts from now; `load` is the task's since it last did (`control/demand.py`). `hear`:
    what was said, None if nothing was. `tell_done` gets the positions as soon as nothing more is sent, so that a
    successor can go on while this one closes its connections, and the places of what was sent and may still be written:
    nobody goes on there before the lease's time is over.
    """

    def fileno(self) -> int: ...
    def ask(self, load: float | None = None) -> None: ...
    def hear(self) -> Word | None: ...
    def tell_receipts(self, receipts: Sequence[Receipt]) -> None: ...
    def tell_done(self, positions: Mapping[Place, Standing], under_way: Collection[Place]) -> None: ...
