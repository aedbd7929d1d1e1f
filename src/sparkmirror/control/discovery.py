"""What there is to mirror: looks at both clusters, makes the remote topics, says which partitions can be copied."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from kafka.protocol.admin import CreatePartitionsRequest

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.topic_facts import Refusal, find_hidden_facts, find_topic_facts
from sparkmirror.copy.lease import LeasePartition
from sparkmirror.errors import BrokerError
from sparkmirror.net.cluster import Cluster, Leader, Metadata
from sparkmirror.net.delete import delete_records
from sparkmirror.net.log import format_topic_id
from sparkmirror.net.offsets import EARLIEST, LATEST, list_offsets
from sparkmirror.net.response import only_answer
from sparkmirror.offsets.claims import Claims
from sparkmirror.offsets.internal_topic import create_topic
from sparkmirror.protocol import codes
from sparkmirror.topology.fact import Fact
from sparkmirror.topology.select import TopicPair, TopicPlan, plan_topics

log = logging.getLogger("sparkmirror.discovery")

ADMIN_TIMEOUT_MS = 15_000

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Ends:
    """Where a partition's logs end: what of the source is to be copied, its high watermark, the target's."""

    source: int
    source_high: int
    target: int

    @property
    def lag(self) -> int:
        return max(0, self.source - self.target)


@dataclass(frozen=True, slots=True)
class Landscape:
    """One look at a flow."""

    partitions: tuple[LeasePartition, ...]
    leaders: dict[Place, Leader]
    pending: int  # topics that still wait for their creation or extension
    pairs: tuple[TopicPair, ...] = ()
    facts: dict[Place, Fact] = field(default_factory=dict)


class Discovery:
    """Looks at the clusters of one flow. Blocking."""

    def __init__(self, flow: FlowConfig, source: Cluster, target: Cluster, claims: Claims) -> None:
        self._claims = claims
        self._flow = flow
        self._source = source
        self._target = target
        self._metadata: tuple[Metadata, Metadata] | None = None
        self._shown: set[str] = set()  # source topics that were mirrored when last looked

    def expect(self, topics: Iterable[str]) -> None:
        """These were mirrored by an earlier driver: say it if they can't be seen."""
        self._shown |= set(topics)

    def look(self) -> Landscape:
        """Bring the target's topics up to the plan, and say what can be mirrored now."""
        source, target, plan = self._plan()
        refusals: dict[str, Refusal] = {}
        if plan.create or plan.extend:
            refusals = self._apply(plan)
            made = {new.topic for new in plan.create} - refusals.keys()
            source, target, plan = self._plan()
            for topic in made & target.topics.keys():
                self._claims.note_made(topic, format_topic_id(target.topics[topic].topic_id))
        self._metadata = (source, target)
        partitions = tuple(
            LeasePartition(
                topic=m.source.topic,
                partition=m.source.partition,
                remote=m.remote_topic,
                is_ours=self._claims.made.get(m.remote_topic)
                == format_topic_id(target.topics[m.remote_topic].topic_id),
            )
            for m in plan.mirror
        )
        leaders = {
            (m.source.topic, m.source.partition): source.topics[m.source.topic].leaders[m.source.partition]
            for m in plan.mirror
        }
        pending = len(plan.create) + len(plan.extend)
        found = find_topic_facts(plan.pairs, refusals) | self._find_hidden(source, plan)
        return Landscape(partitions, leaders, pending, plan.pairs, found)

    def _find_hidden(self, source: Metadata, plan: TopicPlan) -> dict[Place, Fact]:
        """Who may not see a topic is told nothing of it, as if it were gone; but asked for by name it is refused."""
        here = _keep_hidden(self._source, self._shown - source.topics.keys())
        there = _keep_hidden(self._target, {new.topic for new in plan.create})
        self._shown = {pair.topic for pair in plan.pairs} | here
        unseen = [pair.topic for pair in plan.pairs if pair.remote in there]
        return find_hidden_facts(here, "source") | find_hidden_facts(unseen, "target")

    def fetch_ends(self, partitions: tuple[LeasePartition, ...]) -> dict[Place, Ends]:
        """Both logs' ends; partitions that one side does not answer for are left out."""
        if self._metadata is None:
            return {}
        source, target = self._metadata
        leaders = pick_leaders(source, ((p.topic, p.partition) for p in partitions))
        stable = list_offsets(self._source, leaders, LATEST, committed=self._flow.read_committed)
        high = list_offsets(self._source, leaders, LATEST)
        there = list_offsets(self._target, pick_leaders(target, ((p.remote, p.partition) for p in partitions)), LATEST)
        return {
            place: Ends(stable[place], high[place], there[p.remote, p.partition])
            for p in partitions
            if (place := (p.topic, p.partition)) in stable and place in high and (p.remote, p.partition) in there
        }

    def sync_log_starts(self, partitions: Iterable[LeasePartition]) -> None:
        """Let the target's logs begin where the source's do, for partitions with equal offsets."""
        if self._metadata is None:
            return
        source, target = self._metadata
        pairs = {(p.topic, p.partition): (p.remote, p.partition) for p in partitions}
        leaders = pick_leaders(target, pairs.values())
        here = list_offsets(self._source, pick_leaders(source, pairs), EARLIEST)
        there = list_offsets(self._target, leaders, EARLIEST)
        ends = list_offsets(self._target, leaders, LATEST)
        before = {
            remote: min(here[place], ends[remote])
            for place, remote in pairs.items()
            if place in here and remote in there and remote in ends and there[remote] < min(here[place], ends[remote])
        }
        for (topic, partition), code in delete_records(self._target, leaders, before).items():
            if code:
                log.warning(
                    "flow %s: the log of %s-%d can't begin at %d: %s",
                    self._flow.name, topic, partition, before[topic, partition], codes.name_of(code),
                )  # fmt: skip

    def _plan(self) -> tuple[Metadata, Metadata, TopicPlan]:
        source, target = self._source.fetch_metadata(), self._target.fetch_metadata()
        return source, target, plan_topics(count_partitions(source), count_partitions(target), self._flow)

    def _apply(self, plan: TopicPlan) -> dict[str, Refusal]:
        """Carry it out as far as the target lets us; what it refuses by remote topic."""
        refusals: dict[str, Refusal | None] = {}
        for new in plan.create:
            refusals[new.topic] = self._try(
                new.topic,
                lambda n=new: create_topic(self._target, n.topic, n.partitions, n.replication_factor),  # type: ignore[misc]
                f"created with {new.partitions} partitions",
            )
        for grown in plan.extend:
            refusals[grown.topic] = self._try(
                grown.topic,
                lambda g=grown: self._extend(g.topic, g.partitions),  # type: ignore[misc]
                f"extended to {grown.partitions} partitions",
            )
        return {topic: refusal for topic, refusal in refusals.items() if refusal}

    def _try(self, topic: str, work: Callable[[], None], done: str) -> Refusal | None:
        """One topic's failure does not keep the others."""
        try:
            work()
        except BrokerError as error:
            advice = ""
            if error.code == codes.INVALID_REPLICATION_FACTOR:
                advice = f" (replication.factor is {self._flow.replication_factor}; set it to what the cluster has)"
            return Refusal(error.code, f"{error}{advice}")
        log.info("flow %s: topic %s %s", self._flow.name, topic, done)
        return None

    def _extend(self, topic: str, partitions: int) -> None:
        wanted = CreatePartitionsRequest.CreatePartitionsTopic(name=topic, count=partitions, assignments=None)
        request = CreatePartitionsRequest(topics=[wanted], timeout_ms=ADMIN_TIMEOUT_MS, validate_only=False)
        answer = only_answer(self._target.call_controller(request).results, f"extension of {topic}")
        if answer.error_code != codes.INVALID_PARTITIONS:  # somebody else was faster
            codes.raise_for(answer.error_code, f"topic {topic} can't be extended")


def _keep_hidden(cluster: Cluster, topics: Collection[str]) -> set[str]:
    answers = cluster.fetch_metadata(sorted(topics)).topics if topics else {}
    return {name for name, info in answers.items() if info.error in codes.FORBIDDEN}


def count_partitions(metadata: Metadata) -> dict[str, int]:
    return {t.name: len(t.leaders) for t in metadata.topics.values() if not t.error and not t.internal}


def pick_leaders(metadata: Metadata, places: Iterable[Place]) -> Mapping[Place, Leader]:
    found = {}
    for topic, partition in places:
        info = metadata.topics.get(topic)
        if info and partition in info.leaders:
            found[topic, partition] = info.leaders[partition]
    return found
