"""What there is to mirror: looks at both clusters, makes the remote topics, says which partitions can be copied."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.lag import Ends
from sparkmirror.control.mixed_topics import plan_held
from sparkmirror.control.step import admin_step
from sparkmirror.control.topic_facts import Refusal, find_hidden_facts, find_topic_facts
from sparkmirror.copy.lease import LeasePartition
from sparkmirror.errors import BrokerError
from sparkmirror.net.cluster import Cluster, Leader, Metadata
from sparkmirror.net.denial import Denial, describe_denial
from sparkmirror.net.log import format_topic_id
from sparkmirror.net.offsets import EARLIEST, LATEST, list_offsets
from sparkmirror.net.topics import extend_topic, read_ids, topic_ids
from sparkmirror.offsets.claims import Claims
from sparkmirror.offsets.topic_memory import MadeTopic, TopicConfigs
from sparkmirror.protocol import codes
from sparkmirror.sync.topics import NewTopic, TopicMaker
from sparkmirror.topology.fact import Fact
from sparkmirror.topology.incarnation import TopicIds
from sparkmirror.topology.known_configs import KnownConfigs
from sparkmirror.topology.right import TOPIC, Right
from sparkmirror.topology.select import TopicPair, TopicPlan, TopicSelector, TopicToExtend, plan_topics
from sparkmirror.topology.standing import Standing

log = logging.getLogger("sparkmirror.discovery")

Place = tuple[str, int]
FindUnlike = Callable[[Mapping[str, TopicIds]], Mapping[str, str] | None]


@dataclass(frozen=True, slots=True)
class Landscape:
    """One look at a flow."""

    partitions: tuple[LeasePartition, ...]
    leaders: dict[Place, Leader]
    pending: int  # topics that still wait for their creation or extension
    pairs: tuple[TopicPair, ...] = ()
    facts: dict[Place, Fact] = field(default_factory=dict)
    source_topics: Collection[str] = ()
    claims_end: int = 0  # how far the claim topic was known when it was begun


class Discovery:
    """Looks at the clusters of one flow. Blocking."""

    def __init__(
        self, flow: FlowConfig, source: Cluster, target: Cluster, claims: Claims, find_unlike: FindUnlike
    ) -> None:
        """`find_unlike`: see `IncarnationGuard`."""
        self._claims = claims
        self._find_unlike = find_unlike
        self._flow = flow
        self.selector = TopicSelector.of(flow)
        self._maker = TopicMaker(flow, source, target)
        self._source = source
        self._target = target
        self._metadata: tuple[Metadata, Metadata] | None = None
        self._chosen: dict[str, int] | None = None  # partitions by topic, where none are to be added
        self._shown = set(self.selector.pick_named(flow.topics))  # source topics that were mirrored when last looked

    def expect(self, topics: Iterable[str]) -> None:
        """These were mirrored by an earlier driver: say it if they can't be seen."""
        self._shown |= set(topics)

    def look(self) -> Landscape:
        """Bring the target's topics up to the plan, and say what can be mirrored now."""
        claims_end = self._claims.read_to
        source, target, plan = self._plan()
        refusals: dict[str, Refusal] = {}
        if plan.create or plan.extend:
            refusals = self._apply(plan, source, target)
            source, target, plan = self._plan()
        self._metadata = (source, target)
        if news := plan_held(plan.pairs, topic_ids(target.topics.values()), self._claims.memory):
            self._claims.note_held(news)
        origins = self._claims.claim_origins([(m.source.topic, m.source.partition) for m in plan.mirror if m.is_shared])
        # Where names stay both ways the flow's own id will do: each target partition has one origin.
        mutual_id = self._claims.claim_producer_id() if self._flow.naming.is_mutual else None
        partitions = tuple(
            LeasePartition(
                topic=m.source.topic,
                partition=m.source.partition,
                remote=m.target.topic,
                onto=m.target.partition if m.is_shared else None,
                producer_id=origins.get((m.source.topic, m.source.partition), mutual_id),
                is_ours=self._claims.memory.is_made(m.target.topic, _topic_id(target, m.target.topic)),
            )
            for m in plan.mirror
            if not m.is_shared or (m.source.topic, m.source.partition) in origins
        )
        leaders = {
            (m.source.topic, m.source.partition): source.topics[m.source.topic].leaders[m.source.partition]
            for m in plan.mirror
        }
        pending = sum(pair.present < (1 if pair.is_shared else pair.partitions) for pair in plan.pairs)
        found = find_topic_facts(plan.pairs, refusals) | self._find_hidden(source, plan)
        return Landscape(partitions, leaders, pending, plan.pairs, found, source.topics.keys(), claims_end)

    def _find_hidden(self, source: Metadata, plan: TopicPlan) -> dict[Place, Fact]:
        """Who may not see a topic is told nothing of it, as if it were gone; but asked for by name it is refused."""
        here = _keep_hidden(self._source, self._shown - source.topics.keys())
        there = _keep_hidden(self._target, {new.topic for new in plan.create})
        self._shown = {pair.topic for pair in plan.pairs} | here
        denials = {topic: _hidden(self._source, "READ", topic) for topic in here}
        denials |= {p.topic: _hidden(self._target, "WRITE", p.remote) for p in plan.pairs if p.remote in there}
        return find_hidden_facts(denials)

    def last_seen(self) -> tuple[Metadata, Metadata]:
        """The two clusters as the last look found them."""
        assert self._metadata is not None
        return self._metadata

    def fetch_ends(
        self, partitions: tuple[LeasePartition, ...], progress: Mapping[Place, Standing]
    ) -> dict[Place, Ends]:
        """Both logs' ends; partitions that one side does not answer for are left out.

        The target is asked first: whatever of it is ours, the source has.
        """
        if self._metadata is None:
            return {}
        source, target = self._metadata
        there = list_offsets(
            self._target, pick_leaders(target, ((p.remote, p.target_partition) for p in partitions)), LATEST
        )
        leaders = pick_leaders(source, ((p.topic, p.partition) for p in partitions))
        stable = list_offsets(self._source, leaders, LATEST, committed=self._flow.read_committed)
        high = list_offsets(self._source, leaders, LATEST)
        return {
            place: Ends(
                stable[place],
                high[place],
                there[p.remote, p.target_partition],
                _copied(p, progress.get(place), there[p.remote, p.target_partition]),
            )
            for p in partitions
            if (place := (p.topic, p.partition)) in stable and place in high and (p.remote, p.target_partition) in there
        }

    def fetch_target_starts(self, partitions: Iterable[LeasePartition]) -> dict[Place, int]:
        """Where the target's logs begin, by source place."""
        if self._metadata is None:
            return {}
        remotes = {(p.topic, p.partition): (p.remote, p.target_partition) for p in partitions}
        starts = list_offsets(self._target, pick_leaders(self._metadata[1], remotes.values()), EARLIEST)
        return {place: starts[remote] for place, remote in remotes.items() if remote in starts}

    def _plan(self) -> tuple[Metadata, Metadata, TopicPlan]:
        with admin_step(self._flow):
            source, target = self._source.fetch_metadata(), self._target.fetch_metadata()
        here = self._restrict(count_partitions(source))
        return source, target, plan_topics(here, count_partitions(target), self.selector)

    def _restrict(self, topics: dict[str, int]) -> dict[str, int]:
        """With `refresh.topics.enabled=false` only what the first look found."""
        if self._flow.refresh_topics:
            return topics
        if self._chosen is None:
            self._chosen = topics
        chosen = self._chosen
        return {topic: min(count, chosen[topic]) for topic, count in topics.items() if topic in chosen}

    def _apply(self, plan: TopicPlan, source: Metadata, target: Metadata) -> dict[str, Refusal]:
        """Carry it out as far as the target lets us; what it refuses by remote topic."""
        refusals: dict[str, Refusal | None] = {}
        for new in self._maker.plan(plan.create, source, target) if plan.create else ():
            refusals[new.topic] = self._make(new, source)
        for grown, why in self._list_extensions(plan, source, target):
            refusals[grown.topic] = (
                Refusal(codes.NONE, why)
                if why
                else self._try(
                    grown.topic,
                    lambda g=grown: extend_topic(self._target, g.topic, g.partitions),  # type: ignore[misc]
                    f"extended to {grown.partitions} partitions",
                )
            )
        return {topic: refusal for topic, refusal in refusals.items() if refusal}

    def _list_extensions(self, plan: TopicPlan, source: Metadata, target: Metadata) -> list[tuple[TopicToExtend, str]]:
        """With the reason why not: partitions of a topic that was made anew are none of the old one's copy."""
        remotes = {pair.topic: pair.remote for pair in plan.pairs if pair.present}
        unlike = self._find_unlike(read_ids(remotes, source, target)) if plan.extend else {}
        if unlike is None:  # left to the driver that leads
            return []
        held = {remotes[topic]: why for topic, why in unlike.items()}
        return [(grown, held.get(grown.topic, "")) for grown in plan.extend]

    def _make(self, new: NewTopic, source: Metadata) -> Refusal | None:
        """What it makes it remembers, under the new topic's id."""
        if new.refusal:
            return Refusal(codes.NONE, new.refusal)

        def work() -> None:
            made = self._maker.make(new)
            if made is not None:
                topic_id = format_topic_id(made)
                source_id = _topic_id(source, new.source)
                self._claims.note_made({new.topic: MadeTopic(topic_id, new.source, source.cluster_id, source_id)})
                known = KnownConfigs(source_id=source_id).having(new.configs)
                self._claims.note_configs({new.topic: TopicConfigs(topic_id, known)})

        for warning in new.warnings:
            log.warning("flow %s: topic %s: %s", self._flow.name, new.topic, warning)
        return self._try(new.topic, work, f"created with {new.partitions} partitions")

    def _try(self, topic: str, work: Callable[[], None], done: str) -> Refusal | None:
        """One topic's failure does not keep the others."""
        try:
            with admin_step(self._flow):
                work()
        except BrokerError as error:
            return Refusal(error.code, str(error))
        log.info("flow %s: topic %s %s", self._flow.name, topic, done)
        return None


def _copied(leased: LeasePartition, known: Standing | None, target_end: int) -> int | None:
    """What progress says, but for what the target has lost since: it ends before the known end."""
    if known and known.translated:
        return max(0, known.next_offset - max(0, known.target_end - target_end))
    return 0 if leased.producer_id is not None else None


def _keep_hidden(cluster: Cluster, topics: Collection[str]) -> set[str]:
    answers = cluster.fetch_metadata(sorted(topics)).topics if topics else {}
    return {name for name, info in answers.items() if info.error in codes.FORBIDDEN}


def _hidden(cluster: Cluster, needs: str, topic: str) -> Denial:
    """DESCRIBE alone would show it, and be of no use."""
    return describe_denial(cluster.address, Right(needs, TOPIC, topic), codes.TOPIC_AUTHORIZATION_FAILED)


def count_partitions(metadata: Metadata) -> dict[str, int]:
    return {t.name: len(t.leaders) for t in metadata.topics.values() if not t.error and not t.internal}


def _topic_id(metadata: Metadata, topic: str) -> str:
    return format_topic_id(metadata.topics[topic].topic_id)


def pick_leaders(metadata: Metadata, places: Iterable[Place]) -> Mapping[Place, Leader]:
    found = {}
    for topic, partition in places:
        info = metadata.topics.get(topic)
        if info and partition in info.leaders:
            found[topic, partition] = info.leaders[partition]
    return found
