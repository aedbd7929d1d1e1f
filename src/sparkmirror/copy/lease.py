"""A lease: the right to copy some partitions of a flow for some seconds. Crosses from driver to executor."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from sparkmirror.net.address import ClusterAddress


class Hint(NamedTuple):
    """Where somebody last saw a partition stand. Believed only if the target's leader says the same."""

    next_offset: int
    last_sequence: int
    target_end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasePartition:
    """One partition to copy. `stop_at`: copy up to this source offset and no further.

    `troubled`: a fact is known of it, so say it also if all is well again.
    """

    topic: str
    partition: int
    remote: str
    source_topic_id: str = ""
    target_topic_id: str = ""
    hint: Hint | None = None
    stop_at: int | None = None
    troubled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """What a task needs to know. `unguarded_wait_s`: see `copy.position`."""

    lease_id: str
    flow: str
    source: ClusterAddress
    target: ClusterAddress
    producer_id: int
    generation: int
    seconds: float
    partitions: tuple[LeasePartition, ...]
    unguarded_wait_s: float = 0.0

    def to_json(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Lease:
        fields = json.loads(text)
        return cls(
            **fields
            | {
                "source": _address(fields["source"]),
                "target": _address(fields["target"]),
                "partitions": tuple(_partition(p) for p in fields["partitions"]),
            }
        )


def _address(fields: dict[str, Any]) -> ClusterAddress:
    return ClusterAddress(**fields | {"bootstrap": tuple(fields["bootstrap"])})


def _partition(fields: dict[str, Any]) -> LeasePartition:
    hint = fields["hint"]
    return LeasePartition(**fields | {"hint": hint and Hint(*hint)})
