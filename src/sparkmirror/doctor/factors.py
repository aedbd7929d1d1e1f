"""Whether the clusters have brokers enough for the replicas that the file asks for. Pure.

One cause and one cure, however many flows, topics and keys it is about.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sparkmirror.config.keys.groups import ALL_FACTORS
from sparkmirror.config.keys.topics import REPLICATION_FACTOR
from sparkmirror.doctor.facts import ClusterFacts, FlowFacts, TopicNeed
from sparkmirror.doctor.verdict import Judge, Verdict, count, some_of

DEFAULT_FACTOR = "default.replication.factor"
# The setting, what it says, and the cluster that can't do that.
Wanted = tuple[str, int, str]


def judge_factors(flows: Iterable[FlowFacts], clusters: Mapping[str, ClusterFacts]) -> Iterator[Verdict]:
    """At most one."""
    found: dict[Wanted, list[str]] = {}
    for facts in flows:
        for need in facts.needs:
            if is_too_large(facts, need, clusters[need.cluster]):
                wanted = (*factor_of(need, clusters[need.cluster]), need.cluster)
                topics = found.setdefault(wanted, [])
                topics += [need.topic] * (need.topic not in topics)
    if found:
        live = {alias: _live(clusters[alias]) for _, _, alias in found}
        said = "; ".join(_said(alias, number, found) for alias, number in live.items())
        yield Judge("file", "replicas").fails(said, _cure([key for key, _, _ in found], min(live.values())))


def factor_of(need: TopicNeed, cluster: ClusterFacts) -> tuple[str, int]:
    """The setting that a topic's replicas come from where it is missing, and its value; -1 where nobody tells."""
    factor = need.shape.replication_factor if need.shape else -1
    if factor >= 0:
        return need.factor_key, factor
    return DEFAULT_FACTOR, max(cluster.values(DEFAULT_FACTOR).values(), default=-1)


def is_too_large(facts: FlowFacts, need: TopicNeed, cluster: ClusterFacts) -> bool:
    if need.shape is None or not need.factor_key or need.cluster not in facts.rights or facts.is_there(need):
        return False
    return cluster.metadata is not None and factor_of(need, cluster)[1] > _live(cluster)


def _live(cluster: ClusterFacts) -> int:
    return len(cluster.metadata.brokers) if cluster.metadata else 0


def _said(cluster: str, live: int, found: Mapping[Wanted, list[str]]) -> str:
    """`cluster B has 1 live broker, too few for replication.factor = 3 (A.orders)`."""
    asked = [f"{key} = {value} ({some_of(topics)})" for (key, value, at), topics in found.items() if at == cluster]
    return f"cluster {cluster} has {count(live, 'live broker')}, too few for {', '.join(asked)}"


def _cure(keys: list[str], live: int) -> str:
    """Keys of internal topics have one that speaks for all of them."""
    internal = {key for key in keys if key not in (REPLICATION_FACTOR.name, DEFAULT_FACTOR)}
    named = dict.fromkeys(ALL_FACTORS.name if key in internal else key for key in keys)
    lines = " and ".join(f"{key} = {live}" for key in named)
    own = " (and where a line of the file sets one of these keys by itself, that line)" if internal else ""
    return f"set {lines}{own}, or start more brokers"
