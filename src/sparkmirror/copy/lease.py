"""A lease: the right to copy some partitions of a flow for some seconds. Crosses from driver to executor."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from sparkmirror.net.address import ClusterAddress, read_address, to_fields
from sparkmirror.protocol.fetch import READ_COMMITTED
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage

AUTO, ALWAYS, NEVER = "auto", "always", "never"
FAIL, CONTINUE = "fail", "continue"
ASK_SHARE = 1 / 8  # of the time that a lease may last: so often its task asks for more
FENCE_STEP = 4  # so many times a lease may fence itself off, after answers that were lost
ROW_ATTEMPTS = 4  # Spark's at a task that writes rows: each fences off the ones before it, in steps of its own

MARKERS, TRANSACTIONS, NOTHING = "markers", "transactions", "nothing"
OLDEST, NEWEST, NOWHERE = "earliest", "latest", "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasePartition:
    """One partition to copy. `stop_at`: copy up to this source offset and no further.

    `troubled`: a fact is known of it, so say it also if all is well again. `is_ours`: the mirror made the target
    topic, and may raise its limits.

    `failing_s`: for so long its tries have failed already, in leases before.

    `onto`: the target partition where it is not the same number. `producer_id`: that of this partition alone, where
    several are written into one target partition; then each origin's records stand between the others'. `is_new`:
    this driver drew that id and nothing was copied under it, so the target holds none of its records. `accepts`: the
    name of a fact that shall not stop it, once.
    """

    topic: str
    partition: int
    remote: str
    hint: Standing | None = None
    stop_at: int | None = None
    troubled: bool = False
    failing_s: float = 0.0
    is_ours: bool = False
    onto: int | None = None
    producer_id: int | None = None
    is_new: bool = False
    accepts: str = ""

    @property
    def target_partition(self) -> int:
        return self.partition if self.onto is None else self.onto

    @property
    def place(self) -> tuple[str, int]:
        return self.topic, self.partition

    @property
    def target_place(self) -> tuple[str, int]:
        return self.remote, self.target_partition


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a task may hold and ask for at once; None: as the copy sees fit.

    `held_bytes`: memory of what was fetched, or is being, and was not sent on yet; whole answers count for as long as
    a part of them waits. `held_records`: fetched and not yet acknowledged. An acknowledgement that takes longer than
    `flush_timeout_s` is said. A fetch waits for `fetch_min_bytes`, but no longer than `fetch_wait_ms`;
    while records come all the time, for `latency_ms`.
    """

    held_bytes: int | None = None
    held_records: int | None = None
    request_bytes: int | None = None
    flush_timeout_s: float = 5.0
    fetch_bytes: int | None = None
    partition_bytes: int | None = None
    fetch_min_bytes: int | None = None
    fetch_wait_ms: int | None = None
    latency_ms: int = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """What becomes of tries that fail and of records that can't be copied.

    A lost partition is looked for again after a pause that grows up to `longest_pause_s`; after `retry_timeout_s`
    (None: never) it stops. `tolerate`: a record that the target refuses is left out, and with `log` said, with or
    without its content (`log_content`).
    """

    first_pause_s: float = 0.05
    longest_pause_s: float = 1.0
    retry_timeout_s: float | None = None
    tolerate: bool = False
    log: bool = False
    log_content: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the user wants of a flow's copy, and what the target permits (`fill_with`).

    `begin`: where a partition begins of which nothing is known, a word or so many seconds ago.
    `skip_producers`: producers of the source whose batches are not copied, since they came from the target.
    """

    isolation: int = READ_COMMITTED
    preserve: str = AUTO
    max_hole: int = 1_000_000
    on_gap: str = FAIL
    on_recreate: str = FAIL
    on_divergence: str = FAIL
    fill_with: str = MARKERS
    bytes_per_second: float | None = None
    rack: str = ""
    skip_producers: tuple[int, ...] = ()
    begin: str | float = OLDEST
    bounds: Bounds = field(default_factory=Bounds)
    errors: Errors = field(default_factory=Errors)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """A heartbeat to emit again and again: that the cluster `target` can be written, for a flow from `source`."""

    source: str
    target: ClusterAddress
    topic: str
    interval_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """What a task needs to know. `unguarded_wait_s`: see `copy.position`. `heartbeats`: to be emitted meanwhile.

    `seconds`: how long it may last if nobody renews it. `is_calm`: nothing has happened for a while.
    `storage` None: under the usual names.
    `fence` is higher than that of every earlier lease of the flow, by `FENCE_STEP` at least: markers carry it.
    """

    lease_id: str
    flow: str
    source: ClusterAddress
    target: ClusterAddress
    producer_id: int
    fence: int
    seconds: float
    partitions: tuple[LeasePartition, ...]
    unguarded_wait_s: float = 0.0
    is_calm: bool = False
    rules: Rules = field(default_factory=Rules)
    heartbeats: tuple[Heartbeat, ...] = ()
    storage: Storage | None = None

    @property
    def kept_in(self) -> Storage:
        """Where its progress stands."""
        return self.storage or Storage.named(self.source.alias)

    @property
    def places(self) -> list[tuple[str, str, int]]:
        """(flow, topic, partition) of what it is for."""
        return [(self.flow, p.topic, p.partition) for p in self.partitions]

    def transactional_id(self, remote: tuple[str, int]) -> str:
        """One a target partition, so that a lease shuts out all that have filled holes there before."""
        return f"sparkmirror.{self.flow.replace('->', '.')}.{remote[0]}.{remote[1]}"

    def to_json(self) -> str:
        return json.dumps(to_fields(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Lease:
        fields = json.loads(text)
        return cls(
            **fields
            | {
                "source": read_address(fields["source"]),
                "target": read_address(fields["target"]),
                "partitions": tuple(_partition(p) for p in fields["partitions"]),
                "rules": _rules(fields["rules"]),
                "storage": Storage(**fields["storage"]) if fields["storage"] else None,
                "heartbeats": tuple(
                    Heartbeat(**h | {"target": read_address(h["target"])}) for h in fields["heartbeats"]
                ),
            }
        )


def _rules(fields: dict[str, Any]) -> Rules:
    return Rules(
        **fields
        | {
            "skip_producers": tuple(fields["skip_producers"]),
            "bounds": Bounds(**fields["bounds"]),
            "errors": Errors(**fields["errors"]),
        }
    )


def _partition(fields: dict[str, Any]) -> LeasePartition:
    hint = fields["hint"]
    return LeasePartition(**fields | {"hint": hint and Standing(*hint)})
