"""What a configuration file means, typed. Everything here is frozen and travels to executors by pickle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sparkmirror.config.parts import (
    ConnectionConfig,
    ConsumerConfig,
    ErrorsConfig,
    GroupsConfig,
    HeartbeatConfig,
    InternalTopicConfig,
    LimitsConfig,
    NamingConfig,
    OffsetSyncsConfig,
    ProducerConfig,
    SecurityConfig,
    StorageConfig,
    SyncConfig,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterConfig:
    """One Kafka cluster. `properties` are its own keys without the alias, as written."""

    alias: str
    bootstrap_servers: tuple[str, ...]
    # Passwords stand in these; keep them out of logs.
    properties: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowConfig:
    """One direction, source to target."""

    source: ClusterConfig
    target: ClusterConfig
    # All clusters of the file: remote topics are known by these names.
    aliases: tuple[str, ...]
    # `of_connector`: the file is a connector's own, and its progress is kept under this name.
    connector_name: str
    of_connector: bool
    topics: tuple[str, ...]
    topics_exclude: tuple[str, ...]
    topic_filter_class: str
    # None: chosen by partitions and free slots.
    tasks_max: int | None
    # As many leases as the traffic asks for, and at least so many, but no more than the most.
    tasks_min: int
    # Of new remote topics (None: as the source topic's), and of our own internal topics; -1 is the broker's default.
    replication_factor: int | None
    internal_replication_factor: int
    status_replication_factor: int
    refresh_topics: bool
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
    # So long records of a steady flow may be gathered.
    latency_ms: int
    # None: as fast as it goes.
    bytes_per_second: int | None
    read_committed: bool
    # Another flow of the file may write into its remote topics.
    shares_target: bool
    # `records`: as rows of a DataFrame; else batch by batch.
    path: str
    naming: NamingConfig
    sync: SyncConfig
    groups: GroupsConfig
    heartbeats: HeartbeatConfig
    offset_syncs: OffsetSyncsConfig
    checkpoints_topic: InternalTopicConfig
    storage: StorageConfig
    limits: LimitsConfig
    errors: ErrorsConfig
    consumer: ConsumerConfig
    producer: ProducerConfig
    source_admin: ConnectionConfig
    target_admin: ConnectionConfig
    security: SecurityConfig

    @property
    def name(self) -> str:
        return f"{self.source.alias}->{self.target.alias}"

    @property
    def by_rows(self) -> bool:
        """Whether every record crosses Spark."""
        return self.path == "records"

    @property
    def follows_groups(self) -> bool:
        """Names that stay both ways are not followed: a topic's records come from two logs then."""
        wanted = self.groups.checkpoints_interval_s is not None or self.groups.sync_offsets_interval_s is not None
        return wanted and not self.naming.is_mutual


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorConfig:
    """A whole file."""

    path: Path
    clusters: tuple[ClusterConfig, ...]
    flows: tuple[FlowConfig, ...]
    # Pairs that are not enabled: nothing but heartbeats goes from the one to the other.
    heartbeat_pairs: tuple[FlowConfig, ...]
    # With their `spark.` prefix, as Spark wants them.
    spark: Mapping[str, str] = field(repr=False)
    warnings: tuple[str, ...]
    # Keys of the file that change nothing, sorted; `lines` says where each key of the file stands.
    not_in_force: tuple[str, ...]
    lines: Mapping[str, int] = field(repr=False)
