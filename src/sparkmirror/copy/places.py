"""Where a cursor's partition is on both sides, as the clusters' metadata has it."""

from __future__ import annotations

from sparkmirror.copy import facts
from sparkmirror.copy.cursor import Cursor
from sparkmirror.copy.position import Place
from sparkmirror.errors import MirrorError
from sparkmirror.net.cluster import Metadata
from sparkmirror.protocol import codes


def place_of(cursor: Cursor, source: Metadata, target: Metadata) -> Place | MirrorError | str:
    """Or why there is none at the moment, or until somebody does something about it."""
    leased = cursor.leased
    here, there = source.topics.get(leased.topic), target.topics.get(leased.remote)
    for side, name, info in (("source", leased.topic, here), ("target", leased.remote, there)):
        if info and info.error in codes.FORBIDDEN:
            return facts.unauthorized(side, f"DESCRIBE on topic {name}", info.error)
        if info is None or info.error or leased.partition not in info.leaders:
            return f"the {side} has no {name}-{leased.partition} ({codes.name_of(info.error) if info else 'gone'})"
        if info.leaders[leased.partition].node < 0:
            return f"{side} {name}-{leased.partition} has no leader"
    assert here is not None and there is not None
    return Place(
        leased.partition,
        here,
        there,
        cursor.hint,
        check_range=cursor.is_out_of_range,
        unequal=cursor.unequal,
        stop_at=leased.stop_at,
        is_forgotten=cursor.is_forgotten,
    )
