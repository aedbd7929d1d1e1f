"""Whether topics that can have their replicas have enough of them in sync to be written. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sparkmirror.doctor.factors import factor_of, is_too_large
from sparkmirror.doctor.facts import ClusterFacts, FlowFacts, TopicNeed
from sparkmirror.doctor.verdict import Judge, Verdict, count, some_of

MIN_IN_SYNC = "min.insync.replicas"

# What is wrong and what helps -> the topics that it is wrong with.
Found = dict[tuple[str, str], list[str]]


def judge_replicas(facts: FlowFacts, clusters: Mapping[str, ClusterFacts]) -> Iterator[Verdict]:
    """Internal topics and remote ones, there or to be made."""
    judge = Judge(facts.flow.name, "replicas")
    asked = [need for need in facts.needs if need.factor_key and need.cluster in facts.rights]
    needs = [need for need in asked if not is_too_large(facts, need, clusters[need.cluster])]
    found: Found = {}
    for need in needs:
        problem = _why_there(facts, need) if facts.is_there(need) else _why_missing(need, clusters[need.cluster])
        if problem:
            found.setdefault(problem, []).append(need.topic)
    verdicts = [judge.fails(f"{said} ({some_of(topics)})", cure) for (said, cure), topics in found.items()]
    if asked and not needs:
        return iter(())
    return judge.all_or(verdicts, f"{count(len(needs), 'topic')} can be written")


def _why_missing(need: TopicNeed, cluster: ClusterFacts) -> tuple[str, str] | None:
    """Of a topic that is to be made."""
    if need.shape is None or cluster.metadata is None:
        return None
    key, factor = factor_of(need, cluster)
    if factor < 0:
        return None
    own = need.shape.configs.get(MIN_IN_SYNC, "")
    least = int(own) if own.isdecimal() else max(cluster.values(MIN_IN_SYNC).values(), default=1)
    if factor >= least:
        return None
    said = f"{key} is {factor}, but {MIN_IN_SYNC} of cluster {cluster.alias} is {least}: no append would be taken"
    return said, f"set {key} to {least} or more, or {MIN_IN_SYNC} to {factor}"


def _why_there(facts: FlowFacts, need: TopicNeed) -> tuple[str, str] | None:
    topic = facts.rights[need.cluster].of_topics[need.topic]
    described = facts.configs.get(need.cluster)
    entry = described.found.get(need.topic, {}).get(MIN_IN_SYNC) if described else None
    if entry is None or not (entry.value or "").isdecimal():
        return None
    least = int(entry.value or 1)
    if topic.replicas < least:
        said = f"{MIN_IN_SYNC} is {least}, but there are {count(topic.replicas, 'replica')}: no append is taken"
        return said, f"lower {MIN_IN_SYNC} of the topic, or give it more replicas"
    if topic.in_sync < least:
        said = f"{MIN_IN_SYNC} is {least}, but {topic.in_sync} of {topic.replicas} replicas are in sync now"
        return said, f"bring the missing brokers of cluster {need.cluster} back"
    return None
