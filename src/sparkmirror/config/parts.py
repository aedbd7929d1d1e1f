"""What a flow is told, by subject. Everything here is frozen and travels to executors by pickle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class NamingConfig:
    """How topics are called on the target, and which modules may be loaded to say so."""

    policy_class: str
    separator: str
    # Whether internal topics have the separator, too.
    internal_separator: bool
    # What names of internal topics begin with.
    internal_prefix: str
    # `pattern:name` each; the first pattern that matches a topic's whole name gives its name on the target.
    topics_map: tuple[str, ...]
    # Identity names both ways are refused unless this is set.
    identity_bidirectional: bool
    plugin_path: tuple[str, ...]

    @property
    def keeps_names(self) -> bool:
        """Whether a topic is called the same on both sides, by one of Kafka's own policies."""
        return self.policy_class.rpartition(".")[2] in ("IdentityReplicationPolicy", "LegacyReplicationPolicy")

    @property
    def is_mutual(self) -> bool:
        """Whether applications write into topics of both sides, which have the same names."""
        return self.keeps_names and self.identity_bidirectional


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
class GroupsConfig:
    """Which consumer groups are followed, and what of them. An interval that is None: never."""

    include: tuple[str, ...]
    exclude: tuple[str, ...]
    filter_class: str
    refresh_interval_s: float | None
    checkpoints_interval_s: float | None
    sync_offsets_interval_s: float | None
    # Follow a group that went back at the source.
    sync_offsets_rewind: bool
    # A group that was synced goes with the source's.
    sync_deletes: bool


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
    """`location`: the cluster that holds the topic, `source` or `target`; `lag_max`: how stale a sync may become."""

    location: str
    lag_max: int
    topic: InternalTopicConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageConfig:
    """Connect's topics on the target; a name that is None: MirrorMaker 2's."""

    progress_topic: str | None
    progress_partitions: int
    status_topic: str | None
    status_partitions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsConfig:
    """What a task may hold and how long it may wait; None: as it sees fit."""

    readahead_records: int | None
    poll_timeout_ms: int | None
    admin_timeout_ms: int
    flush_timeout_ms: int
    flush_interval_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorsConfig:
    """What becomes of a record that can't be copied. `retry_timeout_ms` -1: without end."""

    retry_timeout_ms: int
    retry_delay_max_ms: int | None
    tolerate_all: bool
    log: bool
    log_messages: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionConfig:
    """How a client connects, each field named as its key; None: as the client sees fit."""

    client_id: str | None
    client_dns_lookup: str | None
    request_timeout_ms: int | None
    connections_max_idle_ms: int | None
    metadata_max_age_ms: int | None
    receive_buffer_bytes: int | None
    send_buffer_bytes: int | None
    reconnect_backoff_ms: int | None
    reconnect_backoff_max_ms: int | None
    retry_backoff_ms: int | None
    retry_backoff_max_ms: int | None
    socket_connection_setup_timeout_ms: int | None
    socket_connection_setup_timeout_max_ms: int | None
    default_api_timeout_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerConfig:
    """The source's reader. `auto_offset_reset`: where a partition without progress begins, a word or seconds ago."""

    connection: ConnectionConfig
    auto_offset_reset: str | float
    client_rack: str | None
    fetch_min_bytes: int | None
    fetch_max_bytes: int | None
    fetch_max_wait_ms: int | None
    max_partition_fetch_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerConfig:
    """The target's writer."""

    connection: ConnectionConfig
    buffer_memory: int | None
    max_request_size: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityConfig:
    """`security.protocol`, `ssl.*` and `sasl.*` that hold for each client, where the file sets them.

    Passwords stand in these; keep them out of logs.
    """

    source_consumer: Mapping[str, str] = field(repr=False)
    source_producer: Mapping[str, str] = field(repr=False)
    source_admin: Mapping[str, str] = field(repr=False)
    target_consumer: Mapping[str, str] = field(repr=False)
    target_producer: Mapping[str, str] = field(repr=False)
    target_admin: Mapping[str, str] = field(repr=False)
