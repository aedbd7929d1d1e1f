"""What must be done before the first append: say that offsets differ, or let the log begin where it should."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sparkmirror.copy import facts
from sparkmirror.copy.lease import ALWAYS
from sparkmirror.copy.log_start import ensure_log_start, fill_up_to_start, why_not_fillable
from sparkmirror.copy.place import Place, Position, standing_of
from sparkmirror.net.cluster import Cluster
from sparkmirror.topology.standing import Standing

NoteStanding = Callable[[tuple[str, int], Standing], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginner:
    """`note` writes to the progress topic, at once. `writing` is held while the target is written to."""

    target: Cluster
    producer_id: int
    preserve: str
    may_write: Callable[[], bool]
    note: NoteStanding
    writing: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, place: Place, position: Position, timestamp: Callable[[], int]) -> Position:
        """`timestamp`: that of the first record, which filler before it gets, too."""
        if position.target_next < position.log_start:
            why = why_not_fillable(self.target, place)
            if why and self.preserve == ALWAYS:
                raise facts.not_equal(why)
            if why:
                position = replace(position, log_start=0, translated=why, equal_end=0, is_news=True)
        if position.is_news:
            self.note((place.source.name, place.partition), standing_of(place, position))
        if position.target_next < position.log_start:
            with self.writing:
                position = fill_up_to_start(self.target, place, position, self.producer_id, timestamp(), self.may_write)
        if position.log_start:
            ensure_log_start(self.target, place, position.log_start)
        return position
