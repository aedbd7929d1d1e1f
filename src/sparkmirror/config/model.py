"""What a configuration file means, typed. Everything here is frozen and travels to executors by pickle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterConfig:
    """One Kafka cluster. `properties` are its own keys without the alias, as written."""

    alias: str
    bootstrap_servers: tuple[str, ...]
    # Passwords stand in these; keep them out of logs.
    properties: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowConfig:
    """One enabled direction, source to target."""

    source: ClusterConfig
    target: ClusterConfig
    topics: tuple[str, ...]
    topics_exclude: tuple[str, ...]
    # None: chosen by partitions and free slots.
    tasks_max: int | None
    # Of new remote topics, and of our own internal topics; -1 is the broker's default.
    replication_factor: int
    internal_replication_factor: int
    status_replication_factor: int
    refresh_topics_interval_s: float
    lease_s: float
    offsets_preserve: str
    # Offsets of holes that equal offsets are worth.
    max_hole: int
    on_gap: str
    on_recreate: str
    on_divergence: str
    # A transaction at the source that holds the copy up so long is said.
    open_transaction_warn_s: float
    sync_log_start: bool
    # None: as fast as it goes.
    bytes_per_second: int | None
    read_committed: bool
    # Where the source's consumer stands; empty: nowhere in particular.
    client_rack: str
    # `records`: as rows of a DataFrame; else batch by batch.
    path: str

    @property
    def name(self) -> str:
        return f"{self.source.alias}->{self.target.alias}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorConfig:
    """A whole file."""

    path: Path
    clusters: tuple[ClusterConfig, ...]
    flows: tuple[FlowConfig, ...]
    # With their `spark.` prefix, as Spark wants them.
    spark: Mapping[str, str] = field(repr=False)
    warnings: tuple[str, ...]
    # Keys of the file that change nothing yet, sorted; `lines` says where each key of the file stands.
    not_in_force: tuple[str, ...]
    lines: Mapping[str, int] = field(repr=False)
