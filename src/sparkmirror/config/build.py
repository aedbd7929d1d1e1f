"""Settings -> typed clusters and flows. The one place where each typed value is read."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import permutations
from typing import Protocol, TypeVar

from sparkmirror.config import keys
from sparkmirror.config.keys import KNOWN_KEYS, Key, Scope
from sparkmirror.config.model import (
    ClusterConfig,
    FlowConfig,
    HeartbeatConfig,
    InternalTopicConfig,
    NamingConfig,
    OffsetSyncsConfig,
    SyncConfig,
)
from sparkmirror.config.problems import Problems, at_line
from sparkmirror.config.properties import Entry
from sparkmirror.config.recognise import suggestion
from sparkmirror.config.settings import Settings, parsed

T = TypeVar("T")

# An alias becomes part of topic names (`mm2-offsets.<alias>.internal`), so it obeys their rule.
_ALIAS = re.compile(r"[a-zA-Z0-9._-]+")


def parse_aliases(entry: Entry | None, problems: Problems) -> tuple[str, ...]:
    """The aliases in the order of the `clusters` line, each once."""
    if entry is None or not entry.value.strip():
        problems.add(entry and entry.line, "no clusters: expected a line such as clusters = source, target")
        return ()
    named = [alias.strip() for alias in entry.value.split(",")]
    for alias in named:
        if not alias:
            problems.add(entry.line, "clusters: an alias is empty; expected names separated by single commas")
        elif _ALIAS.fullmatch(alias) is None:
            expected = "expected letters, digits, '.', '_' and '-', and commas between aliases"
            problems.add(entry.line, f"clusters: bad alias {alias!r}; {expected}")
    return tuple(dict.fromkeys(alias for alias in named if _ALIAS.fullmatch(alias)))


def build_clusters(settings: Settings, aliases: tuple[str, ...], problems: Problems) -> dict[str, ClusterConfig]:
    def build(alias: str) -> ClusterConfig:
        servers = settings.cluster_entry(keys.BOOTSTRAP_SERVERS, alias)
        return ClusterConfig(
            alias=alias,
            bootstrap_servers=parsed(keys.BOOTSTRAP_SERVERS, servers, problems),
            properties={name: entry.value for name, entry in settings.within(Scope.CLUSTER, alias)},
        )

    return {alias: build(alias) for alias in aliases}


def build_flows(
    settings: Settings,
    clusters: Mapping[str, ClusterConfig],
    only_targets: Collection[str],
    problems: Problems,
) -> tuple[FlowConfig, ...]:
    """The enabled flows, in the order of the `clusters` line; all, or those into `only_targets`."""
    known = ", ".join(clusters)
    for stray in sorted(set(only_targets) - clusters.keys()):
        problems.add(None, f"--clusters names {stray!r}, which is not among the clusters {known}")
    _refuse_unknown_flows(settings, known, problems)
    enabled = list(_enabled_flows(settings, clusters, problems))
    kept = [pair for pair in enabled if not only_targets or pair[1] in only_targets]
    if not enabled and not problems:
        a, b = [*clusters, "A", "B"][:2]
        problems.add(None, f"no flow is enabled: expected a line such as {a}->{b}.enabled = true")
    elif not kept and not problems:
        targets = ", ".join(dict.fromkeys(target for _, target in enabled))
        problems.add(None, f"--clusters leaves no flow: the enabled flows have the targets {targets}")
    for source, target in kept:
        _require_servers(settings, clusters[source], clusters[target], problems)
    return tuple(_build_flow(settings, clusters, pair, problems) for pair in kept)


def build_heartbeat_pairs(
    settings: Settings,
    clusters: Mapping[str, ClusterConfig],
    only_targets: Collection[str],
    problems: Problems,
) -> tuple[FlowConfig, ...]:
    """Pairs that are not enabled, as flows; those that emit, into clusters that can be reached."""
    enabled = set(_enabled_flows(settings, clusters, problems))
    pairs = [
        (source, target)
        for source, target in permutations(clusters, 2)
        if (source, target) not in enabled
        and (not only_targets or target in only_targets)
        and clusters[target].bootstrap_servers
    ]
    flows = (_build_flow(settings, clusters, pair, problems) for pair in pairs)
    return tuple(flow for flow in flows if flow.heartbeats.interval_s is not None)


def _build_flow(
    settings: Settings, clusters: Mapping[str, ClusterConfig], pair: tuple[str, str], problems: Problems
) -> FlowConfig:
    source, target = clusters[pair[0]], clusters[pair[1]]

    def read(key: Key[T]) -> T:
        return parsed(key, settings.flow_entry(key, source.alias, target.alias), problems)

    named = settings.flow_entry(keys.STATUS_REPLICATION_FACTOR, source.alias, target.alias)
    status_factor = keys.INTERNAL_REPLICATION_FACTOR if named is None else keys.STATUS_REPLICATION_FACTOR
    return FlowConfig(
        source=source,
        target=target,
        topics=read(keys.TOPICS),
        topics_exclude=read(keys.TOPICS_EXCLUDE),
        tasks_max=read(keys.TASKS_MAX),
        replication_factor=read(keys.REPLICATION_FACTOR),
        internal_replication_factor=read(keys.INTERNAL_REPLICATION_FACTOR),
        status_replication_factor=read(status_factor),
        refresh_topics_interval_s=read(keys.REFRESH_TOPICS_INTERVAL),
        lease_s=read(keys.LEASE_SECONDS),
        offsets_preserve=read(keys.OFFSETS_PRESERVE),
        max_hole=read(keys.MAX_HOLE),
        on_gap=read(keys.ON_GAP),
        on_recreate=read(keys.ON_RECREATE),
        on_divergence=read(keys.ON_DIVERGENCE),
        open_transaction_warn_s=read(keys.OPEN_TRANSACTION_WARN),
        sync_log_start=read(keys.SYNC_LOG_START),
        bytes_per_second=throttle if (throttle := read(keys.THROTTLE)) > 0 else None,
        read_committed=_isolation(settings, source.alias, target.alias, problems) == "read_committed",
        path=read(keys.PATH),
        aliases=tuple(clusters),
        naming=_build_naming(read),
        topic_filter_class=read(keys.TOPIC_FILTER_CLASS),
        sync=_build_sync(read),
        heartbeats=_build_heartbeats(read),
        offset_syncs=_build_offset_syncs(read),
        checkpoints_topic=InternalTopicConfig(
            is_wanted=read(keys.EMIT_CHECKPOINTS),
            replication_factor=read(keys.CHECKPOINTS_FACTOR),
            retention_ms=read(keys.CHECKPOINTS_RETENTION),
        ),
    )


class _Read(Protocol):
    def __call__(self, key: Key[T], /) -> T: ...


def _build_naming(read: _Read) -> NamingConfig:
    return NamingConfig(
        policy_class=read(keys.POLICY_CLASS),
        separator=read(keys.SEPARATOR),
        internal_separator=read(keys.INTERNAL_SEPARATOR),
        topics_map=read(keys.TOPICS_MAP),
        identity_bidirectional=read(keys.IDENTITY_BIDIRECTIONAL),
        plugin_path=read(keys.PLUGIN_PATH),
    )


def _build_sync(read: _Read) -> SyncConfig:
    return SyncConfig(
        configs_interval_s=read(keys.SYNC_CONFIGS_INTERVAL) if read(keys.SYNC_CONFIGS) else None,
        configs_exclude=read(keys.CONFIGS_EXCLUDE),
        config_filter_class=read(keys.CONFIG_FILTER_CLASS),
        defaults_from=read(keys.DEFAULTS_FROM),
        configs_strict=read(keys.SYNC_CONFIGS_STRICT),
        acls_interval_s=read(keys.SYNC_ACLS_INTERVAL) if read(keys.SYNC_ACLS) else None,
        acls_prefixed=read(keys.SYNC_ACLS_PREFIXED),
        deletes=read(keys.SYNC_DELETES),
    )


def _build_heartbeats(read: _Read) -> HeartbeatConfig:
    interval_s = read(keys.HEARTBEATS_INTERVAL) if read(keys.EMIT_HEARTBEATS) else None
    return HeartbeatConfig(
        interval_s=interval_s,
        are_mirrored=read(keys.HEARTBEATS_MIRRORED),
        topic=InternalTopicConfig(
            is_wanted=interval_s is not None,
            replication_factor=read(keys.HEARTBEATS_FACTOR),
            retention_ms=read(keys.HEARTBEATS_RETENTION),
        ),
    )


def _build_offset_syncs(read: _Read) -> OffsetSyncsConfig:
    return OffsetSyncsConfig(
        location=read(keys.OFFSET_SYNCS_LOCATION),
        topic=InternalTopicConfig(
            is_wanted=read(keys.EMIT_OFFSET_SYNCS),
            replication_factor=read(keys.OFFSET_SYNCS_FACTOR),
            retention_ms=read(keys.OFFSET_SYNCS_RETENTION),
        ),
    )


def _isolation(settings: Settings, source: str, target: str, problems: Problems) -> str:
    """The source consumer's: with the prefix of the role, of the cluster, or of none."""
    by_role = settings.source_entry(keys.SOURCE_ISOLATION, source, target)
    if by_role is not None:
        return parsed(keys.SOURCE_ISOLATION, by_role, problems)
    return parsed(keys.ISOLATION, settings.source_entry(keys.ISOLATION, source, target), problems)


def _enabled_flows(settings: Settings, aliases: Collection[str], problems: Problems) -> Iterator[tuple[str, str]]:
    for source, target in permutations(aliases, 2):
        if parsed(keys.ENABLED, settings.flow_entry(keys.ENABLED, source, target), problems):
            yield source, target


def _require_servers(settings: Settings, source: ClusterConfig, target: ClusterConfig, problems: Problems) -> None:
    enabled = settings.flow_entry(keys.ENABLED, source.alias, target.alias)
    for cluster in (source, target):
        given = settings.cluster_entry(keys.BOOTSTRAP_SERVERS, cluster.alias)
        if given is None or not given.value.strip(" ,"):
            wanted = f"{cluster.alias}.bootstrap.servers = host:port"
            said = f"the flow needs brokers of {cluster.alias!r}: expected a line such as {wanted}"
            where = given or enabled
            problems.add(where and where.line, said)


def _refuse_unknown_flows(settings: Settings, known: str, problems: Problems) -> None:
    """A flow that was switched on and can't run is an error; other keys of such a flow only warn."""
    for key, entry in settings.within(Scope.STRAY):
        pair = key.removesuffix(".enabled")
        if _stray_key(key) == "enabled" and entry.value.strip().lower() != "false":
            said = f"{pair} is no flow between two of the clusters {known}"
            problems.add(entry.line, f"{key}: {said}; expected A->B.enabled with two different aliases of these")


def _stray_key(key: str) -> str:
    """The known key that ends a stray line: in `a->x.emit.heartbeats.enabled` it is not `enabled`."""
    ends = (name for name in KNOWN_KEYS if key.endswith("." + name))
    return max(ends, key=len, default="")


def warn_of_repeated_aliases(entry: Entry, aliases: Collection[str], name: str) -> Iterator[str]:
    named = [alias.strip() for alias in entry.value.split(",")]
    for alias in aliases:
        if named.count(alias) > 1:
            yield at_line(name, entry.line, f"clusters: {alias} is named more than once; it counts once")


def warn_of_unknown(settings: Settings, name: str) -> Iterator[str]:
    """Lines that can't do what their author wanted: of no flow, or a key that looks misspelt."""
    for place, entry in settings.not_in_force():
        if place.scope is Scope.STRAY:
            said = f"{entry.key} belongs to no flow between two of the clusters, and changes nothing"
            yield at_line(name, entry.line, said)
        elif meant := suggestion(place.name):
            yield at_line(name, entry.line, f"unknown key {entry.key}: did you mean {meant}?")
