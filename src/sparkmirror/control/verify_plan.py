"""What of a flow can be compared, asked of the clusters in an order in which nothing that moves is a difference.

1  progress            equal offsets: the target must have at least this
2  the target's ends   equal offsets: what stands before is compared; what comes later is lag
3  progress again      a partition that went over to translated offsets has said so before it appended anything;
                       translated offsets: compared is what progress says was copied
4  the source's ends   never before the target's
5  both beginnings     what retention removes later, a task finds out by itself
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.address import flow_address, reader_address, writer_address
from sparkmirror.control.discovery import Place, count_partitions, pick_leaders
from sparkmirror.control.survey import read_facts
from sparkmirror.copy.facts import RECORD_SKIPPED, RECORD_TOO_LARGE
from sparkmirror.copy.receipt import NOTED
from sparkmirror.net.cluster import Cluster, Leader, Metadata
from sparkmirror.net.configs import Described, describe_topic_configs
from sparkmirror.net.offsets import EARLIEST, LATEST, list_offsets
from sparkmirror.offsets.claims import read_claims
from sparkmirror.offsets.map_topic import OffsetMapTopic
from sparkmirror.offsets.offset_map import OffsetMap, equal_map
from sparkmirror.offsets.progress import ProgressTopic
from sparkmirror.protocol.fetch import READ_COMMITTED, READ_UNCOMMITTED
from sparkmirror.topology.fact import Fact
from sparkmirror.topology.select import TopicPair, TopicSelector, plan_topics
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage
from sparkmirror.verify.task import VerifyTask

UNKNOWN_ENDS = "a leader does not say where its log begins or ends; look at the brokers and try again"
UNKNOWN_PLACES = "nothing says yet which offsets its records have on the target: let the mirror run, then verify"
UNKNOWN_PRODUCER = (
    "records were copied, and the claim topic does not say under which producer id, so they can't be told from others: "
    "import the flow's state (sparkmirror state import)"
)
_LEFT_OUT = (RECORD_SKIPPED, RECORD_TOO_LARGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPartition:
    """`task` None: nothing of it can be compared, since it is empty or for `problem`. `lost`: what was copied once.

    `lag`: source offsets that are not mirrored yet. `unknown`: those of which nobody knows where they stand.
    """

    topic: str
    partition: int
    remote: str
    onto: int
    translated: bool = False
    lag: int = 0
    unknown: int = 0
    task: VerifyTask | None = None
    offset_map: OffsetMap | None = field(default=None, repr=False)
    lost: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyPlan:
    partitions: tuple[PlannedPartition, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Ends:
    """Offsets by place: the target's by the remote place, when first asked and behind progress."""

    target: Mapping[Place, int]
    target_now: Mapping[Place, int]
    source: Mapping[Place, int]
    target_start: Mapping[Place, int]
    source_start: Mapping[Place, int]
    since: Mapping[Place, int] | None


def plan_verify(flow: FlowConfig, *, topics: str | None, since_ms: int | None, seed: int) -> VerifyPlan:
    """SparkmirrorError: a cluster can't be asked."""
    with Cluster(flow_address(flow.source, flow)) as source, Cluster(flow_address(flow.target, flow)) as target:
        return _Planner(flow, source, target, seed).plan(topics, since_ms)


class _Planner:
    def __init__(self, flow: FlowConfig, source: Cluster, target: Cluster, seed: int) -> None:
        self._flow = flow
        self._source = source
        self._target = target
        self._storage = Storage.of(flow)
        self._seed = seed

    def plan(self, topics: str | None, since_ms: int | None) -> VerifyPlan:
        here, there = self._source.fetch_metadata(), self._target.fetch_metadata()
        pairs = plan_topics(count_partitions(here), count_partitions(there), TopicSelector.of(self._flow)).pairs
        pairs = tuple(pair for pair in pairs if topics is None or re.fullmatch(topics, pair.topic))
        progress = ProgressTopic(self._target, self._storage) if self._storage.progress in there.topics else None
        before = progress.read() if progress else {}
        remotes = {
            (pair.topic, number): (pair.remote, pair.target_of(number))
            for pair in pairs
            for number in range(pair.partitions)
        }
        theirs = pick_leaders(there, remotes.values())
        target_ends = list_offsets(self._target, theirs, LATEST)
        standings = progress.read_on() if progress else {}
        ends = self._ask_ends(here, remotes, theirs, target_ends, since_ms)
        facts = read_facts(self._target, there, self._flow)
        mine = read_claims(self._target, self._storage) if self._storage.claims in there.topics else None
        self._producer_id, self._origins = mine.claimed if mine else (None, {})
        self._skip = tuple(sorted(self._find_other_way(here) | (mine.skipped if mine else set())))
        self._maps = self._read_maps(there, standings.values())
        configs = self._describe(pairs)
        partitions = []
        for pair in pairs:
            for number in range(pair.partitions):
                planned, found = self._plan_partition(pair, number, ends, before, standings)
                if found is not None and not found.is_empty:
                    place = (pair.topic, number)
                    task = self._make_task(pair, planned, found, standings.get(place), facts.get(place), configs)
                    planned = replace(planned, task=task)
                partitions.append(planned)
        return VerifyPlan(partitions=tuple(partitions), notes=tuple(_notes(configs)))

    def _ask_ends(
        self,
        here: Metadata,
        remotes: Mapping[Place, Place],
        theirs: Mapping[Place, Leader],
        target_ends: Mapping[Place, int],
        since_ms: int | None,
    ) -> _Ends:
        target_now = list_offsets(self._target, theirs, LATEST)
        ours = pick_leaders(here, remotes)
        committed = self._flow.read_committed
        source_ends = list_offsets(self._source, ours, LATEST, committed=committed)
        since = None
        if since_ms is not None:
            found = list_offsets(self._source, ours, since_ms, committed=committed)
            since = {place: offset if offset >= 0 else source_ends.get(place, 0) for place, offset in found.items()}
        return _Ends(
            target=target_ends,
            target_now=target_now,
            source=source_ends,
            target_start=list_offsets(self._target, theirs, EARLIEST),
            source_start=list_offsets(self._source, ours, EARLIEST),
            since=since,
        )

    def _find_other_way(self, here: Metadata) -> set[int]:
        """Where names stay both ways: whose batches on the source came from the target, as the flow back says it."""
        theirs = Storage.named(self._flow.target.alias, self._flow.naming.internal_prefix)
        if not self._flow.naming.is_mutual or theirs.claims not in here.topics:
            return set()
        return read_claims(self._source, theirs).every_id

    def _read_maps(self, there: Metadata, standings: Iterable[Standing]) -> OffsetMapTopic | None:
        """Behind progress, so that it says at least as much."""
        if self._storage.offset_map not in there.topics or not any(s.translated for s in standings):
            return None
        maps = OffsetMapTopic(self._target, self._storage)
        maps.read()
        return maps

    def _describe(self, pairs: Iterable[TopicPair]) -> tuple[Described, Described]:
        mirrored = [pair for pair in pairs if pair.present]
        return (
            describe_topic_configs(self._source, {pair.topic for pair in mirrored}),
            describe_topic_configs(self._target, {pair.remote for pair in mirrored}),
        )

    def _plan_partition(
        self, pair: TopicPair, number: int, ends: _Ends, before: Mapping[Place, Standing], now: Mapping[Place, Standing]
    ) -> tuple[PlannedPartition, _Range | None]:
        """What is known of a partition, and what of it is to be compared."""
        place, remote = (pair.topic, number), (pair.remote, pair.target_of(number))
        planned = PlannedPartition(topic=place[0], partition=place[1], remote=remote[0], onto=remote[1])
        standing, earlier = now.get(place), before.get(place)
        source_end, source_start = ends.source.get(place), ends.source_start.get(place)
        target_end, target_now = ends.target.get(remote), ends.target_now.get(remote)
        target_start = ends.target_start.get(remote)
        if source_end is None or source_start is None:
            return replace(planned, problem=UNKNOWN_ENDS), None
        if remote[1] >= pair.present:
            lost = max(0, earlier.next_offset - source_start) if earlier else 0
            return replace(planned, lag=source_end - source_start - lost, lost=lost), None
        if target_end is None or target_now is None or target_start is None:
            return replace(planned, problem=UNKNOWN_ENDS), None
        if self._is_shared(pair) and standing is None:
            return replace(planned, lag=source_end - source_start), None
        if self._is_shared(pair) and self._producer_of(pair, place) is None:
            return replace(planned, problem=UNKNOWN_PRODUCER), None
        if standing is not None and standing.target_end < 0:
            return replace(planned, problem=UNKNOWN_PLACES), None
        wanted = max(source_start, ends.since.get(place, source_end) if ends.since is not None else 0)
        if standing is not None and standing.translated:
            known = self._maps.map_of(place, standing) if self._maps else _unknown_map(standing)
            planned = replace(planned, translated=True)
        else:
            known = equal_map(max(target_end, earlier.target_end if earlier else 0))
        found = find_range(known, wanted, source_end, (target_start, target_now))
        problem = why_nothing(found, wanted)
        lag = max(0, source_end - known.source_end)
        planned = replace(planned, lag=lag, unknown=found.unknown, offset_map=known, problem=problem)
        return planned, found

    def _is_shared(self, pair: TopicPair) -> bool:
        return pair.is_shared or self._flow.naming.is_mutual

    def _producer_of(self, pair: TopicPair, place: Place) -> int | None:
        return self._origins.get(place) if pair.is_shared else self._producer_id

    def _make_task(
        self,
        pair: TopicPair,
        planned: PlannedPartition,
        found: _Range,
        standing: Standing | None,
        fact: Fact | None,
        configs: tuple[Described, Described],
    ) -> VerifyTask:
        both = configs[0].found.get(pair.topic, {}), configs[1].found.get(pair.remote, {})
        stamped = both[1].get("message.timestamp.type")
        return VerifyTask(
            flow=self._flow.name,
            source=reader_address(self._flow),
            target=writer_address(self._flow),
            storage=self._storage,
            topic=planned.topic,
            partition=planned.partition,
            remote=planned.remote,
            onto=planned.onto,
            first=found.first,
            end=found.end,
            target_first=found.target_first,
            target_end=found.target_end,
            standing=standing if planned.translated else None,
            producer_id=self._producer_of(pair, (planned.topic, planned.partition)),
            is_shared=self._is_shared(pair),
            skip_producers=self._skip,
            isolation=READ_COMMITTED if self._flow.read_committed else READ_UNCOMMITTED,
            by_key=any("compact" in str(side["cleanup.policy"].value) for side in both if "cleanup.policy" in side),
            with_time=stamped is None or stamped.value != "LogAppendTime",
            tolerates=fact is not None and fact.kind == NOTED and fact.name in _LEFT_OUT,
            seed=self._seed,
        )


class _Range(NamedTuple):
    """What both sides have. `unknown`: source offsets before it of which nobody knows where they stand."""

    first: int
    end: int
    target_first: int
    target_end: int
    unknown: int = 0

    @property
    def is_empty(self) -> bool:
        return self.first >= self.end and self.target_first >= self.target_end


def find_range(known: OffsetMap, wanted: int, source_end: int, target: tuple[int, int]) -> _Range:
    """From `wanted` of the source on; `target`: where its log begins and ends. Either side may have been cut back."""
    target_start, target_end = target
    end = min(known.source_end, source_end)
    wanted = min(wanted, end)
    source, target_first = known.first_known
    unknown = max(0, source - wanted) if target_first > target_start else 0  # else the target has removed all of it
    if wanted >= source:
        found = known.to_target(wanted)
        source, target_first = wanted, found.offset if found else target_first
    if target_first < target_start:
        back = known.to_source(target_start)
        source, target_first = max(source, back.offset if back else source), target_start
    target_end = min(target_end, known.target_end)
    return _Range(min(source, end), end, min(target_first, target_end), target_end, min(unknown, end))


def why_nothing(found: _Range, wanted: int) -> str:
    """Why nothing is compared of offsets that were copied and are wanted; empty if something is, or there are none."""
    copied = found.end - wanted
    if not found.is_empty or copied <= 0:
        return ""
    if found.unknown:
        return (
            f"nothing says where the target has the {copied} offsets that were copied: the offset map has none of them"
        )
    return f"the target's log holds none of the {copied} offsets that were copied: its broker removed them"


def _unknown_map(standing: Standing) -> OffsetMap:
    """The map's topic is gone."""
    return OffsetMap(
        equal_end=max(standing.equal_end, 0),
        source_end=standing.next_offset,
        target_end=standing.target_end,
        begins_known=False,
    )


def _notes(configs: tuple[Described, Described]) -> Iterable[str]:
    for described in configs:
        for error in described.refused.values():
            yield f"{error}; it is compared as a topic that is not compacted"
