"""Settings -> one typed flow. The one place where each typed value is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from sparkmirror.config.keys import Key, Reader, clients, copying, groups, security, topics, worker
from sparkmirror.config.model import ClusterConfig, FlowConfig
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
from sparkmirror.config.settings import Settings

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Read:
    """The typed value of a key in one flow. A wrong value, which was reported where it stands, counts as none."""

    settings: Settings
    source: str
    target: str

    def __call__(self, key: Key[T], reader: Reader | None = None) -> T:
        entry = self.settings.find(key, self.source, self.target, reader)
        if entry is not None:
            try:
                return key.parse(entry.value)
            except ValueError:
                pass
        return key.parse(key.default)

    def interval(self, switch: Key[bool], interval: Key[float | None]) -> float | None:
        """None: switched off."""
        return self(interval) if self(switch) else None


def build_flow(settings: Settings, clusters: Mapping[str, ClusterConfig], source: str, target: str) -> FlowConfig:
    read = Read(settings, source, target)
    return FlowConfig(
        source=clusters[source],
        target=clusters[target],
        aliases=tuple(clusters),
        connector_name=read(topics.CONNECTOR_NAME),
        of_connector=settings.of_connector,
        topics=read(topics.TOPICS),
        topics_exclude=read(topics.TOPICS_EXCLUDE),
        topic_filter_class=read(topics.TOPIC_FILTER_CLASS),
        tasks_max=read(topics.TASKS_MAX),
        tasks_min=read(topics.TASKS_MIN),
        replication_factor=read(topics.REPLICATION_FACTOR),
        internal_replication_factor=read(groups.PROGRESS_FACTOR),
        status_replication_factor=read(groups.STATUS_FACTOR),
        refresh_topics=read(topics.REFRESH_TOPICS),
        refresh_topics_interval_s=read(topics.REFRESH_TOPICS_INTERVAL),
        lease_s=read(copying.LEASE_SECONDS),
        offsets_preserve=read(copying.OFFSETS_PRESERVE),
        max_hole=read(copying.MAX_HOLE),
        on_gap=read(copying.ON_GAP),
        on_recreate=read(copying.ON_RECREATE),
        on_divergence=read(copying.ON_DIVERGENCE),
        open_transaction_warn_s=read(copying.OPEN_TRANSACTION_WARN),
        sync_log_start=read(copying.SYNC_LOG_START),
        latency_ms=read(copying.LATENCY_TARGET),
        bytes_per_second=read(copying.THROTTLE),
        read_committed=read(clients.ISOLATION),
        shares_target=False,
        path=read(copying.PATH),
        naming=_build_naming(read),
        sync=_build_sync(read),
        groups=_build_groups(read),
        heartbeats=_build_heartbeats(read),
        offset_syncs=_build_offset_syncs(read),
        checkpoints_topic=InternalTopicConfig(
            is_wanted=read(groups.EMIT_CHECKPOINTS),
            replication_factor=read(groups.CHECKPOINTS_FACTOR),
            retention_ms=read(groups.CHECKPOINTS_RETENTION),
        ),
        storage=_build_storage(read),
        limits=_build_limits(read),
        errors=_build_errors(read),
        consumer=ConsumerConfig(
            connection=_build_connection(read, clients.CONSUMER_CONNECTION), **_by_field(read, clients.CONSUMER)
        ),
        producer=ProducerConfig(
            connection=_build_connection(read, clients.PRODUCER_CONNECTION), **_by_field(read, clients.PRODUCER)
        ),
        source_admin=_build_connection(read, clients.ADMIN_CONNECTION, Reader.SOURCE_CLIENT),
        target_admin=_build_connection(read, clients.ADMIN_CONNECTION, Reader.TARGET_CLIENT),
        security=_build_security(read),
    )


def _build_naming(read: Read) -> NamingConfig:
    return NamingConfig(
        policy_class=read(topics.POLICY_CLASS),
        separator=read(topics.SEPARATOR),
        internal_separator=read(topics.INTERNAL_SEPARATOR),
        internal_prefix=read(groups.INTERNAL_PREFIX),
        topics_map=read(topics.TOPICS_MAP),
        identity_bidirectional=read(topics.IDENTITY_BIDIRECTIONAL),
        plugin_path=read(topics.PLUGIN_PATH),
    )


def _build_sync(read: Read) -> SyncConfig:
    return SyncConfig(
        configs_interval_s=read.interval(topics.SYNC_CONFIGS, topics.SYNC_CONFIGS_INTERVAL),
        configs_exclude=read(topics.CONFIGS_EXCLUDE),
        config_filter_class=read(topics.CONFIG_FILTER_CLASS),
        defaults_from=read(topics.DEFAULTS_FROM),
        configs_strict=read(topics.SYNC_CONFIGS_STRICT),
        acls_interval_s=read.interval(topics.SYNC_ACLS, topics.SYNC_ACLS_INTERVAL),
        acls_prefixed=read(topics.SYNC_ACLS_PREFIXED),
        deletes=read(topics.SYNC_DELETES),
    )


def _build_groups(read: Read) -> GroupsConfig:
    return GroupsConfig(
        include=read(groups.GROUPS),
        exclude=read(groups.GROUPS_EXCLUDE),
        filter_class=read(groups.GROUP_FILTER_CLASS),
        refresh_interval_s=read.interval(groups.REFRESH_GROUPS, groups.REFRESH_GROUPS_INTERVAL),
        checkpoints_interval_s=read.interval(groups.EMIT_CHECKPOINTS, groups.CHECKPOINTS_INTERVAL),
        sync_offsets_interval_s=read.interval(groups.SYNC_GROUPS, groups.SYNC_GROUPS_INTERVAL),
        sync_offsets_rewind=read(groups.SYNC_GROUPS_REWIND),
        sync_deletes=read(groups.SYNC_GROUP_DELETES),
    )


def _build_heartbeats(read: Read) -> HeartbeatConfig:
    interval_s = read.interval(groups.EMIT_HEARTBEATS, groups.HEARTBEATS_INTERVAL)
    return HeartbeatConfig(
        interval_s=interval_s,
        are_mirrored=read(groups.HEARTBEATS_MIRRORED),
        topic=InternalTopicConfig(
            is_wanted=interval_s is not None,
            replication_factor=read(groups.HEARTBEATS_FACTOR),
            retention_ms=read(groups.HEARTBEATS_RETENTION),
        ),
    )


def _build_offset_syncs(read: Read) -> OffsetSyncsConfig:
    return OffsetSyncsConfig(
        location=read(groups.OFFSET_SYNCS_LOCATION),
        lag_max=read(groups.OFFSET_LAG_MAX),
        topic=InternalTopicConfig(
            is_wanted=read(groups.EMIT_OFFSET_SYNCS),
            replication_factor=read(groups.OFFSET_SYNCS_FACTOR),
            retention_ms=read(groups.OFFSET_SYNCS_RETENTION),
        ),
    )


def _build_storage(read: Read) -> StorageConfig:
    return StorageConfig(
        progress_topic=read(worker.PROGRESS_TOPIC),
        progress_partitions=read(worker.PROGRESS_PARTITIONS),
        status_topic=read(worker.STATUS_TOPIC),
        status_partitions=read(worker.STATUS_PARTITIONS),
    )


def _build_limits(read: Read) -> LimitsConfig:
    return LimitsConfig(
        readahead_records=read(copying.READAHEAD),
        poll_timeout_ms=read(copying.POLL_TIMEOUT),
        admin_timeout_ms=read(copying.ADMIN_TIMEOUT),
        flush_timeout_ms=read(copying.FLUSH_TIMEOUT),
        flush_interval_ms=read(copying.FLUSH_INTERVAL),
    )


def _build_errors(read: Read) -> ErrorsConfig:
    return ErrorsConfig(
        retry_timeout_ms=read(copying.ERRORS_RETRY_TIMEOUT),
        retry_delay_max_ms=read(copying.ERRORS_RETRY_DELAY),
        tolerate_all=read(copying.ERRORS_TOLERANCE) == "all",
        log=read(copying.ERRORS_LOG),
        log_messages=read(copying.ERRORS_LOG_MESSAGES),
    )


def _build_connection(read: Read, keys: Iterable[Key[object]], reader: Reader | None = None) -> ConnectionConfig:
    return ConnectionConfig(**_by_field(read, keys, reader))


def _by_field(read: Read, keys: Iterable[Key[object]], reader: Reader | None = None) -> dict[str, Any]:
    """`consumer.fetch.min.bytes` is the field `fetch_min_bytes`."""
    return {key.bare.replace(".", "_"): read(key, reader) for key in keys}


def _build_security(read: Read) -> SecurityConfig:
    # Most files have few of these keys, and there are many of them.
    written = "\n".join(read.settings.entries) + "\n"
    named = [key for key in security.SECURITY if f"{key.name}\n" in written]

    def of_client(reader: Reader) -> dict[str, str]:
        found = {key.name: read.settings.find(key, read.source, read.target, reader) for key in named}
        given = {name: entry.value for name, entry in found.items() if entry is not None}
        speaks_sasl = given.get("security.protocol", "").strip().upper().startswith("SASL")
        return {**read.settings.process_login, **given} if speaks_sasl else given

    return SecurityConfig(**{role: of_client(reader) for role, reader in security.ROLES.items()})
