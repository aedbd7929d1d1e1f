"""What `failover` and `failback` print, for people and for programs."""

from __future__ import annotations

from dataclasses import replace

from sparkmirror.cli.failover import document, plain
from sparkmirror.control.switch_report import MOVED, SHORT, MissingRow, MoveRow, Report
from sparkmirror.offsets.halts import Halt
from sparkmirror.offsets.seen import Seen

MOVE = MoveRow(
    group="billing",
    topic="orders",
    partition=0,
    offset=15,
    target_topic="A.orders",
    target_partition=0,
    wanted=12,
    before=3,
    state=MOVED,
)
DONE = Report(verb="failover", flow="A->B", dry_run=False, halt=Halt(7, "ops@h", "failover", 1_000), moves=(MOVE,))
KNOWN = replace(MOVE, topic="", partition=-1, synced_ms=2_000)
LOST = replace(
    DONE,
    away="cluster A: no broker answers",
    seen=Seen(3_000, {("orders", 0): 40}),
    partitions=(("orders", 0), ("orders", 1)),
    missing=(MissingRow(topic="orders", partition=0, records=40),),
    moves=(KNOWN,),
)


def test_a_planned_switch() -> None:
    assert list(plain(DONE, 10.0)) == [
        "failover A->B: done",
        "  no record is missing",
        "  halted by ops@h since 1970-01-01T00:00:01.000Z (failover): nothing is mirrored until "
        "sparkmirror failback FILE --flow 'A->B'",
        "",
        "GROUP    FROM      TO          FROM_OFFSET  TO_OFFSET  WAS  STATE  WHY",
        "billing  orders-0  A.orders-0           15         12    3  moved",
    ]


def test_what_is_missing_is_named() -> None:
    short = replace(
        DONE,
        missing=(MissingRow(topic="orders", partition=1, records=1_200, why="gap: gone"),),
        moves=(replace(MOVE, state=SHORT, why="it has read records that are not there"),),
        not_moved={"audit": "it has committed nothing"},
        still_there={"billing": "it still has 1 member on A"},
    )
    lines = list(plain(short, 10.0))
    assert lines[0] == "failover A->B: done, but not all"
    assert "  orders-1: 1,200 records are not mirrored: gap: gone" in lines
    assert "  audit: it has committed nothing" in lines and "  billing: it still has 1 member on A" in lines
    refused = replace(DONE, problem="not all is mirrored: nothing was changed", halt=None, moves=())
    assert next(plain(refused, 10.0)) == "failover A->B: not done: not all is mirrored: nothing was changed"
    assert next(plain(replace(DONE, dry_run=True), 10.0)) == "failover A->B: dry run, nothing was changed"


def test_without_the_source_the_report_says_how_old_each_thing_is() -> None:
    lines = list(plain(LOST, 10.0))
    assert lines[1:4] == [
        "  the source can't be reached: cluster A: no broker answers",
        "  the copy was last compared with the source 7 s ago, at 1970-01-01T00:00:03.000Z",
        "  orders-0: 40 records were not mirrored",
    ]
    assert "  billing: last synced 8 s ago, at 1970-01-01T00:00:02.000Z" in lines
    calm = replace(LOST, seen=Seen(3_000), missing=())
    assert list(plain(calm, 10.0))[2].endswith("03.000Z: nothing was missing then")
    assert list(plain(replace(LOST, seen=None, missing=()), 10.0))[2] == "  how far the copy was is not known"


def test_without_the_source_no_more_is_claimed_than_is_known() -> None:
    well = replace(LOST, missing=(), seen=Seen(3_000))
    said = list(plain(well, 10.0))
    assert said[0] == "failover A->B: done, as far as is known" and not well.is_whole
    assert not any("no record is missing" in line for line in said)
    assert next(plain(LOST, 10.0)) == "failover A->B: done, but not all"


def test_a_partition_that_stands_still_is_named_though_its_logs_are_as_long() -> None:
    row = MissingRow(topic="orders", partition=1, records=0, why="gap: gone")
    assert "  orders-1: the copy stands still: gap: gone" in plain(replace(DONE, missing=(row,)), 10.0)


def test_the_document() -> None:
    done, lost = document(DONE, 10.0), document(LOST, 10.0)
    assert (done["whole"], done["halted"], done["last_seen"], done["source_away"]) == (True, True, None, "")
    assert done["groups"] == [
        {
            "group": "billing",
            "from_topic": "orders",
            "from_partition": 0,
            "from_offset": 15,
            "to_topic": "A.orders",
            "to_partition": 0,
            "to_offset": 12,
            "was": 3,
            "synced": None,
            "state": "moved",
            "why": "",
        }
    ]
    assert lost["whole"] is False
    assert lost["last_seen"] == {
        "time": "1970-01-01T00:00:03.000Z",
        "partitions": [
            {"topic": "orders", "partition": 0, "lag": 40},
            {"topic": "orders", "partition": 1, "lag": 0},
        ],
    }
    assert lost["groups"][0]["synced"] == "1970-01-01T00:00:02.000Z"
    assert lost["missing"] == [{"topic": "orders", "partition": 0, "records": 40, "why": ""}]
