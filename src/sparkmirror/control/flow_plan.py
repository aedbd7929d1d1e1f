"""What a run of the mirror would make and change, asked of the clusters: it changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from sparkmirror.config.model import FlowConfig, MirrorConfig
from sparkmirror.control.address import flow_address, own_principals
from sparkmirror.control.discovery import count_partitions
from sparkmirror.control.mixed_topics import find_kept_for_others, find_mixed
from sparkmirror.control.storage import plan_storage_topics
from sparkmirror.control.survey import FlowSurvey, survey_flow
from sparkmirror.errors import SparkmirrorError
from sparkmirror.net.cluster import Cluster, Metadata
from sparkmirror.net.configs import describe_topic_configs
from sparkmirror.net.log import format_topic_id
from sparkmirror.net.topics import read_ids
from sparkmirror.offsets.claims import read_memory
from sparkmirror.offsets.facts_topic import FactsTopic
from sparkmirror.offsets.progress import ProgressTopic
from sparkmirror.offsets.topic_memory import MadeTopic, TopicMemory
from sparkmirror.sync.acls import AclSync
from sparkmirror.sync.configs import ConfigSync
from sparkmirror.sync.deletes import fetch_ends, find_shared, is_gone, plan_deletes
from sparkmirror.sync.topics import TopicMaker, left_out_text
from sparkmirror.topology.acls import describe_acl
from sparkmirror.topology.choose import choose_config_filter, choose_policy, find_unmatched
from sparkmirror.topology.factors import plan_factor, why_impossible
from sparkmirror.topology.incarnation import find_foreign, find_kept, find_others, find_written
from sparkmirror.topology.internal_topics import (
    COMPACT,
    InternalTopicPlan,
    lacking_configs,
    losing_policy,
    plan_heartbeats_topic,
    plan_internal_topics,
)
from sparkmirror.topology.select import TopicPair, TopicSelector, plan_topics
from sparkmirror.topology.storage import Storage
from sparkmirror.topology.topic_configs import OF_TOPIC, ConfigEntry, kept_text, plan_new_configs

AT_ONCE = 8  # flows that are asked at the same time

CREATE, EXTEND, SET, REMOVE, GRANT, DELETE = "create", "extend", "set", "remove", "grant", "delete"
COPY = "copy"  # only where a run can't


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing to do to a topic. `values`: the same as `detail`, for programs; `refusal`: why it can't be done."""

    action: str
    cluster: str
    topic: str
    detail: str
    values: Mapping[str, object] = field(default_factory=dict)
    refusal: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowPlan:
    """`problem`: why there is nothing to show; `notes`: what is worth knowing beside the steps."""

    flow: str
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
    problem: str = ""


def plan_mirror(config: MirrorConfig) -> list[FlowPlan]:
    """All flows, then the pairs that only emit heartbeats, at the same time."""
    beating = [each for each in (*config.flows, *config.heartbeat_pairs) if each.heartbeats.interval_s is not None]
    coming = {each.target.alias: plan_heartbeats_topic(each, choose_policy(each)) for each in beating}
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="plan") as pool:
        flows = pool.map(lambda flow: plan_flow(flow, coming.get(flow.source.alias)), config.flows)
        return [*flows, *pool.map(plan_pair, config.heartbeat_pairs)]


def plan_flow(flow: FlowConfig, heartbeats: InternalTopicPlan | None = None) -> FlowPlan:
    """`heartbeats`: the topic that the run sees to on the source, and mirrors when it is there."""
    try:
        with Cluster(flow_address(flow.source, flow)) as source, Cluster(flow_address(flow.target, flow)) as target:
            plan = _Planner(flow, source, target, heartbeats).plan()
            survey = survey_flow(flow)
            steps = (*_unless_tried(plan.steps, survey), *_rival_steps(flow, survey), *_stuck_steps(flow, survey))
            told = (f"{', '.join(names)}: {said}" for said, names in survey.told().items())
            return replace(plan, steps=steps, notes=(*plan.notes, *told))
    except SparkmirrorError as error:
        return FlowPlan(flow=flow.name, problem=str(error))


def _unless_tried(steps: Iterable[Step], survey: FlowSurvey) -> Iterator[Step]:
    """What a run has tried, and was refused."""
    unmade = survey.unmade()
    for step in steps:
        is_tried = step.action in (CREATE, EXTEND) and not step.refusal
        yield replace(step, refusal=unmade.get(step.topic, "")) if is_tried else step


def _rival_steps(flow: FlowConfig, survey: FlowSurvey) -> Iterator[Step]:
    if survey.rival:
        detail = "every topic"
        yield Step(action=COPY, cluster=flow.target.alias, topic="*", detail=detail, values={}, refusal=survey.rival)


def _stuck_steps(flow: FlowConfig, survey: FlowSurvey) -> Iterator[Step]:
    """What a run would copy, and can't."""
    for said, topics in survey.unseen().items():
        for topic in topics:
            yield Step(action=COPY, cluster=flow.source.alias, topic=topic, detail="all", values={}, refusal=said)
    for said, rows in survey.stuck().items():
        for remote in dict.fromkeys(row.target_topic for row in rows):
            numbers = [row.partition for row in rows if row.target_topic == remote]
            text = f"partition{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"
            values = {"partitions": numbers}
            refusal = f"{text}: {said}"
            cluster = flow.target.alias
            yield Step(action=COPY, cluster=cluster, topic=remote, detail=text, values=values, refusal=refusal)


def plan_pair(pair: FlowConfig) -> FlowPlan:
    """Nothing but its heartbeats' topic."""
    try:
        with Cluster(flow_address(pair.target, pair)) as target:
            topic = plan_heartbeats_topic(pair, choose_policy(pair))
            steps = tuple(_internal_steps([topic], target, target.fetch_metadata()))
            return FlowPlan(flow=pair.name, steps=steps, notes=("not enabled: only heartbeats are emitted",))
    except SparkmirrorError as error:
        return FlowPlan(flow=pair.name, problem=str(error))


class _Planner:
    """One flow's, while its clusters are connected."""

    def __init__(
        self, flow: FlowConfig, source: Cluster, target: Cluster, heartbeats: InternalTopicPlan | None
    ) -> None:
        self._flow = flow
        self._heartbeats = heartbeats
        self._source = source
        self._target = target
        self._selector = TopicSelector.of(flow)
        self._here = source.fetch_metadata()
        self._there = target.fetch_metadata()
        self._topics = plan_topics(count_partitions(self._here), count_partitions(self._there), self._selector)
        storage = Storage.of(flow)
        has_claims = storage.claims in self._there.topics
        self._memory = read_memory(target, storage) if has_claims else TopicMemory()
        self._facts = FactsTopic(target, storage).read() if storage.status in self._there.topics else {}
        has_progress = storage.progress in self._there.topics
        self._standings = ProgressTopic(target, storage).read() if has_progress else {}
        self._held = self._find_held()
        self._notes = list(find_unmatched(flow, self._here.topics))

    def _find_held(self) -> dict[str, str]:
        """Remote topics that are not the copies of their source topics any more, and are left as they are."""
        remotes = {pair.topic: pair.remote for pair in self._topics.pairs if pair.present}
        others = find_others(read_ids(remotes, self._here, self._there), self._standings, self._facts)
        return {remotes[topic]: why for topic, why in others.items()}

    def plan(self) -> FlowPlan:
        steps = [
            *self._internal_topics(),
            *self._new_topics(),
            *self._coming_heartbeats(),
            *self._extensions(),
            *self._configs(),
            *self._acls(),
            *self._deletes(),
        ]
        return FlowPlan(flow=self._flow.name, steps=tuple(steps), notes=tuple(self._notes))

    def _internal_topics(self) -> Iterator[Step]:
        wanted = plan_internal_topics(self._flow, self._selector.policy)
        yield from _internal_steps(plan_storage_topics(self._flow), self._target, self._there, keeps_all=True)
        yield from _internal_steps([t for t in wanted if not t.on_source], self._target, self._there)
        yield from _internal_steps([t for t in wanted if t.on_source], self._source, self._here)

    def _new_topics(self) -> Iterator[Step]:
        maker = TopicMaker(self._flow, self._source, self._target)
        for new in maker.plan(self._topics.create, self._here, self._there) if self._topics.create else ():
            self._notes += (f"{new.topic}: {warning}" for warning in new.warnings)
            yield _creation(
                self._flow.target.alias,
                new.topic,
                new.partitions,
                new.replication_factor,
                new.configs,
                new.refusal,
            )

    def _coming_heartbeats(self) -> Iterator[Step]:
        """The remote topic of heartbeats that are not on the source yet."""
        topic = self._heartbeats
        if topic is None or topic.name in self._here.topics or not self._selector.should_replicate(topic.name):
            return
        remote, alias, live = self._selector.remote_name(topic.name), self._flow.target.alias, len(self._there.brokers)
        if remote in self._there.topics or topic.replication_factor > len(self._here.brokers):
            return
        factor = plan_factor(self._flow.replication_factor, topic.replication_factor, live, alias).value
        entries = {name: ConfigEntry(value, OF_TOPIC) for name, value in topic.configs.items()}
        configs = plan_new_configs(entries, entries, choose_config_filter(self._flow)).set
        refusal = why_impossible("replication.factor", factor, live, alias)
        yield _creation(alias, remote, topic.partitions, factor, configs, refusal)

    def _extensions(self) -> Iterator[Step]:
        for grown in self._topics.extend:
            present = self._there.topics[grown.topic].leaders
            yield Step(
                action=EXTEND,
                cluster=self._flow.target.alias,
                topic=grown.topic,
                detail=f"from {len(present)} to {grown.partitions} partitions",
                values={"partitions": grown.partitions},
            )

    def _configs(self) -> Iterator[Step]:
        if self._flow.sync.configs_interval_s is None:
            return
        pairs = [pair for pair in self._topics.pairs if pair.present and not pair.is_shared]
        remotes = {pair.topic: pair.remote for pair in pairs}
        ids = read_ids(remotes, self._here, self._there)
        known = {remotes[t]: self._memory.configs_of(remotes[t], both.target) for t, both in ids.items()}
        sync = ConfigSync(self._flow, self._source, self._target)
        changes, refused = sync.plan(remotes, known.__getitem__, {topic: both.source for topic, both in ids.items()})
        self._notes += map(str, refused)
        asks_nobody = self._flow.naming.is_mutual or self._flow.sync.configs_strict
        held = ({} if asks_nobody else self._find_mixed(pairs)) | self._held
        for remote, change in changes.items():
            if remote in held:
                self._notes += [f"{remote} keeps its configurations: {held[remote]}"] if change or change.kept else []
                continue
            if left_out := left_out_text(change, self._flow.target.alias):
                self._notes.append(f"{remote}: {left_out}")
            kept = (kept_text(name, *values, self._flow.source.alias) for name, values in change.kept.items())
            self._notes += (f"{remote}: {said}" for said in kept)
            for name, value in change.set.items():
                yield self._change(SET, remote, f"{name}={value}", {name: value})
            for name in change.remove:
                yield self._change(REMOVE, remote, name, {name: None})

    def _acls(self) -> Iterator[Step]:
        if self._flow.sync.acls_interval_s is None:
            return
        pairs = [pair for pair in self._topics.pairs if pair.present]
        remotes = {pair.topic: pair.remote for pair in pairs}
        sync = AclSync(self._flow, self._source, self._target, own_principals(self._flow))
        plan = sync.plan(remotes, self._memory.rights_of)
        if plan.unguarded:
            self._notes.append(f"cluster {plan.unguarded} has no authorizer: no rights (ACLs) are synced")
        mixed = self._find_mixed(pairs)
        for remote, acls in plan.topics.items():
            gone = (describe_acl(grant.on(remote)) for grant in sorted(acls.known.taken_away))
            self._notes += (f"{remote}: {said} stays away, taken away by hand" for said in gone)
            if acls.missing and remote in mixed:
                self._notes.append(f"{remote}: no rights (ACLs) are synced: {mixed[remote]}")
            for acl in (grant.on(remote) for grant in (acls.missing if remote not in mixed else ())):
                yield self._change(GRANT, remote, describe_acl(acl), acl._asdict())

    def _find_mixed(self, pairs: Sequence[TopicPair]) -> dict[str, str]:
        ids = read_ids({pair.topic: pair.remote for pair in pairs}, self._here, self._there)
        foreign = find_foreign(ids, self._standings, self._facts)
        return find_mixed(pairs, ids, self._selector, self._memory, foreign)

    def _deletes(self) -> Iterator[Step]:
        if not self._flow.sync.deletes:
            return
        ids = {topic.name: format_topic_id(topic.topic_id) for topic in self._there.topics.values()}
        made = self._memory.made_from(self._here.cluster_id, ids)
        sources = {remote: one.source for remote, one in made.items()}
        gone = plan_deletes(sources, self._here.topics, self._there.topics, self._selector)
        kept = self._find_kept(gone, made, ids)
        for remote, topic in gone.items():
            if is_gone(self._source, topic, self._here.cluster_id):
                yield self._change(DELETE, remote, f"{topic} is gone", {}, kept.get(topic, ""))

    def _find_kept(
        self, gone: Mapping[str, str], made: Mapping[str, MadeTopic], ids: Mapping[str, str]
    ) -> dict[str, str]:
        remotes = {topic: remote for remote, topic in gone.items()}
        last_ids = {topic: made[remote].source_id for topic, remote in remotes.items()}
        ends = fetch_ends(self._target, self._there, gone)
        shared = find_shared(remotes, self._selector, self._memory.merged, mutual=self._flow.naming.is_mutual)
        kept = find_written(remotes, ends, self._standings) | find_kept(last_ids, self._standings, self._facts)
        return kept | find_kept_for_others(remotes, ids, self._memory) | shared

    def _change(self, action: str, topic: str, detail: str, values: Mapping[str, object], refusal: str = "") -> Step:
        why = refusal or self._held.get(topic, "")
        return Step(
            action=action, cluster=self._flow.target.alias, topic=topic, detail=detail, values=values, refusal=why
        )


def _internal_steps(
    wanted: Sequence[InternalTopicPlan], cluster: Cluster, metadata: Metadata, *, keeps_all: bool = False
) -> Iterator[Step]:
    """`keeps_all`: see `complete_configs`."""
    alias, live = cluster.address.alias, len(metadata.brokers)
    there = describe_topic_configs(cluster, [topic.name for topic in wanted if topic.name in metadata.topics]).found
    for topic in wanted:
        if topic.name in there:
            entries = there[topic.name]
            policy = COMPACT if keeps_all and losing_policy(topic.configs, entries) else {}
            for name, value in {**policy, **lacking_configs(topic.configs, entries)}.items():
                yield Step(action=SET, cluster=alias, topic=topic.name, detail=f"{name}={value}", values={name: value})
        elif topic.name not in metadata.topics:
            refusal = why_impossible(topic.key, topic.replication_factor, live, alias)
            yield _creation(alias, topic.name, topic.partitions, topic.replication_factor, topic.configs, refusal)


def _creation(cluster: str, topic: str, partitions: int, factor: int, configs: Mapping[str, str], refusal: str) -> Step:
    replicas = "the broker's replication factor" if factor < 0 else f"replication factor {factor}"
    words = [
        f"{partitions} partition{'s' * (partitions != 1)}",
        replicas,
        *(f"{name}={value}" for name, value in configs.items()),
    ]
    return Step(
        action=CREATE,
        cluster=cluster,
        topic=topic,
        detail=", ".join(words),
        values={"partitions": partitions, "replication_factor": factor, "configs": dict(configs)},
        refusal=refusal,
    )
