"""Whether the mirror's user may do what a flow needs, on topics that are there and on those to be made. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sparkmirror.doctor.facts import ClusterFacts, FlowFacts, TopicNeed
from sparkmirror.doctor.verdict import Judge, Verdict, count, some_of
from sparkmirror.doctor.versions import release_of
from sparkmirror.net.principal import NOT_KNOWN
from sparkmirror.protocol import codes
from sparkmirror.topology.least_rights import MARKERS_USE, SOURCE, Names, Row, plan_rights
from sparkmirror.topology.right import CLUSTER, GROUP, TOPIC, Right

STOPS = ""


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
    grants = _Grants(judge, facts)
    found = [
        *(grants.on_topics(lack, topics) for lack, topics in lacks.items()),
        *(grants.on_groups(lack, groups) for lack, groups in _lacks_of_groups(facts).items()),
        *(grants.on_cluster(lack) for lack in _lacks_of_cluster(facts, clusters)),
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
    found += (
        judge.warns(
            f"topic {topic} can be made on {alias} only without settings that it can spare: {error}",
            "nothing, unless you want them: then let the brokers take them",
        )
        for alias, unfit in facts.unfit.items()
        for topic, error in unfit.items()
    )
    alias = facts.flow.source.alias
    cure = f"make one, correct `topics`, or give the user DESCRIBE on it in cluster {alias}"
    found += (judge.warns(said, cure) for said in facts.unmatched)
    if not facts.remotes and not facts.unmatched:
        found.append(judge.warns(f"{facts.flow.topic_filter_class} takes no topic of {alias}", cure))
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
    for row, right in plan_rights(facts.flow, Names.of(facts.flow, (), ())):
        alias = _alias(facts, row)
        if right.resource != CLUSTER or alias not in facts.rights:
            continue
        if row.use == MARKERS_USE:
            is_missing = facts.may_write_markers is False
        else:
            is_missing = facts.syncs_acls and right.operation not in (facts.rights[alias].of_cluster or ())
        if is_missing:
            yield Lack(alias, right.operation, row.without)
    target = facts.flow.target.alias
    given = facts.rights[target].of_cluster if target in facts.rights else None
    releases = [release_of(each.versions) for each in clusters[target].bootstrap if not each.problem]
    if given is not None and "IDEMPOTENT_WRITE" not in given and min(releases, default="2.8") < "2.8":
        yield Lack(target, "IDEMPOTENT_WRITE", STOPS)


def _lacks_of_groups(facts: FlowFacts) -> dict[Lack, list[str]]:
    found: dict[Lack, list[str]] = {}
    for row, right in plan_rights(facts.flow, Names.of(facts.flow, (), ("any",))):
        alias = _alias(facts, row)
        if right.resource == GROUP:
            refused = facts.refused_groups.get(alias, {})
            groups = [group for group, operation in refused.items() if operation == right.operation]
            if groups:
                found[Lack(alias, right.operation, row.without)] = groups
    return found


def _alias(facts: FlowFacts, row: Row) -> str:
    return facts.flow.source.alias if row.side == SOURCE else facts.flow.target.alias


class _Grants(NamedTuple):
    """Words what is missing, and how it is granted."""

    judge: Judge
    facts: FlowFacts

    def on_topics(self, lack: Lack, topics: list[str]) -> Verdict:
        return self._on_some(lack, TOPIC, topics)

    def on_groups(self, lack: Lack, groups: list[str]) -> Verdict:
        return self._on_some(lack, GROUP, groups)

    def on_cluster(self, lack: Lack) -> Verdict:
        said = f"{lack.operation} is missing on the cluster {lack.cluster}"
        return self._verdict(lack, said, Right(lack.operation, CLUSTER))

    def _on_some(self, lack: Lack, kind: str, names: list[str]) -> Verdict:
        said = f"{lack.operation} is missing on {count(len(names), kind)} of {lack.cluster}: {some_of(names)}"
        return self._verdict(lack, said, Right(lack.operation, kind, names[0]))

    def _verdict(self, lack: Lack, said: str, right: Right) -> Verdict:
        flow, principal = self.facts.flow, self.facts.principals.get(lack.cluster, NOT_KNOWN)
        cluster = flow.source if flow.source.alias == lack.cluster else flow.target
        cure = right.grant(principal, ",".join(cluster.bootstrap_servers))
        if lack.lost == STOPS:
            return self.judge.fails(said, cure)
        return self.judge.warns(f"{said}: {lack.lost}", cure)
