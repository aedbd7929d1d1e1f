"""Behaviours of MirrorMaker 2's own tests of checkpoints and offset syncs, by name.

Where MirrorMaker 2 promises a bound the offset here is exact, and the test shows both.
"""

from __future__ import annotations

import bisect

import pytest

from sparkmirror.groups.names import Names
from sparkmirror.groups.rules import Moved, plan_checkpoints
from sparkmirror.groups.task import GroupTask
from sparkmirror.groups.translator import Answer
from sparkmirror.groups.work import move_group
from sparkmirror.net.address import ClusterAddress
from sparkmirror.offsets.checkpoints import Checkpoint
from sparkmirror.offsets.offset_map import OffsetMap, Translated, equal_map
from sparkmirror.offsets.runs import Chunk, span_of
from sparkmirror.protocol.committed import Committed
from sparkmirror.topology.run import Run
from sparkmirror.topology.storage import Storage

PLACE = ("a.t", 0)


def map_of(*runs: Run) -> OffsetMap:
    chunk, last = Chunk.of(runs), runs[-1]
    return OffsetMap(
        equal_end=0,
        source_end=last.source + last.length,
        target_end=last.target + last.length,
        spans=[span_of(chunk)],
        load=lambda _: chunk,
    )


def mirrormaker(syncs: list[tuple[int, int]], offset: int) -> int:
    """OffsetSyncStore.translateDownstream: the newest sync not behind the offset; one more if it is before it."""
    index = bisect.bisect_right([upstream for upstream, _ in syncs], offset) - 1
    if index < 0:
        return -1
    upstream, downstream = syncs[index]
    return downstream + (offset > upstream)


def test_checkpoint() -> None:
    """MirrorCheckpointTaskTest.testCheckpoint: past a sync MirrorMaker 2 says one more; here it is the place."""
    found = map_of(Run(7, 11, 10))
    assert found.to_target(7) == Translated(11) and mirrormaker([(7, 11)], 7) == 11
    assert found.to_target(10) == Translated(14) and mirrormaker([(7, 11)], 10) == 12


@pytest.mark.parametrize(
    ("step", "kept"),
    [
        (1, [0, 8, 16, 18, 19, 20]),
        (10, [0, 480, 720, 840, 900, 960, 990, 1000]),
        (100, [0, 6400, 8000, 8800, 9600, 9800, 9900, 10000]),
    ],
)
def test_past_offset_translation(step: int, kept: list[int]) -> None:
    """OffsetSyncStoreTest.testPastOffsetTranslation: of 64 syncs the older are kept sparsely. Here all are exact."""
    found = equal_map(kept[-1])
    again = 0
    for offset in range(0, kept[-1] + 1, max(1, step // 10)):
        theirs = mirrormaker([(upstream, upstream) for upstream in kept], offset)
        assert found.to_target(offset) == Translated(offset) and theirs <= offset
        again = max(again, offset - theirs)
    assert again >= (kept[-1] // 4 if step > 1 else 6), "what MirrorMaker 2 lets a group read again"


def test_offset_translation() -> None:
    """OffsetSyncStoreTest.testOffsetTranslation: before the first record MirrorMaker 2 says -1, nothing is done; here
    it is the first record. Offsets of both sides may begin anew."""
    found = map_of(Run(100, 200, 50), Run(150, 300, 10))
    assert mirrormaker([(100, 200)], 5) == -1 and found.to_target(5) == Translated(200)
    assert [found.to_target(offset) for offset in (100, 149, 150, 160)] == [
        Translated(200),
        Translated(249),
        Translated(300),
        Translated(310),
    ]
    assert found.to_target(161) == Translated(310, is_exact=False), "never past the end of what was copied"


def test_a_restarted_task_uses_the_checkpoints_that_are_there() -> None:
    """MirrorCheckpointTaskTest.testCheckpointsTaskRestartUsesExistingCheckpoints. But a lower offset is not a worse one
    here: it is that of a log that was made anew."""
    before = {PLACE: Checkpoint("g", *PLACE, 200, 201)}
    for upstream, downstream, is_news in ((250, 201, False), (370, 176, True), (400, 376, True)):
        moved = {PLACE: Moved(upstream, downstream)}
        assert plan_checkpoints(before, moved) == (moved if is_news else {})


def test_no_checkpoint_for_topic_with_null_offset_and_metadata() -> None:
    """MirrorCheckpointTaskTest of that name: an offset that was taken back is none."""
    answers = {(("t", 0), 7): Answer(PLACE, Translated(7))}
    moved, report = move_group("g", {("t", 0): Committed(7), ("t", 1): Committed(-1)}, answers, {})
    assert moved == {PLACE: Moved(7, 7)} and not report.why


def test_no_checkpoint_for_topic_without_offset_syncs() -> None:
    """MirrorCheckpointTaskTest of that name: what was not mirrored has none, and here it says so."""
    answers = {(("t", 0), 7): Answer(PLACE, None, "nothing of it was mirrored yet")}
    moved, report = move_group("g", {("t", 0): Committed(7), ("other", 0): Committed(3)}, answers, {})
    assert moved == {} and report.why == "t-0: nothing of it was mirrored yet"


def test_where_topics_are_merged_a_group_goes_on_from_the_first_of_its_places() -> None:
    answers = {((f"t{i}", 0), 5): Answer(("all", 0), Translated(10 - i)) for i in range(3)}
    moved, _ = move_group("g", {(f"t{i}", 0): Committed(5) for i in range(3)}, answers, {})
    assert moved == {("all", 0): Moved(5, 8)}


def test_where_topics_are_merged_one_that_is_not_known_keeps_the_others_back() -> None:
    answers = {(("t0", 0), 5): Answer(("all", 0), Translated(10)), (("t1", 0), 5): Answer(("all", 0), None, "why")}
    moved, report = move_group("g", {(f"t{i}", 0): Committed(5) for i in range(2)}, answers, {})
    assert moved == {} and report.why == "t1-0: why" and report.mirrored == 0


def test_where_topics_are_merged_one_that_the_group_has_not_read_keeps_the_others_back() -> None:
    answers = {(("t0", 0), 5): Answer(("all", 0), Translated(10)), (("x", 0), 5): Answer(("a.x", 0), Translated(5))}
    offsets = {("t0", 0): Committed(5), ("x", 0): Committed(5)}
    moved, report = move_group("g", offsets, answers, {("all", 0): {("t0", 0), ("t1", 0)}})
    assert moved == {("a.x", 0): Moved(5, 5)}
    assert report.why == "t1-0: it has committed nothing of t1-0, whose records stand in all-0, too"


def test_task_config_consumer_groups() -> None:
    """MirrorCheckpointConfigTest.testTaskConfigConsumerGroups: groups arrive at the task, whatever their names hold."""
    address = ClusterAddress(alias="a", bootstrap=("h:1",))
    task = GroupTask(
        flow="a->b",
        source=address,
        target=address,
        groups=("plain", "with, comma", 'with "quotes"', "ä"),
        names=Names({"t": "a.t"}, {"b.x": "x"}, {}),
        storage=Storage.named("a"),
        other_way=Storage.named("b"),
        checkpoints_topic="a.checkpoints.internal",
        emit=True,
        sync=False,
        rewind=False,
    )
    assert GroupTask.from_json(task.to_json()) == task
