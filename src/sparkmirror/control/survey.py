"""How the flows of a file stand, asked of the clusters alone: it needs no running mirror, and changes nothing.

source metadata, offsets ------+
target metadata, offsets ------+---> assemble ---> rows
progress, facts, leader -------+
(internal topics of the target)
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.address import flow_address
from sparkmirror.control.discovery import Place, count_partitions, pick_leaders
from sparkmirror.control.leadership import is_running
from sparkmirror.control.rival import RivalWatch
from sparkmirror.control.storage import find_unable
from sparkmirror.control.survey_rows import (
    Bounds,
    ByHand,
    GroupAge,
    PartitionRow,
    TopicRow,
    add_by_hand,
    assemble_groups,
    assemble_partitions,
    assemble_topics,
)
from sparkmirror.copy.receipt import STOPPED
from sparkmirror.errors import SparkmirrorError
from sparkmirror.net.cluster import Cluster, Metadata
from sparkmirror.net.log import format_topic_id
from sparkmirror.net.offsets import EARLIEST, LATEST, list_offsets
from sparkmirror.net.topics import read_ids
from sparkmirror.offsets.claims import Leadership, read_leader, read_memory
from sparkmirror.offsets.facts_topic import FactsTopic
from sparkmirror.offsets.group_marks import GroupMarksTopic
from sparkmirror.offsets.halts import Halt
from sparkmirror.offsets.progress import ProgressTopic
from sparkmirror.topology.choose import choose_config_filter
from sparkmirror.topology.fact import WHOLE_FLOW, Fact
from sparkmirror.topology.incarnation import find_others
from sparkmirror.topology.select import TopicPair, TopicSelector, plan_topics
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage

AT_ONCE = 8  # flows that are asked at the same time
SETTLE_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowSurvey:
    """One flow. `problem`: why there is nothing to show; `leader`: who led last, `running` or not; `halt`: if it is.

    `rival`: what is to be said of a MirrorMaker 2 that runs on it. `unable`: why it can't start.
    """

    flow: str
    leader: Leadership | None = None
    running: bool = False
    halt: Halt | None = None
    rival: str = ""
    unable: str = ""
    problem: str = ""
    fact: Fact | None = None
    topics: tuple[TopicRow, ...] = ()
    partitions: tuple[PartitionRow, ...] = ()
    groups: tuple[GroupAge, ...] = ()

    @property
    def stopped(self) -> int:
        unseen = sum(bool(row.fact) and not row.target_topic for row in self.topics)
        return unseen + sum(row.state == STOPPED for row in self.partitions)

    def stuck(self) -> dict[str, list[PartitionRow]]:
        """Partitions that stand still, by the reason."""
        found: dict[str, list[PartitionRow]] = {}
        for row in self.partitions:
            if row.state == STOPPED and row.fact is not None and row.bounds.target_end is not None:
                found.setdefault(row.fact.said, []).append(row)
        return found

    def unseen(self) -> dict[str, list[str]]:
        """Topics that can't be seen any more, by the reason."""
        found: dict[str, list[str]] = {}
        for row in self.topics:
            if row.fact is not None and row.fact.kind == STOPPED and not row.target_topic:
                found.setdefault(row.fact.said, []).append(row.topic)
        return found

    def unmade(self) -> dict[str, str]:
        """Why remote topics that are missing, or some of their partitions, could not be made when that was tried."""
        return {
            row.target_topic: row.fact.said
            for row in self.partitions
            if row.fact is not None and row.fact.kind == STOPPED and row.bounds.target_end is None
        }

    def told(self) -> dict[str, list[str]]:
        """Topics and partitions that wait or go on in spite of something that has a name, by what is said of it."""
        rows = [(f"{row.topic}-{row.partition}", row.fact) for row in self.partitions]
        found: dict[str, list[str]] = {}
        for name, fact in [(row.topic, row.fact) for row in self.topics] + rows:
            if fact is not None and fact.name and fact.kind != STOPPED:
                found.setdefault(fact.said, []).append(name)
        return found

    @property
    def is_whole(self) -> bool:
        """Whether every broker that was asked has answered."""
        return not self.problem and all(row.lag is not None for row in self.partitions)


def survey_flows(flows: Sequence[FlowConfig]) -> list[FlowSurvey]:
    """All flows at the same time: one whose cluster does not answer does not hold up the others."""
    with ThreadPoolExecutor(min(AT_ONCE, len(flows)), thread_name_prefix="survey") as pool:
        return list(pool.map(survey_flow, flows))


def survey_flow(flow: FlowConfig) -> FlowSurvey:
    leader: Leadership | None = None
    halt: Halt | None = None
    groups: tuple[GroupAge, ...] = ()
    rival = unable = ""
    try:
        with Cluster(flow_address(flow.source, flow)) as source, Cluster(flow_address(flow.target, flow)) as target:
            there = target.fetch_metadata()
            leader, halt = find_leader(target, there, flow)
            unable = find_unable(flow, target, there)
            facts = read_facts(target, there, flow)
            groups = read_group_ages(target, there, flow)
            rival = RivalWatch(flow, source, target).look()
            topics, partitions = _collect(flow, source, target, there, facts)
    except SparkmirrorError as error:
        return FlowSurvey(
            flow=flow.name,
            leader=leader,
            running=runs(flow, leader),
            halt=halt,
            rival=rival,
            unable=unable,
            problem=str(error),
            groups=groups,
        )
    return FlowSurvey(
        flow=flow.name,
        leader=leader,
        running=runs(flow, leader),
        halt=halt,
        rival=rival,
        unable=unable,
        fact=facts.get(WHOLE_FLOW),
        topics=topics,
        partitions=partitions,
        groups=groups,
    )


def runs(flow: FlowConfig, leader: Leadership | None) -> bool:
    return is_running(leader, flow.lease_s, time.time() * 1000)


def _collect(
    flow: FlowConfig, source: Cluster, target: Cluster, there: Metadata, facts: Mapping[Place, Fact]
) -> tuple[tuple[TopicRow, ...], tuple[PartitionRow, ...]]:
    here = source.fetch_metadata()
    pairs = plan_topics(count_partitions(here), count_partitions(there), TopicSelector.of(flow)).pairs
    remotes = {pair.topic: pair.remote for pair in pairs if pair.present}

    def assemble() -> tuple[PartitionRow, ...]:
        bounds = _fetch_bounds(source, here, target, there, pairs)
        progress = read_progress(target, there, flow)
        others = find_others(read_ids(remotes, here, there), progress, facts)
        return assemble_partitions(pairs, bounds, progress, facts, flow.read_committed, others)

    rows = assemble()
    known = set(facts.values())
    if any(row.fact is not None and row.fact not in known for row in rows):
        time.sleep(SETTLE_S)  # a leader that was elected just now may say less than it holds
        rows = assemble()
    return add_by_hand(assemble_topics(pairs, facts), read_by_hand(target, there, flow)), rows


def _fetch_bounds(
    source: Cluster, here: Metadata, target: Cluster, there: Metadata, pairs: Iterable[TopicPair]
) -> dict[Place, Bounds]:
    """What the leaders answer; what they do not answer is None. The target is asked first: what it has of ours, the
    source has.
    """
    remotes = {
        (pair.topic, number): (pair.remote, pair.target_of(number))
        for pair in pairs
        for number in range(pair.partitions)
    }
    ours = pick_leaders(here, remotes.keys())
    theirs = pick_leaders(there, remotes.values())
    target_start = list_offsets(target, theirs, EARLIEST)
    target_end = list_offsets(target, theirs, LATEST)
    source_start = list_offsets(source, ours, EARLIEST)
    source_stable = list_offsets(source, ours, LATEST, committed=True)
    source_end = list_offsets(source, ours, LATEST)
    return {
        place: Bounds(
            source_start.get(place),
            source_stable.get(place),
            source_end.get(place),
            target_start.get(remote),
            target_end.get(remote),
        )
        for place, remote in remotes.items()
    }


# -- the target's internal topics; what is not there says nothing, and is not made


def find_leader(target: Cluster, metadata: Metadata, flow: FlowConfig) -> tuple[Leadership | None, Halt | None]:
    storage = Storage.of(flow)
    return read_leader(target, storage) if storage.claims in metadata.topics else (None, None)


def read_progress(target: Cluster, metadata: Metadata, flow: FlowConfig) -> dict[Place, Standing]:
    storage = Storage.of(flow)
    return ProgressTopic(target, storage).read() if storage.progress in metadata.topics else {}


def read_facts(target: Cluster, metadata: Metadata, flow: FlowConfig) -> dict[Place, Fact]:
    storage = Storage.of(flow)
    return FactsTopic(target, storage).read() if storage.status in metadata.topics else {}


def read_by_hand(target: Cluster, metadata: Metadata, flow: FlowConfig) -> dict[str, ByHand]:
    """By remote topic. What the file leaves out of the sync is nobody's concern."""
    storage = Storage.of(flow)
    if storage.claims not in metadata.topics:
        return {}
    memory, chosen = read_memory(target, storage), choose_config_filter(flow)
    found = {}
    for topic in metadata.topics.values():
        known = memory.configs_of(topic.name, format_topic_id(topic.topic_id)).by_hand
        configs = {name: known[name] for name in sorted(known) if chosen.should_replicate_config_property(name)}
        rights = tuple(grant.on(topic.name) for grant in sorted(memory.rights_of(topic.name).taken_away))
        found[topic.name] = ByHand(configs, rights)
    return found


def read_group_ages(target: Cluster, metadata: Metadata, flow: FlowConfig) -> tuple[GroupAge, ...]:
    storage = Storage.of(flow)
    return assemble_groups(GroupMarksTopic(target, storage).read()) if storage.status in metadata.topics else ()
