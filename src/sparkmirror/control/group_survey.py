"""Where consumer groups stand on both sides of each flow, asked of the clusters alone; it changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.address import flow_address
from sparkmirror.control.discovery import pick_leaders
from sparkmirror.control.group_keeper import choose_groups, unsupported_groups
from sparkmirror.control.translators import open_forward
from sparkmirror.errors import BrokerError, SparkmirrorError
from sparkmirror.groups.rules import IDLE
from sparkmirror.groups.translator import Answer, Translator
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.group_offsets import fetch_group_offsets
from sparkmirror.net.groups import GroupState, describe_groups, list_groups
from sparkmirror.net.offsets import LATEST, list_offsets
from sparkmirror.protocol.committed import Committed
from sparkmirror.topology.choose import choose_group_filter
from sparkmirror.topology.storage import Storage

AT_ONCE = 8
SYNCED, BEHIND, AHEAD, LAGGING, UNKNOWN = "synced", "behind", "ahead", "lagging", "unknown"

Place = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """A group in one partition. `wanted`: where it would go on there; `target_offset`: what is committed there."""

    group: str
    topic: str
    partition: int
    source_offset: int
    source_lag: int | None
    target_topic: str
    target_partition: int
    wanted: int | None
    target_offset: int | None
    target_lag: int | None
    state: str
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSurvey:
    """`left_out`: groups that are not followed, with the reason."""

    flow: str
    problem: str = ""
    rows: tuple[GroupRow, ...] = ()
    left_out: Mapping[str, str] | None = None


def survey_groups(flows: Sequence[FlowConfig], only: Sequence[str] = ()) -> list[GroupSurvey]:
    """All flows at the same time. `only`: these groups, if there are any."""
    with ThreadPoolExecutor(min(AT_ONCE, len(flows)), thread_name_prefix="groups") as pool:
        return list(pool.map(lambda flow: _survey(flow, flows, only), flows))


def other_way(flow: FlowConfig, flows: Iterable[FlowConfig]) -> Storage:
    """Where the flow from its target to its source keeps its progress; if another file has it, as is usual."""
    ends = (flow.target.alias, flow.source.alias)
    back = next((each for each in flows if (each.source.alias, each.target.alias) == ends), None)
    return Storage.of(back) if back else Storage.named(flow.target.alias, flow.naming.internal_prefix)


def _survey(flow: FlowConfig, flows: Sequence[FlowConfig], only: Sequence[str]) -> GroupSurvey:
    if flow.naming.is_mutual:
        return GroupSurvey(flow=flow.name, problem="groups of topics that keep their names both ways are not followed")
    try:
        with Cluster(flow_address(flow.source, flow)) as source, Cluster(flow_address(flow.target, flow)) as target:
            return _Look(flow, source, target, other_way(flow, flows)).survey(only)
    except SparkmirrorError as error:
        return GroupSurvey(flow=flow.name, problem=str(error))


class _Look:
    def __init__(self, flow: FlowConfig, source: Cluster, target: Cluster, back: Storage) -> None:
        self._flow, self._source, self._target, self._back = flow, source, target, back

    def survey(self, only: Sequence[str]) -> GroupSurvey:
        listing = list_groups(self._source)
        wanted = choose_group_filter(self._flow).should_replicate_group
        groups = [g for g in choose_groups(listing, wanted) if not only or g in only]
        here, there = self._source.fetch_metadata(), self._target.fetch_metadata()
        offsets = fetch_group_offsets(self._source, groups)
        translator = open_forward(self._flow, self._source, self._target, here, there, self._back)
        places = {place for found in offsets.values() if isinstance(found, dict) for place in found}
        translator.look(places)
        on_target, states = fetch_group_offsets(self._target, groups), describe_groups(self._target, groups)
        ends = list_offsets(self._source, pick_leaders(here, places), LATEST, committed=self._flow.read_committed)
        rows: list[GroupRow] = []
        left_out = {g: why for g, why in unsupported_groups(listing, wanted).items() if not only or g in only}
        for group in groups:
            found, known = offsets[group], on_target[group]
            if isinstance(found, BrokerError) or isinstance(known, BrokerError):
                left_out[group] = str(found if isinstance(found, BrokerError) else known)
                continue
            rows += self._rows(group, found, known, states[group], translator, ends)
        return GroupSurvey(flow=self._flow.name, rows=tuple(rows), left_out=left_out)

    def _rows(
        self,
        group: str,
        found: Mapping[Place, Committed],
        known: Mapping[Place, Committed],
        state: GroupState | BrokerError,
        translator: Translator,
        ends: Mapping[Place, int],
    ) -> Iterable[GroupRow]:
        for place, committed in sorted(found.items()):
            answer = translator.translate(place, committed.offset)
            if committed.offset < 0 or answer is None:
                continue
            there = known[answer.place].offset if answer.place in known else None
            end = translator.end(answer.place)
            says, why = judge(answer, there, state)
            yield GroupRow(
                group=group,
                topic=place[0],
                partition=place[1],
                source_offset=committed.offset,
                source_lag=max(0, ends[place] - committed.offset) if place in ends else None,
                target_topic=answer.place[0],
                target_partition=answer.place[1],
                wanted=answer.found.offset if answer.found else None,
                target_offset=there,
                target_lag=None if there is None or end is None else max(0, end - there),
                state=says,
                why=why or self._why_not(says),
            )

    def _why_not(self, state: str) -> str:
        if state != BEHIND or self._flow.groups.sync_offsets_interval_s is not None:
            return ""
        return "sync.group.offsets.enabled is false" if self._flow.follows_groups else "checkpoints and syncs are off"


def judge(answer: Answer, there: int | None, state: GroupState | BrokerError) -> tuple[str, str]:
    """How a group stands on the target, and what keeps it from its place."""
    if answer.found is None:
        return UNKNOWN, answer.why
    wanted = answer.found.offset
    if there is not None and there > wanted:
        return AHEAD, "it has read on there"
    if there == wanted and answer.found.is_exact:
        return SYNCED, ""
    if not answer.found.is_exact:
        return LAGGING, "it has read records that are not mirrored yet"
    if isinstance(state, GroupState) and state.state not in IDLE:
        return BEHIND, f"it is {state.state} on the target, with {state.members} members"
    return BEHIND, str(state) if isinstance(state, BrokerError) else ""
