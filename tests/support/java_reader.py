"""What Kafka's own consumer sees of logs: a JVM that stays, since its start takes longer than most reads."""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from tests.support.java_programs import start_program

Isolation = Literal["read_committed", "read_uncommitted"]
ISOLATIONS: tuple[Isolation, Isolation] = ("read_committed", "read_uncommitted")

BLOCK = 4096  # offsets that share a digest, as in ReadLog.java
DEADLINE_S = 60.0
START_S = 20.0


@dataclass(frozen=True, slots=True)
class LogRecord:
    """All that a consumer sees of a record. The timestamp's type is `CreateTime` or `LogAppendTime`."""

    offset: int
    timestamp: int
    timestamp_type: str
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True, slots=True)
class Latest:
    """The last record of a key; the digest is over all of its fields, offset included."""

    offset: int
    digest: str
    is_tombstone: bool


@dataclass(frozen=True, slots=True)
class PartitionLog:
    """A partition as one isolation level shows it: `end` is the last stable offset under read_committed.

    `digest` is over all fields of all records in order, `blocks` has one for each range of offsets with records:
    number n is of the offsets from n * BLOCK on. `records` is empty where only digests were asked for, `latest`
    where it was not asked for.
    """

    beginning: int
    end: int
    count: int
    first: int | None
    last: int | None
    digest: str
    blocks: dict[int, str]
    records: tuple[LogRecord, ...]
    latest: dict[bytes, Latest]


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A topic to be read. No `partitions`: all. `first` and `end` limit the offsets; `ignoring` names fields
    (timestamp, timestamp_type) that the digests leave out."""

    bootstrap: str
    topic: str
    isolation: Isolation = "read_committed"
    partitions: tuple[int, ...] = ()
    first: int | None = None
    end: int | None = None
    rows: bool = True
    latest: bool = False
    ignoring: tuple[str, ...] = ()


class JavaReader:
    def __init__(self) -> None:
        self._program = start_program("ReadLog")

    def __enter__(self) -> JavaReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._program.close()

    def read(
        self,
        bootstrap: str,
        topic: str,
        isolation: Isolation = "read_committed",
        partitions: Collection[int] = (),
        *,
        digest: bool = False,
        latest: bool = False,
        deadline_s: float = DEADLINE_S,
    ) -> dict[int, PartitionLog]:
        """One topic up to its end as it is now; with `digest` its digests alone."""
        wanted = Read(
            bootstrap=bootstrap,
            topic=topic,
            isolation=isolation,
            partitions=tuple(partitions),
            rows=not digest,
            latest=latest,
        )
        return self.read_many([wanted], deadline_s=deadline_s)[0]

    def read_many(self, reads: Sequence[Read], *, deadline_s: float = DEADLINE_S) -> list[dict[int, PartitionLog]]:
        """Several topics of any clusters, in the order of `reads`; as many at a time as there are cores."""
        request = {"deadline_ms": int(deadline_s * 1000), "reads": [asdict(read) for read in reads]}
        answer = json.loads(self._program.ask(json.dumps(request), deadline_s + START_S))
        assert "error" not in answer, answer["error"]
        return [
            dict(sorted((int(partition), _parse_log(log)) for partition, log in topic.items()))
            for topic in answer["logs"]
        ]


def _parse_log(log: dict[str, Any]) -> PartitionLog:
    return PartitionLog(
        beginning=log["beginning"],
        end=log["end"],
        count=log["count"],
        first=log["first"],
        last=log["last"],
        digest=log["digest"],
        blocks={int(number): digest for number, digest in log["blocks"].items()},
        records=tuple(_parse_row(*row) for row in log["rows"] or ()),
        latest={base64.b64decode(key): Latest(*found) for key, found in (log["latest"] or {}).items()},
    )


def _parse_row(
    offset: int,
    timestamp: int,
    timestamp_type: str,
    key: str | None,
    value: str | None,
    headers: list[list[str | None]],
) -> LogRecord:
    parsed = tuple((str(name), _parse_bytes(content)) for name, content in headers)
    return LogRecord(offset, timestamp, timestamp_type, _parse_bytes(key), _parse_bytes(value), parsed)


def _parse_bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
