"""A task's work: read a range on both sides, compare it, and look again at what differs before it is said."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace

from sparkmirror.copy.log_fetcher import LogFetcher
from sparkmirror.errors import MirrorError, SparkmirrorError
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.map_topic import MAP_CHANGED, OffsetMapTopic
from sparkmirror.protocol.fetch import READ_UNCOMMITTED
from sparkmirror.verify import difference
from sparkmirror.verify.align import WINDOW
from sparkmirror.verify.by_key import LatestDiffers, LatestFound, compare_latest
from sparkmirror.verify.compare import MOST_DIFFERENCES, Comparison, compare
from sparkmirror.verify.difference import Difference
from sparkmirror.verify.places import EqualPlaces, MappedPlaces, Places
from sparkmirror.verify.reader import Ahead, Pace, Reading, TrimmedError
from sparkmirror.verify.side import SeenRecord, Side
from sparkmirror.verify.task import VerifyResult, VerifyTask

NAMED = 10  # differences of a range that are told one by one
MAP_TRIES = 5


def run_task(task: VerifyTask) -> VerifyResult:
    """Whatever goes wrong is said of this range alone."""
    pace = Pace(task.bytes_per_second)
    offsets = max(0, task.end - task.first)
    told = VerifyResult(topic=task.topic, partition=task.partition, first=task.first, offsets=offsets)
    try:
        with Cluster(task.source) as source, Cluster(task.target) as target:
            told = _run_with_map(lambda: _Work(task, source, target, pace), task, told)
    except SparkmirrorError as error:
        told = replace(told, problem=str(error))
    return replace(told, bytes=pace.bytes)


def _run_with_map(begin: Callable[[], _Work], task: VerifyTask, told: VerifyResult) -> VerifyResult:
    """A map that a running mirror writes anew meanwhile is read again."""
    for _ in range(MAP_TRIES):
        try:
            return _run(begin(), task, told)
        except MirrorError as error:
            if error.name != MAP_CHANGED:
                raise
            last = error
    raise last


def _run(work: _Work, task: VerifyTask, told: VerifyResult) -> VerifyResult:
    """What a side removes meanwhile is left out on both, and the rest is compared anew."""
    whole = task
    while task.first < task.end or task.target_first < task.target_end:
        try:
            found = work.compare_keys(task, told) if task.by_key else work.compare_records(task, told)
            return replace(found, trimmed=task.first - whole.first)
        except TrimmedError as trimmed:
            behind = work.behind(task, trimmed)
            if behind == task:
                raise
            task = behind
    return replace(told, trimmed=whole.end - whole.first)


class _Work:
    """What is read and how, of one task."""

    def __init__(self, task: VerifyTask, source: Cluster, target: Cluster, pace: Pace) -> None:
        self._places = _open_places(task, target)
        self._here = Reading(
            log=LogFetcher(source, task.topic, task.partition, task.isolation),
            pace=pace,
            skip_producers=task.skip_producers,
        )
        self._there = Reading(
            log=LogFetcher(target, task.remote, task.onto, READ_UNCOMMITTED, "target"),
            pace=pace,
            is_target=True,
            only_producer=task.producer_id if task.is_shared else None,
        )

    def behind(self, task: VerifyTask, trimmed: TrimmedError) -> VerifyTask:
        """What is left of a task, where one side's log begins later than it did."""
        if trimmed.is_target:
            target_first = min(max(trimmed.start, task.target_first), task.target_end)
            first = max(task.first, self._places.source_of(target_first))
        else:
            first = max(trimmed.start, task.first)
            target_first = max(task.target_first, self._places.expected(first) or 0)
        return replace(task, first=min(first, task.end), target_first=min(target_first, task.target_end))

    def compare_records(self, task: VerifyTask, told: VerifyResult) -> VerifyResult:
        looked = self._look(task, MOST_DIFFERENCES)
        found = looked.found
        if found:
            again = {each.place for each in self._look(self._around(task, found), 2 * MOST_DIFFERENCES).found}
            found = [each for each in found if each.place in again]
        told = replace(told, records=looked.records, others=looked.others, is_cut=looked.is_cut)
        return _judge(task, told, found)

    def _look(self, task: VerifyTask, most: int) -> Comparison:
        with self._open(task, task.end, task.target_end) as (source, target):
            return compare(source, target, self._places, most)

    def _around(self, task: VerifyTask, found: Sequence[Difference]) -> VerifyTask:
        """The range that these lie in and some records behind it; all of it where offsets are translated."""
        if not self._places.is_equal:
            return task
        offsets = [offset for each in found for offset in (each.source, each.target) if offset is not None]
        first, end = max(task.first, min(offsets)), max(offsets) + 2 * WINDOW
        return replace(
            task, first=first, target_first=first, end=min(task.end, end), target_end=min(task.target_end, end)
        )

    def compare_keys(self, task: VerifyTask, told: VerifyResult) -> VerifyResult:
        looked = self._look_at_keys(task)
        found = looked.found
        if found:
            again = {each.key for each in self._look_at_keys(task).found}
            found = [each for each in found if each.key in again]
        told = replace(told, records=looked.keys, is_cut=len(found) > MOST_DIFFERENCES)
        return _judge(task, told, [self._describe(each) for each in found[:MOST_DIFFERENCES]])

    def _look_at_keys(self, task: VerifyTask) -> LatestFound:
        """Both logs up to their very ends, as they are then."""
        with ExitStack() as opened:

            def open_sides() -> tuple[Side, Side]:
                opened.close()
                here, there = self._here.log.readable_end(), self._there.log.readable_end()
                return opened.enter_context(self._open(task, max(here, task.end), max(there, task.target_end)))

            return compare_latest(open_sides, self._places, seed=task.seed, with_time=task.with_time)

    def _describe(self, found: LatestDiffers) -> Difference:
        source, target = self._record(self._here, found.source), self._record(self._there, found.target)
        if source and target and self._places.expected(source.offset) == target.offset:
            return difference.changed(source, target)
        if source and (target is None or source.offset >= self._places.source_of(target.offset)):
            return difference.missing(source)
        if target:
            return difference.extra(target)
        return Difference(difference.CHANGED, found.source, found.target)  # both are gone meanwhile

    def _record(self, reading: Reading, offset: int | None) -> SeenRecord | None:
        if offset is None:
            return None
        stretches = (stretch for some in reading.fetches(offset, offset + 1) for stretch in some)
        side = Side(stretches, offset, offset + 1, is_target=reading.is_target)
        return next(iter(side.peek(1, 0)), None)

    @contextmanager
    def _open(self, task: VerifyTask, end: int, target_end: int) -> Iterator[tuple[Side, Side]]:
        """Both sides of a task, read up to these ends."""
        with (
            closing(Ahead(lambda: self._here.fetches(task.first, end))) as here,
            closing(Ahead(lambda: self._there.fetches(task.target_first, target_end))) as there,
        ):
            yield Side(here, task.first, task.end), Side(there, task.target_first, task.target_end, is_target=True)


def _judge(task: VerifyTask, told: VerifyResult, found: Sequence[Difference]) -> VerifyResult:
    """Records that the mirror left out on purpose are no differences."""
    real = [each for each in found if not (task.tolerates and each.kind == difference.MISSING)]
    return replace(told, left_out=len(found) - len(real), differences=len(real), found=tuple(real[:NAMED]))


def _open_places(task: VerifyTask, target: Cluster) -> Places:
    if task.standing is None:
        return EqualPlaces()
    topic = OffsetMapTopic(target, task.storage)
    topic.read()
    return MappedPlaces(topic.map_of((task.topic, task.partition), task.standing), task.producer_id)
