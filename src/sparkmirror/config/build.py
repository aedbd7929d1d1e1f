"""Settings -> the clusters, the flows that are enabled, and the pairs that exchange heartbeats alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import permutations

from sparkmirror.config.build_flow import Read, build_flow
from sparkmirror.config.findings import Findings
from sparkmirror.config.keys import Scope, topics
from sparkmirror.config.model import ClusterConfig, FlowConfig
from sparkmirror.config.properties import Entry, line_of
from sparkmirror.config.settings import Settings, flow_name
from sparkmirror.config.values import topic_name_part


def parse_aliases(entry: Entry | None, findings: Findings) -> tuple[str, ...]:
    """The aliases in the order of the `clusters` line, each once; none where one can't be used, since all else
    depends on them."""
    if entry is None or not entry.value.strip():
        findings.error(line_of(entry), "no clusters: expected a line such as clusters = source, target")
        return ()
    named = [alias.strip() for alias in entry.value.split(",")]
    for alias in named:
        # An alias becomes part of topic names (`mm2-offsets.<alias>.internal`).
        if not alias:
            findings.error(entry.line, "clusters: an alias is empty; expected names separated by single commas")
        elif not _is_alias(alias):
            expected = "expected letters, digits, '.', '_' and '-', and commas between aliases"
            findings.error(entry.line, f"clusters: bad alias {alias!r}; {expected}")
        elif named.count(alias) > 1:
            findings.warn(entry.line, f"clusters: {alias} is named more than once; it counts once")
    return tuple(dict.fromkeys(named)) if all(map(_is_alias, named)) else ()


def _is_alias(text: str) -> bool:
    try:
        return topic_name_part(text) == text
    except ValueError:
        return False


def build_clusters(settings: Settings) -> dict[str, ClusterConfig]:
    def build(alias: str) -> ClusterConfig:
        entry = settings.find_for_cluster(topics.BOOTSTRAP_SERVERS, alias)
        return ClusterConfig(
            alias=alias,
            bootstrap_servers=_servers(entry),
            properties={name: entry.value for name, entry in settings.within(Scope.CLUSTER, alias)},
        )

    return {alias: build(alias) for alias in settings.aliases}


def _servers(entry: Entry | None) -> tuple[str, ...]:
    try:
        return topics.BOOTSTRAP_SERVERS.parse(entry.value if entry else "")
    except ValueError:
        return ()


def build_flows(
    settings: Settings,
    clusters: Mapping[str, ClusterConfig],
    only_targets: Collection[str],
    comments: Collection[tuple[int, str]],
    findings: Findings,
) -> tuple[FlowConfig, ...]:
    """The enabled flows, in the order of the `clusters` line; all, or those into `only_targets`."""
    known = ", ".join(clusters)
    for stray in sorted(set(only_targets) - clusters.keys()):
        findings.error(None, f"--clusters names {stray!r}, which is not among the clusters {known}")
    enabled = list(_enabled_pairs(settings))
    kept = [pair for pair in enabled if not only_targets or pair[1] in only_targets]
    if not enabled and not findings.errors:
        a, b = [*clusters, "A", "B"][:2]
        findings.error(None, f"no flow is enabled: expected a line such as {a}->{b}.enabled = true")
    elif not kept and not findings.errors:
        targets = ", ".join(dict.fromkeys(target for _, target in enabled))
        findings.error(None, f"--clusters leaves no flow: the enabled flows have the targets {targets}")
    for pair in kept:
        _require_servers(settings, pair, comments, findings)
    return tuple(build_flow(settings, clusters, *pair) for pair in kept)


def warn_of_no_servers(settings: Settings, clusters: Mapping[str, ClusterConfig], findings: Findings) -> None:
    """Of a cluster that no flow needs; else it is an error."""
    needed = {alias for pair in _enabled_pairs(settings) for alias in pair}
    for alias, cluster in clusters.items():
        if alias not in needed and not cluster.bootstrap_servers:
            said = (
                f"clusters: {alias} has no brokers and no flow, so that nothing is done for it: expected a line such as"
            )
            findings.warn(line_of(settings.entries.get("clusters")), f"{said} {alias}.bootstrap.servers = host:port")


def build_heartbeat_pairs(
    settings: Settings, clusters: Mapping[str, ClusterConfig], only_targets: Collection[str]
) -> tuple[FlowConfig, ...]:
    """Pairs that are not enabled, as flows; those that emit, into clusters that can be reached."""
    enabled = set(_enabled_pairs(settings))
    pairs = [
        (source, target)
        for source, target in permutations(clusters, 2)
        if (source, target) not in enabled
        and (not only_targets or target in only_targets)
        and clusters[target].bootstrap_servers
    ]
    flows = (build_flow(settings, clusters, *pair) for pair in pairs)
    return tuple(flow for flow in flows if flow.heartbeats.interval_s is not None)


def _enabled_pairs(settings: Settings) -> Iterator[tuple[str, str]]:
    for source, target in permutations(settings.aliases, 2):
        if Read(settings, source, target)(topics.ENABLED):
            yield source, target


def _require_servers(
    settings: Settings, pair: tuple[str, str], comments: Collection[tuple[int, str]], findings: Findings
) -> None:
    for alias in pair:
        given = settings.find_for_cluster(topics.BOOTSTRAP_SERVERS, alias)
        if given is not None and given.value.strip(" ,"):
            continue
        wanted = f"{alias}.bootstrap.servers"
        said = f"the flow needs brokers of {alias!r}: expected a line such as {wanted} = host:port"
        hidden = next((line for line, comment in comments if f"{wanted} =" in comment or f"{wanted}=" in comment), None)
        if hidden is not None:
            said += f"; line {hidden} is a comment that holds one: give it a line of its own"
        where = given or settings.entries.get(flow_name(*pair) + ".enabled")
        findings.error(line_of(where), said)
