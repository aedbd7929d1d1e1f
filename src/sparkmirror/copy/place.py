"""A partition on both sides, and the place in it where the copy goes on."""

from __future__ import annotations

from dataclasses import dataclass, field

from sparkmirror.net.cluster import Leader, TopicInfo
from sparkmirror.net.log import format_topic_id
from sparkmirror.net.offsets import ProducerState
from sparkmirror.topology.run import Run
from sparkmirror.topology.standing import Standing


@dataclass(frozen=True, slots=True)
class Place:
    """A partition on both sides, with what the clusters' metadata says of its topics."""

    partition: int
    source: TopicInfo
    target: TopicInfo
    hint: Standing | None = None
    check_range: bool = False
    unequal: str = ""  # why equal offsets can't be kept from here on
    stop_at: int | None = None
    is_forgotten: bool = False  # the leader does not know our producer, and takes only a first sequence (before 2.5)
    onto: int | None = None  # the target partition, where it is another
    producer_id: int | None = None  # its own, where others write into the target partition, too
    is_new: bool = False  # nothing was written under that id yet
    is_as_left: bool = False  # the hint tells of all that was written under it
    accepts: str = ""  # the fact that somebody wants to be passed here
    notes: list[str] = field(default_factory=list)  # facts that a policy tolerated here
    passed: list[str] = field(default_factory=list)  # those that somebody accepted

    @property
    def is_new_source(self) -> bool:
        """Made anew since the hint: its offsets mean something else."""
        return bool(self.hint and self.hint.source_id and self.hint.source_id != self.source_id)

    @property
    def is_new_target(self) -> bool:
        return bool(self.hint and self.hint.target_id and self.hint.target_id != self.target_id)

    @property
    def is_shared(self) -> bool:
        return self.producer_id is not None

    @property
    def target_partition(self) -> int:
        return self.partition if self.onto is None else self.onto

    @property
    def target_key(self) -> tuple[str, int]:
        return self.target.name, self.target_partition

    @property
    def target_leader(self) -> Leader:
        return self.target.leaders[self.target_partition]

    @property
    def may_be_cut(self) -> bool:
        """The source's leader is not the one that took the newest record that was seen, or it refused what is next."""
        epoch = self.hint.source_epoch if self.hint and not self.is_new_source else -1
        return epoch >= 0 and (self.check_range or epoch != self.source.leaders[self.partition].epoch)

    @property
    def source_id(self) -> str:
        return format_topic_id(self.source.topic_id)

    @property
    def target_id(self) -> str:
        return format_topic_id(self.target.topic_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """The next source offset to copy, where it will stand in the target, and the last sequence there.

    `last_sequence` -1: none yet, so the next is 0 (a leader that knows a producer by its markers alone says -1, too).
    `fetch_from`: what lies before it is gone from the source. `log_start`: where the target's log shall begin; up to
    there it is filled first. `source_epoch`: of a leader that took the record before `next_offset` or a later one; with
    an earlier one the source would see a truncation where there is none, and -1 is safe. `equal_end`: see `Standing`.
    `runs`: where records stand that were appended and that nobody wrote down. `searched_end` and so on: see
    `Standing`. `is_search`: more of ours may stand behind `searched_end`, so it is no place to copy from yet.
    """

    next_offset: int
    target_next: int
    last_sequence: int
    fetch_from: int = 0
    source_epoch: int = -1
    log_start: int = 0
    translated: str = ""
    equal_end: int = 0
    runs: tuple[Run, ...] = ()
    is_news: bool = False
    searched_end: int = -1
    searched_gap: int = 0
    searched_epoch: int = -1
    is_search: bool = False

    @classmethod
    def of(cls, hint: Standing) -> Position:
        return cls(
            next_offset=hint.next_offset,
            target_next=hint.target_end,
            last_sequence=hint.last_sequence,
            source_epoch=hint.source_epoch,
            log_start=hint.log_start,
            translated=hint.translated,
            equal_end=hint.equal_end,
            searched_end=hint.searched_end,
            searched_gap=hint.searched_gap,
            searched_epoch=hint.searched_epoch,
        )


@dataclass(frozen=True, slots=True)
class Ends:
    """What the target's leader says of a partition: what it remembers of our producer, and where its log ends."""

    state: ProducerState | None
    log_end: int

    def last_sequence(self, if_forgotten: int = -1) -> int:
        """As the leader counts: -1 if it forgot our records and has seen only markers since."""
        return self.state.last_sequence if self.state else if_forgotten


def standing_of(place: Place, position: Position) -> Standing:
    return Standing(
        position.next_offset,
        position.last_sequence,
        position.target_next,
        position.source_epoch,
        position.log_start,
        position.translated,
        place.source_id,
        place.target_id,
        equal_end=position.equal_end,
        searched_end=position.searched_end,
        searched_gap=position.searched_gap,
        searched_epoch=position.searched_epoch,
    )
