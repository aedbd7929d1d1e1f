"""What a failover or a failback looks at before it moves anybody: what is missing on the side that groups go to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.address import flow_address
from sparkmirror.control.copy_proof import Proof, prove_flow
from sparkmirror.control.discovery import count_partitions, pick_leaders
from sparkmirror.control.survey import survey_flow
from sparkmirror.control.switch_report import MissingRow, find_alone, find_missing, may_shrink
from sparkmirror.errors import SparkmirrorError
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.offsets import EARLIEST, LATEST, list_offsets
from sparkmirror.topology.fact import WHOLE_TOPIC
from sparkmirror.topology.policy import looks_like_heartbeats
from sparkmirror.topology.select import TopicSelector, plan_topics
from sparkmirror.topology.standing import Standing

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Look:
    """`may_shrink`: waiting can help."""

    missing: tuple[MissingRow, ...] = ()
    proofs: Mapping[Place, Proof] = field(default_factory=dict)
    may_shrink: bool = False

    @property
    def passes(self) -> bool:
        """Whether something can't be proven at the moment."""
        return any(proof.passes for proof in self.proofs.values())

    @property
    def known(self) -> dict[Place, Standing | str]:
        return {place: proof.known for place, proof in self.proofs.items()}

    @property
    def caps(self) -> dict[Place, int]:
        """By remote place, where what was copied ends, if others wrote behind it."""
        found = self.proofs.values()
        return {proof.remote: proof.standing.target_end for proof in found if proof.standing and proof.others}


def look_at_copy(flow: FlowConfig, *, to_the_end: bool = False) -> Look:
    """What the target lacks. Logs are compared when nothing else is missing, or `to_the_end`."""
    survey = survey_flow(flow)
    look = Look(find_missing(survey, {}, committed=flow.read_committed))
    if not survey.problem and (to_the_end or not look.missing):
        look = _with_proofs(look, flow)
        if look.proofs:
            look = replace(look, missing=find_missing(survey, look.proofs, committed=flow.read_committed))
    return replace(look, may_shrink=may_shrink(survey, look.missing))


def look_back(flow: FlowConfig, back: FlowConfig | None) -> Look:
    """What the source lacks: records that stand on the target alone. `back`: the flow that brings the target's own."""
    survey = survey_flow(flow)
    if survey.problem:
        return Look((MissingRow(topic="", partition=WHOLE_TOPIC, records=None, why=survey.problem),))
    look = _with_proofs(Look(), flow)
    alone = find_alone(survey, look.proofs, (flow.source.alias, flow.target.alias))
    missing = (*look.missing, *alone, *_find_own(flow, back))
    return replace(look, missing=missing, may_shrink=look.passes)


def _with_proofs(look: Look, flow: FlowConfig) -> Look:
    try:
        return replace(look, proofs=prove_flow(flow))
    except SparkmirrorError as error:
        row = MissingRow(topic="", partition=WHOLE_TOPIC, records=None, why=f"{flow.name} can't be compared: {error}")
        return replace(look, missing=(*look.missing, row))


def _find_own(flow: FlowConfig, back: FlowConfig | None) -> Iterator[MissingRow]:
    """The target's own topics of the names of mirrored ones: producers that moved write there, and somebody has to
    bring it to the source.
    """
    with Cluster(flow_address(flow.source, flow)) as source, Cluster(flow_address(flow.target, flow)) as target:
        here, there = source.fetch_metadata(), target.fetch_metadata()
        ours, theirs = count_partitions(here), count_partitions(there)
        pairs = plan_topics(ours, theirs, TopicSelector.of(flow)).pairs
        carried = {pair.topic for pair in plan_topics(theirs, ours, TopicSelector.of(back)).pairs} if back else set()
        remotes = {pair.remote for pair in pairs}
        names = {pair.topic for pair in pairs if not looks_like_heartbeats(pair.topic)} & theirs.keys()
        leaders = pick_leaders(there, ((t, p) for t in names - remotes - carried for p in range(theirs[t])))
        starts, ends = list_offsets(target, leaders, EARLIEST), list_offsets(target, leaders, LATEST)
    for topic, partition in sorted(ends.keys() & starts.keys()):
        if records := ends[topic, partition] - starts[topic, partition]:
            why = f"they stand on {flow.target.alias} alone: no flow of the file brings {topic} to {flow.source.alias}"
            yield MissingRow(topic=topic, partition=partition, records=records, why=why, stands=True)
