"""Progress is written from time to time, never beyond the offset map, and nothing of it is lost by a try that fails."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from sparkmirror.control.offset_maps import MapRun, OffsetMaps
from sparkmirror.control.progress_keeper import ProgressKeeper
from sparkmirror.copy.receipt import COPIED, Receipt
from sparkmirror.errors import ConnectionLostError
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.map_chain import Ids
from sparkmirror.offsets.progress import ProgressTopic
from sparkmirror.topology.standing import OTHERS, Standing
from sparkmirror.topology.storage import Storage

T0, T1 = ("t", 0), ("t", 1)
EARLY, LATE = Standing(10, 9, 10), Standing(12, 11, 12)


class Topics:
    """What was written to both topics, in order. `away`: neither can be. `lost`: progress was deleted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log: list[object] = []
        self.away = self.lost = self.fails_once = False
        self.progress: dict[tuple[str, int], Standing] = {}  # what is read
        monkeypatch.setattr(ProgressTopic, "read", lambda _: dict(self.progress))
        monkeypatch.setattr(ProgressTopic, "write", lambda _, news: self._write(dict(news)))
        monkeypatch.setattr(ProgressTopic, "remake_if_lost", lambda _: self.lost)
        self.map_lost: dict[tuple[str, int], set[Ids]] = {}
        self.map_away = False
        monkeypatch.setattr(OffsetMaps, "begin_if_lost", lambda _: self.map_lost)
        monkeypatch.setattr(OffsetMaps, "write", lambda maps: self._write_map(maps._told))

    def _write_map(self, told: list[MapRun]) -> None:
        if self.map_away:
            raise ConnectionLostError("the map is away")
        self._write([run for *_, run in told])
        told.clear()

    def _write(self, what: Mapping[object, object] | list[object]) -> None:
        if self.away:
            raise ConnectionLostError("nobody is there")
        if what and self.fails_once:
            self.fails_once = False
            raise ConnectionLostError("not yet")
        if what:
            self.log.append(what)


@pytest.fixture
def topics(monkeypatch: pytest.MonkeyPatch) -> Topics:
    return Topics(monkeypatch)


@pytest.fixture
def keeper() -> ProgressKeeper:
    return ProgressKeeper(
        "a->b", Cluster(ClusterAddress(alias="b", bootstrap=())), Storage.named("a"), 1, may_write=lambda: True
    )


def test_the_newest_of_what_was_noted_is_written_once(keeper: ProgressKeeper, topics: Topics) -> None:
    keeper.note({T0: EARLY})
    keeper.note({T0: LATE, T1: EARLY})
    assert not topics.log
    keeper.write()
    keeper.write()
    assert topics.log == [{T0: LATE, T1: EARLY}]
    assert keeper.written == {T0: LATE, T1: EARLY}


def test_all_is_written_anew_where_the_topic_was_lost(keeper: ProgressKeeper, topics: Topics) -> None:
    keeper.note({T0: EARLY, T1: EARLY})
    keeper.write()
    topics.lost = True
    keeper.note({T0: LATE})
    topics.fails_once = True
    keeper.write()
    topics.lost = False
    assert not keeper.is_all_written({})
    keeper.write()
    assert topics.log[1:] == [{T0: LATE, T1: EARLY}]


def test_what_was_lost_is_forgotten_when_another_led_meanwhile(keeper: ProgressKeeper, topics: Topics) -> None:
    keeper.note({T0: EARLY})
    keeper.write()
    topics.lost = topics.fails_once = True
    keeper.note({T1: EARLY})
    keeper.write()
    topics.lost = False
    keeper.take_lead()
    keeper.note({T0: EARLY})
    keeper.write()
    with pytest.raises(ConnectionLostError, match="not read yet"):
        keeper.write_now(T0, EARLY)
    assert topics.log == [{T0: EARLY}], "it has not read yet what the other wrote"
    topics.progress = {T0: LATE}
    keeper.read()
    keeper.write()
    assert topics.log == [{T0: EARLY}]
    assert keeper.written == {T0: LATE}


def test_nothing_is_written_anew_by_who_may_not_lead_any_more_when_the_topic_is_made(topics: Topics) -> None:
    cluster, leads = Cluster(ClusterAddress(alias="b", bootstrap=())), True
    keeper = ProgressKeeper("a->b", cluster, Storage.named("a"), 1, may_write=lambda: leads)
    keeper.note({T0: EARLY})
    keeper.write()
    topics.lost, leads = True, False
    keeper.write()
    assert topics.log == [{T0: EARLY}]
    assert not keeper.is_all_written({})


def test_what_a_topic_made_anew_says_is_not_overwritten(keeper: ProgressKeeper, topics: Topics) -> None:
    """A task may have written it."""
    keeper.note({T0: EARLY, T1: EARLY})
    keeper.write()
    topics.lost, topics.progress = True, {T0: LATE}
    keeper.write()
    assert topics.log[1:] == [{T1: EARLY}]


def test_the_map_is_written_before_the_progress(keeper: ProgressKeeper, topics: Topics) -> None:
    standing = Standing(10, 9, 7, translated="why")
    receipt = Receipt(
        flow="a->b", topic="t", partition=0, kind=COPIED, source_first=8, source_end=10, target_first=5, target_end=7,
        stands=json.dumps(standing),
    )  # fmt: skip
    keeper.note({T0: standing}, [receipt])
    keeper.write()
    assert topics.log == [[receipt.run], {T0: standing}]


def test_a_map_that_can_not_be_written_holds_back_its_own_partitions_alone(
    keeper: ProgressKeeper, topics: Topics
) -> None:
    standing = Standing(10, 9, 7, translated="why")
    topics.map_away = True
    keeper.note({T0: standing, T1: EARLY})
    keeper.write()
    keeper.write_now(T1, LATE)
    with pytest.raises(ConnectionLostError, match="the map is away"):
        keeper.write_now(("t", 2), standing)
    assert topics.log == [{T1: EARLY}, {T1: LATE}]
    assert not keeper.is_all_written({})
    topics.map_away = False
    keeper.write()
    assert topics.log[2:] == [{T0: standing}]


def test_where_the_map_was_deleted_progress_says_so_whatever_leases_tell(
    keeper: ProgressKeeper, topics: Topics
) -> None:
    ids = Ids("s", "t")
    standing = Standing(10, 9, 7, translated="why", source_id=ids.source, target_id=ids.target)
    other = standing._replace(source_id="of another topic")
    keeper.note({T0: standing})
    keeper.write()
    topics.map_lost = {T0: {ids}}
    keeper.write()
    later = standing._replace(next_offset=12, target_end=9)
    keeper.note({T0: later, T1: standing})
    keeper.write()
    keeper.write_now(T0, other)
    lost, later_lost = (each._replace(equal_end=OTHERS) for each in (standing, later))
    assert topics.log == [{T0: standing}, {T0: lost}, {T0: later_lost, T1: standing}, {T0: other}]


def test_what_could_not_be_written_is_written_later_unless_there_is_newer(
    keeper: ProgressKeeper, topics: Topics
) -> None:
    topics.away = True
    keeper.note({T0: EARLY, T1: EARLY})
    keeper.write()
    assert keeper.written == {}
    topics.away = False
    keeper.note({T0: LATE})
    keeper.write()
    assert topics.log == [{T0: LATE, T1: EARLY}]


def test_what_was_noted_before_does_not_come_behind_what_is_written_at_once(
    keeper: ProgressKeeper, topics: Topics
) -> None:
    keeper.note({T0: EARLY, T1: EARLY})
    keeper.write_now(T0, LATE)
    assert keeper.written == {T0: LATE}
    keeper.write()
    assert topics.log == [{T0: LATE}, {T1: EARLY}]


def test_who_takes_the_lead_forgets_what_it_knew_before(keeper: ProgressKeeper, topics: Topics) -> None:
    keeper.note({T0: EARLY})
    keeper.take_lead()
    keeper.write()
    assert not topics.log


def test_all_is_written_when_nothing_is_due_and_what_is_asked_for_stands_there(
    keeper: ProgressKeeper, topics: Topics
) -> None:
    keeper.note({T0: EARLY})
    assert not keeper.is_all_written({})
    keeper.write()
    assert keeper.is_all_written({T0: EARLY}) and not keeper.is_all_written({T0: LATE})
    assert keeper.is_all_written({T1: Standing(0)}), "nothing was copied"


def test_where_tasks_write_progress_too_nothing_is_written_late(topics: Topics) -> None:
    cluster = Cluster(ClusterAddress(alias="b", bootstrap=()))
    keeper = ProgressKeeper("a->b", cluster, Storage.named("a"), 1, may_write=lambda: True, tries_again=False)
    topics.away = True
    keeper.note({T0: EARLY})
    keeper.write()
    topics.away = False
    keeper.write()
    assert not topics.log


def test_where_tasks_write_progress_too_what_was_lost_is_written_unless_they_have(topics: Topics) -> None:
    cluster = Cluster(ClusterAddress(alias="b", bootstrap=()))
    keeper = ProgressKeeper("a->b", cluster, Storage.named("a"), 1, may_write=lambda: True, tries_again=False)
    keeper.note({T0: EARLY, T1: EARLY})
    keeper.write()
    topics.lost, topics.progress = True, {T0: LATE}
    keeper.write()
    assert topics.log[1:] == [{T1: EARLY}]
