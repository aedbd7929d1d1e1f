"""How far source and target are proven to be the same, partition by partition, asked of both logs as the copy asks.

    source   0 ......... 10 | 5 that nobody copied |  15
    target   0 ......... 10 | 5 of somebody else's |  15      as long as each other, and the same up to 10 only

So lengths of logs prove nothing. A partition's progress does if the target's leader remembers our last sequence and its
log ends where progress says; else the last records are compared (`copy/position.py`). Ends of the source are asked
behind all that, so that nothing counts as copied that came meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.address import flow_address
from sparkmirror.control.discovery import count_partitions, pick_leaders
from sparkmirror.control.survey import read_progress
from sparkmirror.copy.facts import PARTED
from sparkmirror.copy.lease import Rules
from sparkmirror.copy.place import Place, Position, standing_of
from sparkmirror.copy.position import PositionFinder
from sparkmirror.copy.sides import Sides
from sparkmirror.copy.source_view import ClusterView
from sparkmirror.copy.tail import all_batches
from sparkmirror.errors import BrokerError, MirrorError, ProtocolError
from sparkmirror.net.cluster import Cluster, Leader, Metadata, group_by
from sparkmirror.net.log import fetch_batch_at
from sparkmirror.net.offsets import EARLIEST, LATEST, list_offsets
from sparkmirror.offsets.claims import read_claims
from sparkmirror.protocol.fetch import READ_COMMITTED, READ_UNCOMMITTED
from sparkmirror.topology.policy import looks_like_heartbeats
from sparkmirror.topology.select import TopicPair, TopicSelector, plan_topics
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage

AT_ONCE = 8  # pairs of leaders that are asked at the same time
ANY_HOLE = 1 << 62  # nothing is copied, so holes need not be estimated
NOBODY = -2  # no producer's id

Key = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """`standing`: up to there both logs are the same; None: that can't be told. `why`: what keeps the copy from going
    on there, empty if nothing does; `passes`: by itself.

    `lag`: offsets of the source behind it, None: not known. `others`: records of the target that the source never had.
    """

    remote: Key
    standing: Standing | None = None
    why: str = ""
    passes: bool = False
    lag: int | None = None
    others: int = 0
    is_shared: bool = False

    @property
    def parted(self) -> str:
        """Why the target has records before there that the source has not; empty if it has none."""
        translated = self.standing.translated if self.standing else ""
        return translated if translated.startswith(PARTED) else ""

    @property
    def known(self) -> Standing | str:
        """What translates offsets, or why nothing does."""
        return self.standing or self.why


@dataclass(frozen=True, slots=True)
class SourceBounds:
    """`end`: of what is to be copied; `high`: of all."""

    start: int
    end: int
    high: int


def prove_flow(flow: FlowConfig) -> dict[Key, Proof]:
    """By source place, of all partitions of which anything was copied. SparkmirrorError: a cluster can't be asked."""
    with Cluster(flow_address(flow.source, flow)) as source, Cluster(flow_address(flow.target, flow)) as target:
        return _Prover(flow, source, target).prove()


class _Prover:
    def __init__(self, flow: FlowConfig, source: Cluster, target: Cluster) -> None:
        self._flow, self._source, self._target = flow, source, target

    def prove(self) -> dict[Key, Proof]:
        there = self._target.fetch_metadata()
        progress = read_progress(self._target, there, self._flow)
        here = self._source.fetch_metadata()
        storage = Storage.of(self._flow)
        claims = read_claims(self._target, storage) if storage.claims in there.topics else None
        claimed, origins = claims.claimed if claims else (None, {})
        self._producer_id = NOBODY if claimed is None else claimed
        isolation = READ_COMMITTED if self._flow.read_committed else READ_UNCOMMITTED
        rules = Rules(isolation=isolation, preserve=self._flow.offsets_preserve, max_hole=ANY_HOLE)
        skipped = tuple(sorted(claims.skipped)) if claims else ()
        view = ClusterView(self._source, isolation, skipped)
        self._finder = PositionFinder(Sides(view, self._target, self._producer_id, rules, lambda: True))
        pairs = plan_topics(count_partitions(here), count_partitions(there), TopicSelector.of(self._flow)).pairs
        all_places = list(self._places(pairs, here, there, progress, origins))
        found = dict(each for each in all_places if not isinstance(each, Place))
        return self._judge(found | self._find([each for each in all_places if isinstance(each, Place)]), here)

    def _places(
        self,
        pairs: Iterable[TopicPair],
        here: Metadata,
        there: Metadata,
        progress: Mapping[Key, Standing],
        origins: Mapping[Key, int],
    ) -> Iterator[Place | tuple[Key, Proof]]:
        """Where something was copied, by us or another; a proof of what needs no look."""
        wanted = {
            (pair.topic, number): (pair, pair.target_of(number))
            for pair in pairs
            for number in range(pair.partitions)
            if pair.target_of(number) < pair.present and not looks_like_heartbeats(pair.topic)
        }
        remotes = {key: (pair.remote, onto) for key, (pair, onto) in wanted.items()}
        ours, theirs = _living(pick_leaders(here, wanted)), _living(pick_leaders(there, remotes.values()))
        ends = list_offsets(self._target, theirs, LATEST)
        for key, (pair, onto) in wanted.items():
            remote = remotes[key]
            if key not in ours or remote not in ends:
                yield key, Proof(remote=remote, why="a leader does not answer", passes=True)
            elif key in progress or (ends[remote] and not pair.is_shared) or key in origins:
                yield Place(
                    key[1],
                    here.topics[pair.topic],
                    there.topics[pair.remote],
                    progress.get(key),
                    onto=onto,
                    producer_id=origins.get(key, NOBODY) if pair.is_shared else None,
                )
            else:
                yield key, Proof(remote=remote)

    def _find(self, places: list[Place]) -> dict[Key, Proof]:
        groups = list(group_by(places, _leaders).values())
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="proof") as pool:
            found = list(pool.map(self._find_some, groups))
        return {key: proof for some in found for key, proof in some.items()}

    def _find_some(self, places: list[Place]) -> dict[Key, Proof]:
        found = {index: one for some in self._finder.find(places) for index, one in some.items()}
        return {(p.source.name, p.partition): self._proof(p, found[i]) for i, p in enumerate(places)}

    def _proof(self, place: Place, found: Position | MirrorError | str) -> Proof:
        proof = Proof(remote=place.target_key, is_shared=place.is_shared)
        if isinstance(found, str):
            return replace(proof, why=found, passes=True)
        if isinstance(found, MirrorError):
            is_foreign = found.name == "foreign-writer" and self._is_still_ours(place)
            proof = replace(proof, standing=place.hint if is_foreign else None, why=f"{found.name}: {found}")
        else:
            proof = replace(proof, standing=standing_of(place, found))
        return replace(proof, others=self._count_others(place, proof))

    def _is_still_ours(self, place: Place) -> bool:
        """Whether the log still holds what it did when progress was written; nothing there: it was removed since."""
        hint = place.hint
        if hint is None or hint.target_end < 0:
            return False
        try:
            found = fetch_batch_at(self._target, place.target, place.target_partition, hint.target_end - 1)
        except (BrokerError, ProtocolError):
            return False
        return found is not None and (found[0].first >= hint.target_end or found[0].producer_id == self._producer_id)

    def _count_others(self, place: Place, proof: Proof) -> int:
        """Records that others wrote behind what progress knows. Equal offsets that were compared leave no room."""
        hint, standing = place.hint, proof.standing
        is_whole = standing is not None and not standing.translated and not proof.why
        if place.is_shared or hint is None or hint.target_end < 0 or is_whole:
            return 0
        key, leader = place.target_key, {place.target_key: place.target_leader}
        first = max(hint.target_end, list_offsets(self._target, leader, EARLIEST).get(key, 0))
        end = list_offsets(self._target, leader, LATEST).get(key, 0)
        if first >= end:
            return 0
        headers = (b.header for b in all_batches(self._target, place.target, place.target_partition, first, end))
        try:
            return sum(h.records for h in headers if not h.is_control and h.producer_id != self._producer_id)
        except (BrokerError, ProtocolError):  # then the proof says why, and that nothing can be told
            return 0

    def _judge(self, found: Mapping[Key, Proof], here: Metadata) -> dict[Key, Proof]:
        leaders = _living(pick_leaders(here, found))
        starts = list_offsets(self._source, leaders, EARLIEST)
        ends = list_offsets(self._source, leaders, LATEST, committed=self._flow.read_committed)
        highs = list_offsets(self._source, leaders, LATEST)
        known = starts.keys() & ends.keys() & highs.keys()
        return {
            key: judge(proof, SourceBounds(starts[key], ends[key], highs[key]) if key in known else None)
            for key, proof in found.items()
        }


def judge(proof: Proof, source: SourceBounds | None) -> Proof:
    """What of the source lies behind what is proven. Pure."""
    standing, why = proof.standing, proof.why
    if source is None:
        return replace(proof, why=why or "the source's leader does not answer", passes=proof.passes or not why)
    if standing is None:
        return proof if why else replace(proof, lag=source.end - source.start)  # nothing was copied
    if standing.next_offset > source.high:
        lost = standing.next_offset - source.high
        why = why or f"source-truncated: it was mirrored up to offset {standing.next_offset} and ends at {source.high}"
        return replace(proof, standing=None, why=why, others=max(proof.others, lost))
    if standing.next_offset < source.start and standing.target_end > standing.log_start:
        why = why or f"gap: offsets {standing.next_offset}..{source.start - 1} were removed before they were copied"
    return replace(proof, why=why, lag=max(0, source.end - standing.next_offset))


def _living(leaders: Mapping[Key, Leader]) -> dict[Key, Leader]:
    return {key: leader for key, leader in leaders.items() if leader.node >= 0}


def _leaders(place: Place) -> tuple[int, int]:
    return place.source.leaders[place.partition].node, place.target_leader.node
