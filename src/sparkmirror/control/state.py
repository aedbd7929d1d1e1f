"""A flow's state, exported and imported: claims, progress, offset map and checkpoints of its internal topics.

An import takes these steps, each of which can be repeated: refuse what is not this flow's, or while it runs; claims;
who leads; offset map; checkpoints; progress at last, which never says more than the map.

Where the claim topic was lost nobody can tell whether a driver leads. One that does writes its leader record anew as
soon as there is such a topic, so that is waited for. Generations go on above all that the leaders of the target's
partitions remember of this flow's markers, since lower fences would be refused.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.address import flow_address
from sparkmirror.control.flow import LONGEST_PAUSE_S
from sparkmirror.control.leadership import FENCES_A_GENERATION, leases_end_s, silence_limit_s
from sparkmirror.control.silence import Silence, await_newcomer, find_writer
from sparkmirror.control.state_logs import LogReader
from sparkmirror.control.state_plan import ImportPlan, plan_import, split_places
from sparkmirror.control.storage import refuse_impossible_factors
from sparkmirror.control.survey import find_leader, runs
from sparkmirror.errors import ConfigError
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.offsets import highest_marker_epoch
from sparkmirror.offsets.claims import Claims, Leadership
from sparkmirror.offsets.state_file import CHECKPOINTS, CLAIMS, OFFSET_MAP, PROGRESS, SECTIONS, FlowState, StateHead
from sparkmirror.offsets.state_topics import FLOWS_OWN, StateTopics, claimed_ids
from sparkmirror.sync.internal_topics import why_not_made
from sparkmirror.topology.choose import choose_policy
from sparkmirror.topology.internal_topics import plan_internal_topics
from sparkmirror.topology.storage import Storage


class StateKeeper:
    """One flow's. Blocking; connections are opened when first needed."""

    def __init__(self, flow: FlowConfig) -> None:
        self._flow = flow
        self._source = Cluster(flow_address(flow.source, flow))
        self._target = Cluster(flow_address(flow.target, flow))
        self._storage = Storage.of(flow)
        policy = choose_policy(flow)
        self._checkpoints = policy.checkpoints_topic(flow.source.alias)
        self._planned = {topic.name: topic for topic in plan_internal_topics(flow, policy)}
        self._topics = StateTopics(self._target, self._storage, self._checkpoints, flow.internal_replication_factor)

    def __enter__(self) -> StateKeeper:
        return self

    def __exit__(self, *_: object) -> None:
        self._source.close()
        self._target.close()

    def read(self) -> FlowState:
        """What stands on the target now; also while the flow runs."""
        here, there = self._source.fetch_metadata(), self._target.fetch_metadata()
        made_ms = int(time.time() * 1000)
        found = self._topics.read(there)
        head = StateHead(
            flow=self._flow.name,
            made_ms=made_ms,
            source_cluster=here.cluster_id or "",
            target_cluster=there.cluster_id or "",
            generation=found.generation,
        )
        return FlowState(head=head, sections=found.sections)

    def running_leader(self) -> Leadership | None:
        """Who leads the flow now, as far as that is written and by clocks: a first look."""
        leader, _ = find_leader(self._target, self._target.fetch_metadata(), self._flow)
        return leader if runs(self._flow, leader) else None

    # -- import

    def plan(self, state: FlowState, name: str) -> ImportPlan:
        """ConfigError: it is not this flow's state. `name`: of the state's file, for that."""
        there = self.read()
        refuse_other(state, there.head, name)
        for section in SECTIONS:
            for key, value in state.records(section).items():
                if not self._topics.is_ours(section, key, value):
                    raise ConfigError(
                        f"{name}: a record of its {section} is not one of flow {self._flow.name}: {key!r:.200}"
                    )
        wanted, present = split_places(state, self._storage), split_places(there, self._storage)
        producer_id = claimed_ids(state.records(CLAIMS)).get(FLOWS_OWN, -1)
        logs = LogReader(self._flow, self._source, self._target).read(wanted, present, producer_id)
        if self._checkpoints not in self._planned:
            state = replace(state, sections={s: r for s, r in state.sections.items() if s != CHECKPOINTS})
        return plan_import(state, there, self._storage, logs)

    @property
    def watch_s(self) -> float:
        """So long a driver that runs may need to write that it leads."""
        return silence_limit_s(self._flow.lease_s) + LONGEST_PAUSE_S

    def apply(
        self, plan: ImportPlan, state: FlowState, *, watch_s: float, tell: Callable[[str], None]
    ) -> Leadership | None:
        """Write what was planned. A leader: nothing but claims is written, since the flow runs. `tell`: of a wait."""
        refuse_impossible_factors(self._flow, self._target.fetch_metadata())
        claims = Claims(self._target, self._storage, self._flow.internal_replication_factor)
        if plan.writes.get(CLAIMS):
            self._topics.write(CLAIMS, plan.writes[CLAIMS])
        claims.refresh()
        silence = Silence(self._target, self._flow)
        if claims.leader is None or claims.leader.unsure:  # a driver that restored the topic may be about to lead
            tell(f"nothing says who leads flow {self._flow.name}: waiting {watch_s:.0f} s for a driver that does")
            leader = await_newcomer(silence, watch_s)
        else:
            leader = find_writer(silence, self._flow, tell)
        if leader:
            return leader
        if claims.leader is None:
            claims.note_unknown_leader(self._next_generation(state), leases_end_s(self._flow.lease_s))
            silence = Silence(self._target, self._flow)
        for section in (OFFSET_MAP, CHECKPOINTS, PROGRESS):
            records = plan.writes.get(section)
            why_not = self._make_checkpoints_topic() if records and section == CHECKPOINTS else ""
            if why_not:
                tell(f"checkpoints are left to the next run: {why_not}")
            elif records:
                self._topics.write(section, records)
        return silence.leader if silence.listen() else None

    def _make_checkpoints_topic(self) -> str:
        """Why it can't be made, if it can't."""
        return why_not_made(self._target, self._target.fetch_metadata(), self._planned[self._checkpoints])

    def _next_generation(self, state: FlowState) -> int:
        """Above all before: by what leaders remember, and where they can't be asked by a generation a second."""
        leaders = LogReader(self._flow, self._source, self._target).target_leaders
        producer_ids = set(claimed_ids(state.records(CLAIMS)).values())
        seen = highest_marker_epoch(self._target, leaders, producer_ids) // FENCES_A_GENERATION
        since_s = max(0, int(time.time() - state.head.made_ms / 1000))
        return max(state.head.generation + since_s, seen) + 1


def refuse_other(state: FlowState, there: StateHead, name: str) -> None:
    """ConfigError: it belongs to other clusters."""
    pairs = (
        ("source", state.head.source_cluster, there.source_cluster),
        ("target", state.head.target_cluster, there.target_cluster),
    )
    for side, wanted, found in pairs:
        if wanted != found:
            raise ConfigError(
                f"{name}: this is the state of another {side}: cluster id {wanted or 'unknown'}, where flow "
                f"{there.flow} has {found or 'unknown'}; offsets of one cluster mean nothing in another"
            )
