"""What a task of a comparison is told, and what it tells: these cross from driver to executors and back."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from sparkmirror.net.address import ClusterAddress, read_address, to_fields
from sparkmirror.protocol.fetch import READ_COMMITTED
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage
from sparkmirror.verify.difference import Difference, Field


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyTask:
    """A range of a partition: source offsets `first..end`, which stand at target offsets `target_first..target_end`.

    `standing` None: offsets are equal; else the map of the flow tells them, as of that progress.
    `producer_id`: the mirror's. `is_shared`: others' batches are left out by it. `skip_producers`: of the source, those
    whose batches came from the target. `by_key`: only the latest record of each key counts. `with_time`: timestamps do.
    `tolerates`: records that the target lacks were left out on purpose.
    """

    flow: str
    source: ClusterAddress
    target: ClusterAddress
    storage: Storage
    topic: str
    partition: int
    remote: str
    onto: int
    first: int
    end: int
    target_first: int
    target_end: int
    standing: Standing | None = None
    producer_id: int | None = None
    is_shared: bool = False
    skip_producers: tuple[int, ...] = ()
    isolation: int = READ_COMMITTED
    by_key: bool = False
    with_time: bool = True
    tolerates: bool = False
    bytes_per_second: float | None = None
    seed: int = 0

    def to_json(self) -> str:
        return json.dumps(to_fields(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> VerifyTask:
        fields = json.loads(text)
        return cls(
            **fields
            | {
                "source": read_address(fields["source"]),
                "target": read_address(fields["target"]),
                "storage": Storage(**fields["storage"]),
                "standing": Standing(*fields["standing"]) if fields["standing"] else None,
                "skip_producers": tuple(fields["skip_producers"]),
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyResult:
    """What became of a task, whose range begins at `first` and has so many `offsets`.

    `records` that are equal; of compacted logs, keys that were compared.
    `left_out`: the target lacks them on purpose; `others`: of the target, not the mirror's; `trimmed`: offsets that a
    side removed meanwhile. `found`: the first of so many `differences`; `is_cut`: what is behind the last was not
    compared, since there are too many. `problem`: why it could not be compared.
    """

    topic: str
    partition: int
    first: int = 0
    offsets: int = 0
    records: int = 0
    bytes: int = 0
    left_out: int = 0
    others: int = 0
    trimmed: int = 0
    differences: int = 0
    found: tuple[Difference, ...] = ()
    is_cut: bool = False
    problem: str = ""

    def to_json(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> VerifyResult:
        fields = json.loads(text)
        found = tuple(
            Difference(**each | {"fields": tuple(Field(*of) for of in each["fields"])}) for each in fields["found"]
        )
        return cls(**fields | {"found": found})
