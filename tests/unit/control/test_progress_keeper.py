"""Whether all that was copied is told: progress of translated partitions goes no further than that."""

from __future__ import annotations

from sparkmirror.control.progress_keeper import ProgressKeeper
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage

T0, T1 = ("t", 0), ("t", 1)


def keeper(written: dict[tuple[str, int], Standing]) -> ProgressKeeper:
    made = ProgressKeeper("a->b", Cluster(ClusterAddress(alias="b", bootstrap=())), Storage.named("a"), 1)
    made.written = written
    return made


def test_receipts_are_waited_for_where_offsets_are_translated() -> None:
    told, more = Standing(10, 9, 7, translated="why"), Standing(12, 11, 9, translated="why")
    assert keeper({T0: told}).is_told_all({T0: told})
    assert not keeper({T0: told}).is_told_all({T0: told, T1: more})
    assert not keeper({T0: told}).is_told_all({T0: more})


def test_nothing_is_waited_for_that_will_not_come() -> None:
    assert keeper({}).is_told_all({T0: Standing(10, 9, 10)}), "equal offsets need no map"
    assert keeper({}).is_told_all({T0: Standing(0, -1, 5, translated="why")}), "nothing was copied yet"
