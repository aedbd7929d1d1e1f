"""Wherever a target's log is cut, and whatever others write there since: each of ours stands there once, in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import cast

from hypothesis import given, settings
from hypothesis import strategies as st

from sparkmirror.batch.header import BatchHeader, patch_batch, read_header
from sparkmirror.copy.count_on import CountOn
from sparkmirror.copy.first_place import FirstPlace
from sparkmirror.copy.lease import CONTINUE, Rules
from sparkmirror.copy.place import Ends, Place, Position, standing_of
from sparkmirror.copy.shared_partition import SharedPartition
from sparkmirror.copy.sides import ANY_SIZE, Sides
from sparkmirror.copy.tail import Batch, Tail
from sparkmirror.errors import MirrorError
from sparkmirror.net.cluster import Leader, TopicInfo
from sparkmirror.net.offsets import ProducerState
from sparkmirror.topology.standing import Standing
from tests.support.batches import encode_batch

OURS, OTHERS = 7, 9
SEQUENCES = 1 << 31
SOURCE = TopicInfo("t", b"\0" * 16, {}, 1, False)


def make_batch(producer: int, sequence: int, first: int, values: list[bytes]) -> Batch:
    data = memoryview(encode_batch([(None, value, 1000) for value in values]))
    patch_batch(data, 0, producer, 0, sequence)
    data[:8] = first.to_bytes(8, "big")
    return Batch(read_header(data), data)


class Source:
    """Every third offset is a hole."""

    def records(self, first: int, end: int) -> list[int]:
        return [offset for offset in range(first, end) if offset % 3]

    def bounds(self, topic: TopicInfo, partition: int) -> tuple[int, int]:
        return 0, 1 << 40

    def copyable(self, topic: TopicInfo, partition: int, first: int, end: int) -> Iterator[Batch]:
        for begin in range(first - first % 3, min(end, 10_000), 3):
            yield make_batch(1, 0, begin + 1, [b"%d" % (begin + 1), b"%d" % (begin + 2)])


@dataclass
class Target:
    """A log in memory. `is_remembered`: the leader knows our producer."""

    batches: list[Batch] = field(default_factory=list)
    is_remembered: bool = True
    epoch_ends: list[int] = field(default_factory=list)  # of the leaders before

    @property
    def end(self) -> int:
        return self.batches[-1].header.end if self.batches else 0

    def append(self, producer: int, sequence: int, values: list[bytes]) -> None:
        self.batches.append(make_batch(producer, sequence, self.end, values))

    def cut(self, batches: int) -> None:
        """Somebody else leads, who lacks so many of the last ones."""
        del self.batches[len(self.batches) - batches :]
        self.epoch_ends = [min(end, self.end) for end in [*self.epoch_ends, self.end]]

    @property
    def topic(self) -> TopicInfo:
        return replace(SOURCE, leaders={0: Leader(0, len(self.epoch_ends))})

    def of(self, producer: int) -> list[Batch]:
        return [batch for batch in self.batches if batch.header.producer_id == producer]

    @property
    def values(self) -> list[int]:
        """Of ours, as source offsets."""
        contents = [record.content for batch in self.of(OURS) for record in batch.records]
        return [int(content[2:-1]) for content in contents]

    # what `Sides` asks

    def ends(self) -> Ends:
        last = self.of(OURS)[-1:]
        known = [ProducerState(batch.header.last_sequence, 0) for batch in last if self.is_remembered]
        return Ends(known[0] if known else None, self.end)


@dataclass
class SimulatedSides:
    target_log: Target
    source: Source = field(default_factory=Source)
    rules: Rules = field(default_factory=lambda: Rules(on_divergence=CONTINUE))
    count_bytes: int = ANY_SIZE
    read: int = 0  # batches

    def id_of(self, place: Place) -> int:
        return OURS

    def target_start(self, place: Place) -> int:
        return 0

    def high_watermark(self, place: Place) -> int:
        return self.target_log.end

    def read_tail(self, place: Place, log_start: int, log_end: int, producer_id: int | None = None) -> Tail | None:
        found = [b for b in self.target_log.of(OURS) if b.header.first < log_end]
        return Tail(found[-1].header, found[-1]) if found else None

    def batches(self, place: Place, first: int, end: int) -> Iterator[Batch]:
        for batch in self.target_log.batches:
            if batch.header.end > first and batch.header.first < end:
                self.read += 1
                yield batch

    def same_until(self, place: Place, epoch: int) -> int:
        return [*self.target_log.epoch_ends, ANY_SIZE][epoch] if epoch >= 0 else -1

    def batch_at(self, place: Place, offset: int) -> BatchHeader | None:
        return next((b.header for b in self.target_log.batches if b.header.end > offset), None)

    def is_without_gap(self, place: Place, first: int, end: int) -> bool:
        return True

    def source_bounds(self, place: Place) -> tuple[int, int]:
        return 0, 10_000

    def require_guarded(self, ends: Ends) -> None:
        return None

    def require_equal_or_auto(self, why: str) -> None:
        return None

    def tolerate(self, place: Place, policy: str, fact: MirrorError) -> None:
        place.notes.append(fact.name)

    def refute(self, place: Place, ends: Ends, why: str) -> None:
        raise AssertionError(why)


class Simulation:
    """`count_bytes`: what is read at once of a log that others write to."""

    def __init__(self, first_sequence: int, *, is_shared: bool, count_bytes: int = ANY_SIZE) -> None:
        self.target = Target()
        self.sides = SimulatedSides(self.target, count_bytes=count_bytes)
        sides = cast("Sides", self.sides)
        self._counting = CountOn(sides)
        self._shared = SharedPartition(sides, FirstPlace(sides), self._counting)
        self._is_shared = is_shared
        before = (first_sequence - 1) % SEQUENCES if first_sequence else -1
        self.hint = Standing(0, before, 0, translated="so")
        self.is_as_left = False
        self.source = Source()

    def find(self) -> tuple[Place, Position]:
        place, position = self.search()
        searched = -1
        while position.is_search:
            self.hint = standing_of(place, position)
            assert self.hint.searched_end > max(searched, self.hint.target_end - 1), "it goes on"
            searched = self.hint.searched_end
            place, position = self.search()
        return place, position

    def search(self) -> tuple[Place, Position]:
        producer_id = OURS if self._is_shared else None
        place = Place(0, SOURCE, self.target.topic, hint=self.hint, producer_id=producer_id, is_as_left=self.is_as_left)
        ends = self.target.ends()
        if self._is_shared:
            return place, self._shared.decide(place, ends)
        if ends.state and (ends.last_sequence(), ends.log_end) == (self.hint.last_sequence, self.hint.target_end):
            return place, Position.of(self.hint)
        return place, self._counting.decide(place, self.hint, ends)

    def copy(self, sizes: list[int], *, is_heard: bool) -> None:
        """`is_heard`: what it says is, its last word too."""
        place, position = self.find()
        self.check(position)
        if position.is_news or is_heard:
            self.hint = standing_of(place, position)
        self.is_as_left = is_heard
        sequence = (position.last_sequence + 1) % SEQUENCES
        for size in sizes:
            offsets = self.source.records(position.next_offset, position.next_offset + 3 * size)[:size]
            self.target.append(OURS, sequence, [b"%d" % offset for offset in offsets])
            sequence = (sequence + size) % SEQUENCES
            last, end = (sequence - 1) % SEQUENCES, self.target.end
            position = Position(next_offset=offsets[-1] + 1, target_next=end, last_sequence=last, translated="so")
            if is_heard:
                self.hint = standing_of(place, position)
        self.check(position)

    def check(self, position: Position) -> None:
        assert self.target.values == self.source.records(0, position.next_offset)


STEPS = st.one_of(
    st.tuples(st.just("copy"), st.lists(st.integers(1, 4), max_size=3), st.booleans()),
    st.tuples(st.just("others"), st.integers(1, 12)),
    st.tuples(st.just("cut"), st.integers(1, 4)),
    st.tuples(st.just("remember"), st.booleans()),
)


@settings(max_examples=200)
@given(
    st.lists(STEPS, max_size=14),
    st.sampled_from([0, SEQUENCES - 5]),
    st.booleans(),
    st.sampled_from([1, 300, ANY_SIZE]),
)
def test_each_record_stands_once_and_in_order(
    steps: list[tuple[object, ...]], first_sequence: int, is_shared: bool, count_bytes: int
) -> None:
    simulation = Simulation(first_sequence, is_shared=is_shared, count_bytes=count_bytes)
    target = simulation.target
    for step in [*steps, ("copy", [2], True)]:
        if step[0] == "copy":
            try:
                simulation.copy(cast("list[int]", step[1]), is_heard=bool(step[2]))
            except MirrorError as fact:
                assert fact.name == "position-unknown"
                assert not target.of(OURS), "there is no record left that says where it was"
                return
        elif step[0] == "others":
            target.append(OTHERS, 0, [b"other"] * cast("int", step[1]))
        elif step[0] == "cut":
            target.cut(min(cast("int", step[1]), len(target.batches)))
        else:
            target.is_remembered = bool(step[1])


def test_what_others_wrote_is_read_once_and_not_at_all_where_the_last_lease_ended_in_order() -> None:
    simulation = Simulation(0, is_shared=True, count_bytes=1)
    simulation.copy([2], is_heard=True)
    simulation.target.is_remembered = False
    for _ in range(10):
        simulation.target.append(OTHERS, 0, [b"other"])
    simulation.copy([], is_heard=True)
    assert simulation.sides.read == 0
    simulation.target.append(OTHERS, 0, [b"other"])
    simulation.copy([], is_heard=False)
    assert simulation.sides.read == 0
    simulation.target.append(OTHERS, 0, [b"other"])
    simulation.copy([], is_heard=True)
    assert simulation.sides.read == 2, "what stands behind all that is known to be others'"
    simulation.target.cut(1)
    simulation.target.append(OTHERS, 0, [b"other"])
    simulation.is_as_left = False
    simulation.copy([], is_heard=False)
    assert simulation.sides.read == 2 + 12, "it is not known who wrote there"
