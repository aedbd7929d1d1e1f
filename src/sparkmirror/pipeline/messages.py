"""What planners, tasks and the desk say to each other: a JSON array a line, the message's name and its fields.

    planner -> NextRound       waits until a round is due                <- RoundIs
    planner -> LeasesOf                                                  <- LeaseTexts
    task    -> Borrow          its clients' security settings            <- Lent
    task    -> TermOf          of rows, which need no lease              <- Term
    task    -> Ask             for its lease, again and again            <- Grant, when it is given something
                                                                         <- End: its successors wait, or it is void
    task    -> Told            receipts, as things happen
    task    -> Note            to be written behind so many `Told`s      <- Noted
    task    -> Done            where its partitions stand

The desk begins each connection with `Welcome`. A `Grant` counts from `at`, when the task asked by its own clock.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple


class Welcome(NamedTuple):
    pass


class NextRound(NamedTuple):
    query: str
    after: int


class RoundIs(NamedTuple):
    number: int


class LeasesOf(NamedTuple):
    number: int


class LeaseTexts(NamedTuple):
    texts: Sequence[str]


class Borrow(NamedTuple):
    owner: str


class Lent(NamedTuple):
    settings: Sequence[Sequence[str]] | None


class TermOf(NamedTuple):
    flow: str


class Term(NamedTuple):
    seconds: float


class Ask(NamedTuple):
    lease_id: str
    at: float
    load: float | None = None


class Grant(NamedTuple):
    """`added`: topic, partition, and where it stands if that is known. `as_left`: those that are as that says."""

    added: Sequence[Sequence[Any]]
    as_left: Sequence[Sequence[Any]]
    seconds: float
    at: float


class End(NamedTuple):
    pass


class Told(NamedTuple):
    receipts: Sequence[Sequence[Any]]


class Note(NamedTuple):
    lease_id: str
    after: int
    topic: str
    partition: int
    standing: Sequence[Any]


class Noted(NamedTuple):
    """`why_not`: empty if it was written."""

    why_not: str


class Done(NamedTuple):
    """Topic, partition, and where it stands; topic and partition of what was sent and not answered."""

    positions: Sequence[Sequence[Any]]
    under_way: Sequence[Sequence[Any]]


Message = (
    Welcome | NextRound | RoundIs | LeasesOf | LeaseTexts | Borrow | Lent | TermOf | Term | Ask | Grant | End | Told
    | Note | Noted | Done
)  # fmt: skip
_KINDS: dict[str, Any] = {kind.__name__: kind for kind in Message.__args__}


def to_line(message: Message) -> bytes:
    return json.dumps([type(message).__name__, *message], separators=(",", ":")).encode() + b"\n"


def read_line(line: bytes) -> Message:
    """ValueError: it is none."""
    said = json.loads(line)
    if not isinstance(said, list) or not said or not isinstance(said[0], str) or said[0] not in _KINDS:
        raise ValueError("no message of the desk's")
    try:
        message: Message = _KINDS[said[0]](*said[1:])
    except TypeError as error:
        raise ValueError(str(error)) from None
    return message
