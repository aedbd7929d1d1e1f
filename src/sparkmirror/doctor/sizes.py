"""Whether the target takes records as large as the source does. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from sparkmirror.doctor.facts import ClusterFacts, FlowFacts
from sparkmirror.doctor.verdict import Judge, Verdict, some_of
from sparkmirror.topology.choose import choose_config_filter
from sparkmirror.topology.topic_configs import Entries, pick_configs

LIMIT = "max.message.bytes"
OF_BROKER, OF_REQUEST, OF_FOLLOWER = "message.max.bytes", "socket.request.max.bytes", "replica.fetch.max.bytes"
KAFKAS_OWN = 1_048_588  # the default limit, which is above followers' default of 1 MB


def judge_sizes(facts: FlowFacts, target: ClusterFacts) -> Iterator[Verdict]:
    """Batches that are too large are cut; a single record can't be."""
    judge = Judge(facts.flow.name, "sizes")
    described = facts.configs.get(facts.flow.source.alias)
    limits = {topic: _limit(described.found.get(topic, {})) for topic in facts.remotes} if described else {}
    known = {topic: limit for topic, limit in limits.items() if limit is not None}
    if not known:
        yield judge.skips("not checked: there is no topic whose limit is known", "run it again when topics are there")
        return
    yield from judge.all_or(_find(judge, facts, target, known), f"up to {max(known.values())} bytes a record")


def _find(judge: Judge, facts: FlowFacts, target: ClusterFacts, limits: dict[str, int]) -> Iterator[Verdict]:
    largest = max(limits.values())
    request = min(target.values(OF_REQUEST).values(), default=largest)
    if request < largest:
        yield judge.fails(
            f"the source takes records of {largest} bytes, and {OF_REQUEST} of cluster {target.alias} is {request}: "
            "the brokers close the connection",
            f"set {OF_REQUEST} of its brokers to more than {largest}",
        )
    small = {topic: limit for topic in limits if (limit := _target_limit(facts, target, topic)) < limits[topic]}
    if small:
        worst = max(small, key=lambda topic: limits[topic])
        remotes = [facts.remotes[topic] for topic in small]
        yield judge.warns(
            f"the source takes records of {limits[worst]} bytes ({worst}), the target of {small[worst]} "
            f"({some_of(remotes)}): a larger one stops its partition, unless the mirror made the topic and may raise "
            f"its {LIMIT}",
            f"set {LIMIT} of the target topic, or {OF_BROKER} of the brokers of cluster {target.alias}, to "
            f"{limits[worst]}",
        )
    follower = min(target.values(OF_FOLLOWER).values(), default=largest)
    has_followers = target.metadata is not None and len(target.metadata.brokers) > 1
    if has_followers and largest > max(follower, KAFKAS_OWN):
        yield judge.warns(
            f"{OF_FOLLOWER} of cluster {target.alias} is {follower}: followers fetch larger batches one by one",
            f"set it to {largest} or more",
        )


def _target_limit(facts: FlowFacts, target: ClusterFacts, topic: str) -> int:
    """After the mirror has made the topic or kept its configurations alike, if it does."""
    flow = facts.flow
    here, there = facts.configs[flow.source.alias], facts.configs.get(flow.target.alias)
    own = _limit(there.found.get(facts.remotes[topic], {})) if there else None
    if own is None or flow.sync.configs_interval_s is not None:
        given = pick_configs(here.found[topic], choose_config_filter(flow)).get(LIMIT)
        if given is not None:
            return max(int(given), own or 0)
    return min(target.values(OF_BROKER).values(), default=KAFKAS_OWN) if own is None else own


def _limit(entries: Entries) -> int | None:
    value = entries[LIMIT].value if LIMIT in entries else None
    return int(value) if value and value.isdecimal() else None
