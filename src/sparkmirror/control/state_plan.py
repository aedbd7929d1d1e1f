"""What of a state is to be written on a target, where some of it may still stand, or newer words. Pure.

What is missing is written, what is there is never written over. Progress goes on from where the state left it: what was
copied since then stands in both logs, and the next run finds it there (`copy.position`), offset map included. So
progress of the state may be older than the logs, but never newer progress beside an older map:

    progress there   offset map there           what is done
    none             gone, or part of ours      progress and map are restored
    none             its own, whole             progress is restored
    ours             gone, or part of ours      the map is restored
    newer            whole, or not needed       nothing
    newer            not whole                  refused: what was copied in between can't be known from either
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from sparkmirror.offsets import map_topic, progress
from sparkmirror.offsets.runs import Span
from sparkmirror.offsets.state_file import CHECKPOINTS, CLAIMS, OFFSET_MAP, PROGRESS, FlowState, Records
from sparkmirror.offsets.state_topics import FLOWS_OWN, claimed_ids, is_lasting
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage

RESTORED, THERE, KEPT, REFUSED, STOPS = "restored", "there", "kept", "refused", "stops"
# What a run would not go on with, or where offsets could not be told.
NOT_WHOLE = (REFUSED, STOPS)

DIFFERS = "offsets differ since a time that no state tells of"
_SINCE = "more was copied since; the next run finds it in both logs"
_GONE = "records that were copied since are not on the source any more: the next run stops it (position-unknown)"

Place = tuple[str, int]
Chunks = Mapping[int, tuple[bytes, bytes]]  # by number: key and value


class Logs(NamedTuple):
    """Where both logs of a partition begin and end, and the ids of their topics.

    `differs`: what the target's log ends with does not stand at its source offset. `is_shared`: others write there.
    """

    source_start: int
    target_start: int
    target_end: int
    source_id: str = ""
    target_id: str = ""
    differs: bool = False
    is_shared: bool = False


@dataclass(frozen=True, slots=True)
class PlaceState:
    """What is written of one partition."""

    standing: Standing | None = None
    chunks: Chunks = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What becomes of a part of the state."""

    part: str
    name: str
    action: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """`writes`: by section. `refusal`: why nothing at all can be written."""

    rows: list[Row] = field(default_factory=list)
    writes: dict[str, dict[bytes, bytes]] = field(default_factory=dict)
    refusal: str = ""

    @property
    def is_whole(self) -> bool:
        return not self.refusal and not any(row.action in NOT_WHOLE for row in self.rows)

    def add(self, row: Row, section: str = "", records: Records | None = None) -> None:
        self.rows.append(row)
        if records:
            self.writes.setdefault(section, {}).update(records)


def plan_import(state: FlowState, there: FlowState, storage: Storage, logs: Mapping[Place, Logs]) -> ImportPlan:
    """`there`: what stands on the target now. `logs`: of what the flow mirrors and both clusters tell of."""
    refusal = why_other_ids(claimed_ids(state.records(CLAIMS)), claimed_ids(there.records(CLAIMS)))
    plan = ImportPlan(refusal=refusal)
    if refusal:
        return plan
    claims = state.records(CLAIMS)
    if there.records(CLAIMS):
        claims = {key: value for key, value in claims.items() if is_lasting(key)}
    _plan_missing(plan, claims, there.records(CLAIMS), CLAIMS)
    wanted, present = split_places(state, storage), split_places(there, storage)
    for place in sorted(wanted.keys() | logs.keys()):
        _plan_place(plan, place, wanted.get(place), present.get(place, PlaceState()), logs.get(place), storage)
    _plan_missing(plan, state.records(CHECKPOINTS), there.records(CHECKPOINTS), CHECKPOINTS)
    return plan


def why_other_ids(wanted: Mapping[str, int], there: Mapping[str, int]) -> str:
    """Who writes under another id can't tell the records of the first from somebody else's."""
    if FLOWS_OWN not in wanted:
        return "the state claims no producer id: there is nothing to go on with"
    for whose in sorted(wanted.keys() & there.keys()):
        if wanted[whose] != there[whose]:
            of = "" if whose == FLOWS_OWN else f" for {whose}"
            return (
                f"the mirror has begun anew since this state was made: it claims producer id {there[whose]}{of}, where "
                f"the state has {wanted[whose]}; a state is to be imported before the first run"
            )
    return ""


def split_places(state: FlowState, storage: Storage) -> dict[Place, PlaceState]:
    """Progress and offset map by partition."""
    standings: dict[Place, Standing] = {}
    chunks: dict[Place, dict[int, tuple[bytes, bytes]]] = {}
    for key, value in state.records(PROGRESS).items():
        parsed = progress.parse_record(key, value, storage.source, storage.connector)
        if parsed and parsed[1] is not None:
            standings[parsed[0]] = parsed[1]
    for key, value in state.records(OFFSET_MAP).items():
        numbered = map_topic.parse_key(key, storage.source)
        if numbered:
            chunks.setdefault(numbered[0], {})[numbered[1]] = (key, value)
    return {p: PlaceState(standings.get(p), chunks.get(p, {})) for p in standings.keys() | chunks.keys()}


def _plan_missing(plan: ImportPlan, wanted: Records, present: Records, section: str) -> None:
    missing = {key: value for key, value in wanted.items() if key not in present}
    if wanted:
        name = f"{len(missing)} of {len(wanted)}"
        plan.add(Row(part=section, name=name, action=RESTORED if missing else THERE), section, missing)


def _plan_place(
    plan: ImportPlan, place: Place, wanted: PlaceState | None, there: PlaceState, logs: Logs | None, storage: Storage
) -> None:
    standing = there.standing
    if wanted is None or wanted.standing is None:
        if standing is None and logs and logs.differs:  # it began after the state was made
            began = Standing(
                logs.source_start,
                target_end=logs.target_start,
                translated=DIFFERS,
                source_id=logs.source_id,
                target_id=logs.target_id,
            )
            why = "not in the state, and offsets differ: the next run counts from both logs' beginnings"
            _restore(plan, place, began, {}, why, storage)
        return
    lost = missing_chunks(wanted.chunks, there.chunks, logs.target_start if logs else 0)
    if standing is not None and standing != wanted.standing:
        _keep(plan, place, wanted.standing, standing, lost)
    elif lost is None:
        why = "the offset map there is another's, and begins later than that of the state"
        plan.add(Row(part="partition", name=_name(place), action=REFUSED, why=why))
    elif standing is None:
        _restore_old(plan, place, wanted.standing, lost, logs, storage)
    else:
        action = RESTORED if lost else THERE
        plan.add(Row(part="partition", name=_name(place), action=action), OFFSET_MAP, lost)


def _restore_old(
    plan: ImportPlan, place: Place, known: Standing, chunks: Records, logs: Logs | None, storage: Storage
) -> None:
    if logs is None or not _went_on(known, logs):
        _restore(plan, place, known, chunks, "", storage)
    elif logs.differs:
        counted = known._replace(translated=DIFFERS, equal_end=known.next_offset)
        why = "offsets differ since the state was made: the next run counts in both logs from there"
        _restore(plan, place, counted, chunks, why, storage)
    elif known.translated and logs.source_start > known.next_offset:
        _restore(plan, place, known, chunks, _GONE, storage, action=STOPS)
    else:
        _restore(plan, place, known, chunks, _SINCE, storage)


def _went_on(known: Standing, logs: Logs) -> bool:
    """Whether the same target holds more than the state knows of, as far as that can be told."""
    is_same = not (known.target_id and logs.target_id) or known.target_id == logs.target_id
    return is_same and not logs.is_shared and 0 <= known.target_end < logs.target_end


def _restore(
    plan: ImportPlan,
    place: Place,
    standing: Standing,
    chunks: Records,
    why: str,
    storage: Storage,
    *,
    action: str = RESTORED,
) -> None:
    plan.add(Row(part="partition", name=_name(place), action=action, why=why), OFFSET_MAP, chunks)
    key = progress.encode_key(storage.source, *place, storage.connector)
    plan.writes.setdefault(PROGRESS, {})[key] = progress.encode_value(standing)


def _keep(plan: ImportPlan, place: Place, wanted: Standing, standing: Standing, lost: Records | None) -> None:
    same_topics = (wanted.source_id, wanted.target_id) == (standing.source_id, standing.target_id)
    if not wanted.translated or not same_topics or lost == {}:
        why = f"the target's own goes on at source offset {standing.next_offset}, the state at {wanted.next_offset}"
        plan.add(Row(part="partition", name=_name(place), action=KEPT, why=why))
    elif lost and standing.target_end == wanted.target_end:
        plan.add(Row(part="partition", name=_name(place), action=RESTORED), OFFSET_MAP, lost)
    else:
        why = (
            f"its offset map is lost, and what was copied since the state (source offsets {wanted.next_offset}.."
            f"{standing.next_offset - 1}) is in neither; forget its progress (sparkmirror offsets reset) and import "
            "again: the next run makes the map of that part from both logs"
        )
        plan.add(Row(part="partition", name=_name(place), action=REFUSED, why=why))


def missing_chunks(wanted: Chunks, there: Chunks, target_start: int) -> dict[bytes, bytes] | None:
    """Chunks that are to be written; none if the map there is whole; None if it has lost its beginning and gone on.

    Those below the target's log start are not missed.
    """
    needed = {n: kept for n, kept in wanted.items() if _span(kept).target_end > target_start}
    if all(wanted.get(number) == kept for number, kept in there.items()):
        return {key: value for number, (key, value) in needed.items() if number not in there}
    first = min((_span(kept) for kept in there.values()), key=lambda span: span.source)
    return {} if all(first.source <= _span(kept).source for kept in needed.values()) else None


def _span(kept: tuple[bytes, bytes]) -> Span:
    return map_topic.parse_head(kept[1])[1]


def _name(place: Place) -> str:
    return f"{place[0]}-{place[1]}"
