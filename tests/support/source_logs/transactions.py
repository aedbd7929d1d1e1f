"""Logs full of transactions, by Kafka's own producer: a Python client is slower than the broker there."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sparkmirror.embedded.programs import JavaProgram
from tests.support.java_programs import start_program
from tests.support.kafka_client import create_topic

END_DEADLINE_S = 30.0
# The second compiler takes half of a small run's time from the broker, and does not pay off in a long one.
QUICK_COMPILER = ("-XX:TieredStopAtLevel=1",)


@dataclass
class OpenTransaction:
    """A transaction on partition 0 that holds back the last stable offset, until it is ended or its broker ends it.

    `close` leaves it open (for 15 minutes) and ends only the process of its producer, as a crash would.
    """

    records: int
    _program: JavaProgram

    def __enter__(self) -> OpenTransaction:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def commit(self) -> None:
        self._end("commit")

    def abort(self) -> None:
        self._end("abort")

    def close(self) -> None:
        self._program.close()

    def _end(self, how: Literal["commit", "abort"]) -> None:
        answer = json.loads(self._program.ask(how, END_DEADLINE_S))
        assert answer == {"ended": how}
        self.close()


@dataclass(frozen=True, slots=True)
class MadeTransactions:
    """Transactions and their records by partition; the values of the records begin with what became of them.

    `seconds` is without the start of the JVM.
    """

    committed: int
    aborted: int
    committed_records: dict[int, int]
    aborted_records: dict[int, int]
    seconds: float
    open: OpenTransaction | None = field(default=None, compare=False)

    @property
    def rate(self) -> float:
        """Transactions a second."""
        return (self.committed + self.aborted) / self.seconds


def make_transactions(
    servers: str,
    topic: str,
    *,
    partitions: int = 4,
    transactions: int = 200,
    producers: int = 8,
    records: int = 3,
    span: int = 2,
    aborted_share: float = 0.2,
    value_bytes: int = 100,
    leave_open: bool = False,
    seed: int = 0,
    config: Mapping[str, str] | None = None,
    deadline_s: float = 60.0,
) -> MadeTransactions:
    """`transactions` of `records` each, over `span` neighbouring partitions, by so many producers at once.

    32 producers are the quickest for 200,000 transactions. With `leave_open` one more, of `records` on partition 0,
    begins in the middle of the others and stays open.
    """
    create_topic(servers, topic, partitions, config=config)
    plan = {
        "bootstrap": servers,
        "topic": topic,
        "partitions": partitions,
        "transactions": transactions,
        "producers": producers,
        "records": records,
        "span": span,
        "aborted_share": aborted_share,
        "value_bytes": value_bytes,
        "leave_open": leave_open,
        "seed": seed,
        "id": f"make-{uuid.uuid4()}",
    }
    program = start_program("MakeTransactions", json.dumps(plan), flags=QUICK_COMPILER)
    try:
        made = json.loads(program.await_line(deadline_s))
    except BaseException:
        program.close()
        raise
    if not leave_open:
        program.close()
    return _parse_made(made, OpenTransaction(records, program) if leave_open else None)


def _parse_made(made: dict[str, Any], opened: OpenTransaction | None) -> MadeTransactions:
    return MadeTransactions(
        committed=made["committed"],
        aborted=made["aborted"],
        committed_records=dict(enumerate(made["committed_records"])),
        aborted_records=dict(enumerate(made["aborted_records"])),
        seconds=made["seconds"],
        open=opened,
    )
