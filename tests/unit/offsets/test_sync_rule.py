"""When offset syncs are due: MirrorMaker 2's own table, and runs as a whole."""

from __future__ import annotations

from sparkmirror.offsets.sync_rule import OffsetPair, SyncRule
from sparkmirror.topology.run import Run


def test_the_table_of_mirrormaker_s_own_test() -> None:
    """MirrorSourceTaskTest.testOffsetSync."""
    rule = SyncRule(50)
    table = [(0, 100, True), (2, 102, True), (3, 152, False), (4, 153, True), (5, 154, False), (6, 203, False)]
    table += [(7, 204, True), (2, 206, True), (3, 207, False), (4, 3, True), (5, 4, False)]
    assert [(up, down, bool(rule.take(Run(up, down, 1)))) for up, down, _ in table] == table


def test_without_a_lag_every_record_is_due() -> None:
    """MirrorSourceTaskTest.testZeroOffsetSync."""
    rule = SyncRule(0)
    assert all(rule.take(Run(i, 100 + i, 1)) for i in range(5))


def test_a_run_is_synced_where_it_begins_and_where_it_ends() -> None:
    rule = SyncRule(100)
    seen = [(rule.take(Run(*run)), rule.delayed) for run in [(0, 0, 1000), (1000, 1000, 50), (1050, 1050, 60)]]
    assert seen == [
        ([OffsetPair(0, 0), OffsetPair(999, 999)], None),
        ([], OffsetPair(1049, 1049)),
        ([OffsetPair(1109, 1109)], None),
    ]
    assert rule.take(Run(1112, 1110, 5)) == [OffsetPair(1112, 1110)]
