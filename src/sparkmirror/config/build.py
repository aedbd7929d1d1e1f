"""Settings -> typed clusters and flows. The one place where each typed value is read."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import permutations
from typing import TypeVar

from sparkmirror.config import keys
from sparkmirror.config.keys import KNOWN_KEYS, Key, Scope
from sparkmirror.config.model import ClusterConfig, FlowConfig
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
    return tuple(_build_flow(settings, clusters[source], clusters[target], problems) for source, target in kept)


def _build_flow(settings: Settings, source: ClusterConfig, target: ClusterConfig, problems: Problems) -> FlowConfig:
    def read(key: Key[T]) -> T:
        return parsed(key, settings.flow_entry(key, source.alias, target.alias), problems)

    def read_consumer(key: Key[T], of_role: Key[T]) -> T:
        """The source consumer's: with the prefix of the role, of the cluster, or of none."""
        by_role = settings.source_entry(of_role, source.alias, target.alias)
        if by_role is not None:
            return parsed(of_role, by_role, problems)
        return parsed(key, settings.source_entry(key, source.alias, target.alias), problems)

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
        read_committed=read_consumer(keys.ISOLATION, keys.SOURCE_ISOLATION) == "read_committed",
        client_rack=read_consumer(keys.RACK, keys.SOURCE_RACK),
        path=read(keys.PATH),
    )


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
