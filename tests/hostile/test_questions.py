"""Nonsense in answers of the control plane: a named error or an answer, soon, and not by asking again and again."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from sparkmirror.errors import SparkmirrorError
from sparkmirror.net import transactions
from sparkmirror.net.cluster import Cluster, Leader
from sparkmirror.net.configs import describe_topic_configs
from sparkmirror.net.coordinators import find_coordinators
from sparkmirror.net.group_offsets import commit_group_offsets, delete_group_offsets, fetch_group_offsets
from sparkmirror.net.groups import delete_groups, describe_groups, list_groups
from sparkmirror.net.offsets import (
    LATEST,
    describe_open_transactions,
    describe_producer,
    fetch_epoch_ends,
    list_offsets,
)
from sparkmirror.net.transactions import EmptyTransactions
from sparkmirror.offsets.claims import draw_producer_id
from sparkmirror.protocol.committed import Committed
from tests.hostile.fake_broker import FakeBroker, Tell
from tests.hostile.lies import I16, I32, I64, MOST_I32, MOST_I64
from tests.hostile.proxy import COORDINATOR, RESPONSES
from tests.support.leases import address
from tests.support.memory import grown_bytes

GROUP, PLACE = "g", ("t", 0)
LEADERS = {PLACE: Leader(1, 0)}
LONGEST_S = 6.0
MOST_QUESTIONS = 300
MOST_BYTES = 60 << 20

_HUGE = b"\xff\xff\xff\xff\x07"


@dataclass(frozen=True)
class Question:
    name: str
    api_key: int
    ask: Callable[[Cluster], Any]
    after: tuple[int, ...] = ()  # kinds that are answered well before


QUESTIONS = [
    Question("metadata", 3, lambda c: c.fetch_metadata()),
    Question("metadata of some", 3, lambda c: c.fetch_metadata(["t"])),
    Question("coordinators", 10, lambda c: find_coordinators(c, [GROUP, "h"])),
    Question("groups", 16, lambda c: list_groups(c, deadline_s=0.5)),
    Question("described groups", 15, lambda c: describe_groups(c, [GROUP], deadline_s=0.5), (COORDINATOR,)),
    Question("deleted groups", 42, lambda c: delete_groups(c, [GROUP], deadline_s=0.5), (COORDINATOR,)),
    Question("committed offsets", 9, lambda c: fetch_group_offsets(c, [GROUP], deadline_s=0.5), (COORDINATOR,)),
    Question("offsets to commit", 8, lambda c: commit_group_offsets(c, {GROUP: {PLACE: Committed(5)}}, deadline_s=0.5), (COORDINATOR,)),
    Question("offsets to delete", 47, lambda c: delete_group_offsets(c, GROUP, [PLACE], deadline_s=0.5), (COORDINATOR,)),
    Question("ends of logs", 2, lambda c: list_offsets(c, LEADERS, LATEST)),
    Question("ends of epochs", 23, lambda c: fetch_epoch_ends(c, LEADERS, {PLACE: 0})),
    Question("producers", 61, lambda c: describe_producer(c, LEADERS, 7)),
    Question("open transactions", 61, lambda c: describe_open_transactions(c, LEADERS)),
    Question("a producer id", 22, draw_producer_id),
    Question("a transaction's coordinator", 10, lambda c: EmptyTransactions(c, "x").begin()),
    Question("a transaction's producer", 22, lambda c: EmptyTransactions(c, "x").begin(), (COORDINATOR,)),
    Question("configurations", 32, lambda c: describe_topic_configs(c, ["t"])),
]  # fmt: skip


def _absurd(number: int) -> Callable[[int, int], Any]:
    """A message whose numbers are all this one, as far as they fit, whose lists have one entry and texts a letter."""

    def tell(api_key: int, version: int) -> Any:
        kind = RESPONSES[api_key]
        return kind(**_fill(kind._struct, version, number))

    return tell


def _fill(struct_field: Any, version: int, number: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for field in struct_field.fields.values():
        if not field.for_version_q(version):
            continue
        if field.is_struct_array():
            out[field.name] = [field.data_class(**_fill(field, version, number))]
        elif field.is_struct():
            out[field.name] = field.data_class(**_fill(field, version, number))
        elif field.is_array():
            out[field.name] = []
        else:
            out[field.name] = _value(field.type_str, number)
    return out


def _value(kind: str, number: int) -> Any:
    bits = {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint16": 16}.get(kind)
    if bits is not None:
        return max(-(1 << (bits - 1)), min((1 << (bits - 1)) - 1, number))
    return {"string": "x", "bytes": b"x", "bool": True, "float64": 1.0}.get(kind)


LIES: dict[str, Callable[[int, int], Any]] = {
    "nothing": lambda *_: b"",
    "zeros": lambda *_: bytes(2000),
    "all bits": lambda *_: b"\xff" * 2000,
    "2^31 entries": lambda *_: I32.pack(0) + I32.pack(MOST_I32) + bytes(50),
    "2^31 entries, compact": lambda *_: I32.pack(0) + _HUGE + bytes(50),
    "2^31 entries behind an error code": lambda *_: I32.pack(0) + I16.pack(0) + _HUGE + I32.pack(MOST_I32) + bytes(50),
    "nested lists": lambda *_: I32.pack(0) + b"\x7f" * 3000,
    "text that is none": lambda *_: I32.pack(0) + b"\2\2\xff" * 500 + I64.pack(-1),
    "absurd numbers": _absurd(MOST_I64),
    "absurd negative numbers": _absurd(-MOST_I64),
    "another's answers": _absurd(0),
    "not the coordinator, always": _absurd(16),
}


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_nonsense_is_an_answer_or_a_named_error(question: Question, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "DEADLINE_S", 0.5)
    for name, lie in LIES.items():
        answers: dict[int, Tell] = {question.api_key: functools.partial(lie, question.api_key)}
        answers |= dict.fromkeys(question.after, _coordinator)
        began = time.monotonic()
        with (
            FakeBroker(answers) as broker,
            Cluster(address(broker.server)) as cluster,
            grown_bytes() as grown,
            contextlib.suppress(SparkmirrorError),
        ):
            question.ask(cluster)
        assert time.monotonic() - began < LONGEST_S, name
        assert sum(broker.asked.values()) < MOST_QUESTIONS, name
        assert grown() < MOST_BYTES, name


def _coordinator(version: int) -> Any:
    """Node 1, of any key."""
    kind = RESPONSES[COORDINATOR]
    told = kind(**_fill(kind._struct, version, 0))
    told.node_id = 1
    for one in told.coordinators or ():
        one.node_id, one.key = 1, GROUP
    return told
