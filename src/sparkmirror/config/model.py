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
class NamingConfig:
    """How topics are called on the target, and which modules may be loaded to say so."""

    policy_class: str
    separator: str
    # Whether internal topics have the separator, too.
    internal_separator: bool
    # `pattern:name` each; the first pattern that matches a topic's whole name gives its name on the target.
    topics_map: tuple[str, ...]
    # Identity names both ways are refused unless this is set.
    identity_bidirectional: bool
    plugin_path: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncConfig:
    """What of topics is kept alike beside their records. An interval that is None: never."""

    configs_interval_s: float | None
    configs_exclude: tuple[str, ...]
    config_filter_class: str
    # `source`: what is a default there is set on the target; else the target's own defaults stay.
    defaults_from: str
    # Everything that the source does not set is removed on the target, as MirrorMaker 2 does.
    configs_strict: bool
    acls_interval_s: float | None
    acls_prefixed: bool
    deletes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalTopicConfig:
    """A topic that MirrorMaker 2 keeps. `is_wanted`: its feature is on; `retention_ms` None: compacted only."""

    is_wanted: bool
    replication_factor: int
    retention_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatConfig:
    """`interval_s` None: none are emitted. `are_mirrored`: those of the source, whatever `topics` says."""

    interval_s: float | None
    are_mirrored: bool
    topic: InternalTopicConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetSyncsConfig:
    """`location`: the cluster that holds the topic, `source` or `target`."""

    location: str
    topic: InternalTopicConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowConfig:
    """One enabled direction, source to target."""

    source: ClusterConfig
    target: ClusterConfig
    topics: tuple[str, ...]
    topics_exclude: tuple[str, ...]
    # None: chosen by partitions and free slots.
    tasks_max: int | None
    # Of new remote topics (None: as the source topic's), and of our own internal topics; -1 is the broker's default.
    replication_factor: int | None
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
    # `records`: as rows of a DataFrame; else batch by batch.
    path: str
    # All clusters of the file: remote topics are known by these names.
    aliases: tuple[str, ...]
    naming: NamingConfig
    topic_filter_class: str
    sync: SyncConfig
    heartbeats: HeartbeatConfig
    offset_syncs: OffsetSyncsConfig
    checkpoints_topic: InternalTopicConfig

    @property
    def name(self) -> str:
        return f"{self.source.alias}->{self.target.alias}"


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
    # Keys of the file that change nothing yet, sorted; `lines` says where each key of the file stands.
    not_in_force: tuple[str, ...]
    lines: Mapping[str, int] = field(repr=False)
