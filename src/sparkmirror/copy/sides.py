"""Both sides of a flow as somebody sees them who looks for a position: bounds of logs, rules, and what they allow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NoReturn

from sparkmirror.batch.header import BatchHeader
from sparkmirror.copy import facts
from sparkmirror.copy.lease import ALWAYS, CONTINUE, Rules
from sparkmirror.copy.place import Ends, Place
from sparkmirror.copy.source_view import SourceView
from sparkmirror.copy.tail import Batch, Tail, all_batches, is_without_gap, read_tail
from sparkmirror.errors import MirrorError, SparkmirrorError
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.log import fetch_batch_at
from sparkmirror.net.offsets import EARLIEST, LATEST, describe_producer, fetch_epoch_ends, list_offsets

ANY_SIZE = 1 << 62


class NotYetError(SparkmirrorError):
    """Where a partition stands can't be said yet: the text says what is waited for, and it passes by itself."""


@dataclass(frozen=True, slots=True)
class Sides:
    """Asks both clusters, blocking. `unguarded_ok`: no earlier lease can still write. `count_bytes`: about so much of
    a log that others write to is read at once."""

    source: SourceView
    target: Cluster
    producer_id: int
    rules: Rules
    unguarded_ok: Callable[[], bool]
    count_bytes: int = ANY_SIZE

    def id_of(self, place: Place) -> int:
        return self.producer_id if place.producer_id is None else place.producer_id

    def source_bounds(self, place: Place) -> tuple[int, int]:
        bounds = self.source.bounds(place.source, place.partition)
        if bounds is None:
            raise NotYetError("the source's leader does not say where its log begins and ends")
        return bounds

    def target_start(self, place: Place) -> int:
        return self._target_offset(place, EARLIEST, "begins")

    def high_watermark(self, place: Place) -> int:
        return self._target_offset(place, LATEST, "can be read up to")

    def _target_offset(self, place: Place, which: int, what: str) -> int:
        key = place.target_key
        found = list_offsets(self.target, {key: place.target_leader}, which).get(key)
        if found is None:
            raise NotYetError(f"the target's leader does not say where its log {what}")
        return found

    # -- what stands in the target's log

    def read_tail(self, place: Place, log_start: int, log_end: int, producer_id: int | None = None) -> Tail | None:
        return read_tail(self.target, place.target, place.target_partition, log_start, log_end, producer_id)

    def batches(self, place: Place, first: int, end: int) -> Iterator[Batch]:
        return all_batches(self.target, place.target, place.target_partition, first, end)

    def same_until(self, place: Place, epoch: int) -> int:
        """How far the log is still the one that its leader of an earlier epoch had; -1 if that is not said."""
        key, leader = place.target_key, place.target_leader
        if epoch == leader.epoch or epoch < 0:
            return ANY_SIZE if epoch >= 0 else -1
        end = fetch_epoch_ends(self.target, {key: leader}, {key: epoch}).get(key)
        return end.end if end else -1

    def batch_at(self, place: Place, offset: int) -> BatchHeader | None:
        """The batch that holds the offset, or the next one if there is none."""
        found = fetch_batch_at(self.target, place.target, place.target_partition, offset)
        return found and found[0]

    def is_without_gap(self, place: Place, first: int, end: int) -> bool:
        return is_without_gap(self.target, place.target, place.target_partition, first, end)

    # -- what has to be waited for

    def require_all_readable(self, place: Place, log_end: int) -> None:
        """All that the leader holds is on its followers, too, so it can be read and stays."""
        high = self.high_watermark(place)
        if high != log_end:
            raise behind(high, log_end)

    def require_guarded(self, ends: Ends) -> None:
        """A leader that remembers our producer refuses what an earlier lease sends late."""
        if ends.state is None and not self.unguarded_ok():
            raise NotYetError(
                "the target's leader does not remember our producer, so a lease of an earlier driver could still "
                "write: its end is waited for"
            )

    def refute(self, place: Place, ends: Ends, why: str) -> NoReturn:
        """What was found can't be. If nothing has moved meanwhile, waiting does not help."""
        key, leader = place.target_key, {place.target_key: place.target_leader}
        states = describe_producer(self.target, leader, self.id_of(place))
        log_ends = list_offsets(self.target, leader, LATEST, log_end=True)
        if key in states and key in log_ends and Ends(states[key], log_ends[key]) == ends:
            raise facts.position_unknown(why)
        raise NotYetError("the target's log changes while it is looked at: somebody else's appends are waited for")

    # -- policies

    def tolerate(self, place: Place, policy: str, fact: MirrorError) -> None:
        if fact.name == place.accepts:
            place.passed.append(f"{fact.name}: {fact}")
        elif policy == CONTINUE:
            place.notes.append(f"{fact.name}: {fact}")
        else:
            raise fact

    def require_equal_or_auto(self, why: str) -> None:
        if self.rules.preserve == ALWAYS:
            raise facts.not_equal(why)


def behind(high: int, log_end: int) -> NotYetError:
    if high > log_end:
        return NotYetError("the target's log grows while it is looked at: somebody else's appends are waited for")
    return NotYetError(
        f"the target's followers are behind its leader: its high watermark is {high}, its log ends at {log_end}"
    )
