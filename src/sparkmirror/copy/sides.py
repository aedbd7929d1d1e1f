"""Both sides of a flow as somebody sees them who looks for a position: bounds of logs, rules, and what they allow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sparkmirror.copy import facts
from sparkmirror.copy.lease import ALWAYS, CONTINUE, Rules
from sparkmirror.copy.place import Place
from sparkmirror.copy.source_view import SourceView
from sparkmirror.errors import MirrorError
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.offsets import EARLIEST, LATEST, list_offsets


@dataclass(frozen=True, slots=True)
class Sides:
    """Asks both clusters, blocking. `unguarded_ok`: no earlier lease can still write."""

    source: SourceView
    target: Cluster
    producer_id: int
    rules: Rules
    unguarded_ok: Callable[[], bool]

    def id_of(self, place: Place) -> int:
        return self.producer_id if place.producer_id is None else place.producer_id

    def source_bounds(self, place: Place) -> tuple[int, int] | None:
        return self.source.bounds(place.source, place.partition)

    def target_start(self, place: Place) -> int | None:
        key = place.target_key
        return list_offsets(self.target, {key: place.target_leader}, EARLIEST).get(key)

    def high_watermark(self, place: Place) -> int | None:
        key = place.target_key
        return list_offsets(self.target, {key: place.target_leader}, LATEST).get(key)

    def tolerate(self, place: Place, policy: str, fact: MirrorError) -> None:
        if policy != CONTINUE:
            raise fact
        place.notes.append(f"{fact.name}: {fact}")

    def require_equal_or_auto(self, why: str) -> None:
        if self.rules.preserve == ALWAYS:
            raise facts.not_equal(why)
