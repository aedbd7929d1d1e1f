"""Where single offsets, or those of a group, stand on a flow's other side; asked of the clusters alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.address import flow_address
from sparkmirror.control.group_survey import other_way
from sparkmirror.control.translators import open_forward, open_reverse
from sparkmirror.errors import BrokerError, SparkmirrorError
from sparkmirror.groups.translator import Translator
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.group_offsets import fetch_group_offsets

NOT_YET = "not mirrored yet: this is where what is mirrored ends"
NOT_MIRRORED = "this flow does not mirror it, or merges it with others"
UNREAD = "that partition is not there, or its leader does not answer"
BEYOND = "behind all that is mirrored: this is where that ends"

Place = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslatedRow:
    """An offset and its place on the other side. Not `exact`: `why`; without a `to_offset` it has no place there."""

    topic: str
    partition: int
    offset: int
    to_topic: str = ""
    to_partition: int | None = None
    to_offset: int | None = None
    exact: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """`problem`: why there are no rows."""

    flow: str
    from_cluster: str
    to_cluster: str
    group: str = ""
    rows: tuple[TranslatedRow, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A group's commits, or else one offset; `reverse`: of the flow's target."""

    group: str = ""
    place: Place = ("", 0)
    offset: int = -1
    reverse: bool = False


def translate(flow: FlowConfig, flows: Sequence[FlowConfig], wanted: Wanted) -> Translation:
    ends = (flow.source.alias, flow.target.alias)
    from_cluster, to_cluster = reversed(ends) if wanted.reverse else ends
    rows: tuple[TranslatedRow, ...] = ()
    problem = ""
    try:
        if flow.naming.is_mutual:
            problem = "offsets of topics that keep their names both ways are not translated"
        else:
            rows = tuple(_translate(flow, flows, wanted))
    except SparkmirrorError as error:
        problem = str(error)
    return Translation(
        flow=flow.name, from_cluster=from_cluster, to_cluster=to_cluster, group=wanted.group, rows=rows, problem=problem
    )


def _translate(flow: FlowConfig, flows: Sequence[FlowConfig], wanted: Wanted) -> Iterator[TranslatedRow]:
    with Cluster(flow_address(flow.source, flow)) as source, Cluster(flow_address(flow.target, flow)) as target:
        asked = target if wanted.reverse else source
        offsets = _committed(asked, wanted.group) if wanted.group else {wanted.place: wanted.offset}
        here, there = source.fetch_metadata(), target.fetch_metadata()
        translator = (
            open_reverse(flow, source, target, here, there)
            if wanted.reverse
            else open_forward(flow, source, target, here, there, other_way(flow, flows))
        )
        translator.look(offsets)
        beyond = BEYOND if wanted.reverse else NOT_YET
        for place, offset in sorted(offsets.items()):
            yield translate_one(translator, place, offset, beyond)


def _committed(cluster: Cluster, group: str) -> Mapping[Place, int]:
    found = fetch_group_offsets(cluster, [group])[group]
    if isinstance(found, BrokerError):
        raise found
    return {place: committed.offset for place, committed in found.items() if committed.offset >= 0}


def translate_one(translator: Translator, place: Place, offset: int, beyond: str) -> TranslatedRow:
    answer = translator.translate(place, offset)
    row = TranslatedRow(topic=place[0], partition=place[1], offset=offset)
    if answer is None:
        return replace(row, why=NOT_MIRRORED)
    exact = answer.found is not None and answer.found.is_exact
    return replace(
        row,
        to_topic=answer.place[0],
        to_partition=answer.place[1],
        to_offset=answer.found.offset if answer.found else None,
        exact=exact,
        why="" if exact else UNREAD if translator.end(answer.place) is None else answer.why or beyond,
    )
