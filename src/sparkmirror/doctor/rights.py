"""Whether the mirror's user may do what a flow needs, on topics that are there and on those to be made. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sparkmirror.doctor.facts import ClusterFacts, FlowFacts, TopicNeed
from sparkmirror.doctor.verdict import Judge, Verdict, count, some_of
from sparkmirror.doctor.versions import release_of
from sparkmirror.protocol import codes

STOPS = ""
_HOLES = (
    "holes are filled by empty transactions, which is slow and takes WRITE on transactional ids sparkmirror.*, else "
    "offsets are translated"
)


class Lack(NamedTuple):
    """`lost`: what does not work without the right; `STOPS`: the flow does not."""

    cluster: str
    operation: str
    lost: str


def judge_rights(facts: FlowFacts, clusters: Mapping[str, ClusterFacts]) -> Iterator[Verdict]:
    judge = Judge(facts.flow.name, "rights")
    lacks: dict[Lack, list[str]] = {}
    asked = [need for need in facts.needs if need.cluster in facts.rights]
    for need in asked:
        for lack in _lacks_of_topic(facts, need):
            lacks.setdefault(lack, []).append(need.topic)
    found = [
        *(_of_topics(judge, lack, topics) for lack, topics in lacks.items()),
        *(_of_cluster(judge, lack) for lack in _lacks_of_cluster(facts, clusters)),
        *(judge.skips(f"not checked: {said}", f"see the brokers of {alias}") for alias, said in facts.problems.items()),
    ]
    return judge.all_or(found, f"all that is needed on {count(len(asked), 'topic')}")


def judge_topics(facts: FlowFacts) -> Iterator[Verdict]:
    """Whether there is something to mirror, and the target would take the topics that are missing."""
    judge = Judge(facts.flow.name, "topics")
    found = [
        judge.fails(
            f"topic {topic} can't be made on {alias}: {error}", "see the brokers' policies, or make the topic by hand"
        )
        for alias, refused in facts.refused.items()
        for topic, error in refused.items()
        if error.code not in codes.FORBIDDEN | {codes.INVALID_REPLICATION_FACTOR}
    ]
    if not facts.remotes:
        alias = facts.flow.source.alias
        said = f"no topic of {alias} matches {', '.join(facts.flow.topics)}, or the user may not see it"
        found.append(
            judge.warns(said, f"make one, correct `topics`, or give the user DESCRIBE on it in cluster {alias}")
        )
    return judge.all_or(found, f"{count(len(facts.remotes), 'topic')}: {some_of(sorted(facts.remotes))}")


def _lacks_of_topic(facts: FlowFacts, need: TopicNeed) -> Iterator[Lack]:
    if facts.is_there(need):
        operations = facts.rights[need.cluster].of_topics[need.topic].operations
        yield from (Lack(need.cluster, op, STOPS) for op in need.must if op not in operations)
        yield from (Lack(need.cluster, op, lost) for op, lost in need.should.items() if op not in operations)
        return
    lost = STOPS if need.must else next(iter(need.should.values()), STOPS)
    shown = facts.rights[need.cluster].of_topics.get(need.topic)
    if shown is not None and shown.error in codes.FORBIDDEN:
        yield Lack(need.cluster, "DESCRIBE", lost)
    refused = facts.refused.get(need.cluster, {}).get(need.topic)
    if refused is not None and refused.code in codes.FORBIDDEN:
        yield Lack(need.cluster, "CREATE", lost)
    if not facts.appendable.get(need.cluster, {}).get(need.topic, True):
        yield Lack(need.cluster, "WRITE", lost)


def _lacks_of_cluster(facts: FlowFacts, clusters: Mapping[str, ClusterFacts]) -> Iterator[Lack]:
    source, target = facts.flow.source.alias, facts.flow.target.alias
    if facts.may_write_markers is False:
        yield Lack(target, "ALTER", _HOLES)
    if facts.syncs_acls:
        for alias, operation in ((source, "DESCRIBE"), (target, "DESCRIBE"), (target, "ALTER")):
            if alias in facts.rights and operation not in (facts.rights[alias].of_cluster or ()):
                yield Lack(alias, operation, "rights (ACLs) are not kept alike")
    given = facts.rights[target].of_cluster if target in facts.rights else None
    releases = [release_of(each.versions) for each in clusters[target].bootstrap if not each.problem]
    if given is not None and "IDEMPOTENT_WRITE" not in given and min(releases, default="2.8") < "2.8":
        yield Lack(target, "IDEMPOTENT_WRITE", STOPS)


def _of_topics(judge: Judge, lack: Lack, topics: list[str]) -> Verdict:
    said = f"{lack.operation} is missing on {count(len(topics), 'topic')} of {lack.cluster}: {some_of(topics)}"
    return _verdict(judge, lack, said, f"--topic {topics[0]}")


def _of_cluster(judge: Judge, lack: Lack) -> Verdict:
    return _verdict(judge, lack, f"{lack.operation} is missing on the cluster {lack.cluster}", "--cluster")


def _verdict(judge: Judge, lack: Lack, said: str, where: str) -> Verdict:
    operation = lack.operation.title().replace("_", "")
    cure = f"on {lack.cluster}: kafka-acls --add --allow-principal User:MIRROR --operation {operation} {where}"
    return judge.fails(said, cure) if lack.lost == STOPS else judge.warns(f"{said}: {lack.lost}", cure)
