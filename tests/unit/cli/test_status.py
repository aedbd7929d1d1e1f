"""What `status` says of a flow, in both forms, and with which exit code it ends."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

from rich.console import Console

from sparkmirror.cli.status import draw, exit_code, heading, plain
from sparkmirror.control.survey import FlowSurvey
from sparkmirror.control.survey_document import survey_document
from sparkmirror.control.survey_rows import Bounds, GroupAge, PartitionRow, TopicRow
from sparkmirror.offsets.claims import Leadership
from sparkmirror.offsets.halts import Halt
from sparkmirror.offsets.seen import Seen
from sparkmirror.topology.acls import ALLOW, READ, Grant
from sparkmirror.topology.fact import Fact

NOW = 1_000.0
SINCE = "1970-01-01T00:00:01.000Z"
LEADER = Leadership(7, "0123456789ab", False, written_ms=2_000, since_ms=1_000, host="h", pid=12)
GAP = Fact(kind="stopped", name="gap", error="offsets 1..2\nare gone", since=SINCE)


def row(partition: int, state: str, *, translated: str = "", fact: Fact | None = None, lag: int = 0) -> PartitionRow:
    return PartitionRow(
        topic="t",
        partition=partition,
        target_topic="A.t",
        bounds=Bounds(0, 1000, 1200, 0, 1000 - lag),
        lag=lag,
        state=state,
        translated=translated,
        fact=fact,
    )


WELL = FlowSurvey(
    flow="A->B",
    leader=LEADER,
    running=True,
    topics=(TopicRow(topic="t", target_topic="A.t"),),
    partitions=(row(0, "copied"), row(1, "copying", translated="it was taken over", lag=40)),
)
STOPPED = FlowSurvey(
    flow="A->C", topics=WELL.topics, partitions=(*WELL.partitions, row(2, "stopped", fact=GAP, lag=990))
)
CHANGED = TopicRow(
    topic="t",
    target_topic="A.t",
    by_hand={"retention.ms": "-1", "segment.bytes": None},
    taken_away=(Grant("User:x", "*", READ, ALLOW).on("A.t"),),
)
BY_HAND = FlowSurvey(flow="A->B", topics=(CHANGED,))
AWAY = FlowSurvey(flow="A->D", problem="cluster D: no broker answers")


def test_the_plain_form() -> None:
    assert list(plain([STOPPED, AWAY], NOW)) == [
        "A->C: not running",
        "",
        "t -> A.t",
        "PARTITION  SRC_START  SRC_LSO  SRC_END  DST_END  LAG  STATE               ERROR",
        "        0          0     1000     1200     1000    0  copied",
        "        1          0     1000     1200      960   40  copying translated  it was taken over",
        "        2          0     1000     1200       10  990  stopped             "
        f"gap: offsets 1..2 are gone (since {SINCE})",
        "",
        "A->D: leader not known",
        "  cluster D: no broker answers",
    ]


def test_what_was_changed_by_hand_stands_behind_its_topic() -> None:
    changed = "(by hand: retention.ms=-1, no segment.bytes, without ALLOW READ to User:x from * (literal))"
    assert list(plain([BY_HAND], NOW))[2] == f"t -> A.t {changed}"


def test_the_drawn_form_says_the_same_within_the_terminal() -> None:
    console = Console(file=StringIO(), width=80, highlight=False)
    for part in draw([STOPPED, AWAY], 80, NOW):
        console.print(part)
    assert isinstance(console.file, StringIO)
    text = console.file.getvalue()
    assert all(len(line) <= 80 for line in text.splitlines())
    for part in ("t -> A.t", "SRC_LSO", "1,200", "copying translated", "2: gap: offsets 1..2 are gone", "no broker"):
        assert part in text


def test_the_heading_says_who_leads_and_since_when() -> None:
    assert heading(WELL) == f"A->B: driver 01234567 on h (pid 12) leads since {SINCE}"
    silent = FlowSurvey(flow="A->B", leader=LEADER)
    assert heading(silent) == "A->B: not running (driver 01234567 on h (pid 12), last seen 1970-01-01T00:00:02.000Z)"


def test_a_flow_without_topics_says_so() -> None:
    assert list(plain([FlowSurvey(flow="A->B")], NOW))[1] == "  no topic of the source matches"


GROUPS = (
    GroupAge(group="g", checkpointed=995.0, synced=994.0),
    GroupAge(group="moved", checkpointed=995.0, synced=100.0, why="the group is Stable on the target"),
    GroupAge(group="share", checkpointed=None, synced=None, why="share groups are not supported"),
)


def test_groups_have_ages_or_the_reason_why_not() -> None:
    survey = FlowSurvey(flow="A->B", problem="cluster A: no broker answers", groups=GROUPS)
    assert list(plain([survey], NOW))[2:] == [
        "",
        "3 consumer groups, checkpoints 5s old, syncs 6s old, 2 not up to date",
        "GROUP  CHECKPOINT_AGE  SYNC_AGE  WHY",
        "share               -         -  share groups are not supported",
        "moved              5s       15m  the group is Stable on the target",
        "g                  5s        6s",
    ]
    assert survey_document([survey], NOW)["flows"][0]["groups"][1] == {
        "group": "moved",
        "checkpointed": "1970-01-01T00:16:35.000Z",
        "synced": "1970-01-01T00:01:40.000Z",
        "checkpoint_age_seconds": 5.0,
        "sync_age_seconds": 900.0,
        "why": "the group is Stable on the target",
    }


def test_of_many_groups_the_oldest_and_those_with_a_reason_are_shown() -> None:
    many = tuple(GroupAge(group=f"g{i}", checkpointed=900.0 + i % 90, synced=None) for i in range(10_000))
    lines = list(plain([FlowSurvey(flow="A->B", groups=(*many, *GROUPS))], NOW))[3:]
    assert lines[0] == "10,003 consumer groups, checkpoints 100s old, syncs 6s old, 2 not up to date"
    assert [line.split()[0] for line in lines[2:6]] == ["share", "moved", "g0", "g1080"]
    assert lines[12:] == ["  and 9,993 more: --json has all"]


def test_exit_codes() -> None:
    unknown = FlowSurvey(
        flow="A->B",
        partitions=(
            PartitionRow(
                topic="t", partition=0, target_topic="A.t", bounds=Bounds(), lag=None, state="unknown", translated=""
            ),
        ),
    )
    assert [exit_code(each) for each in ([WELL], [WELL, STOPPED], [STOPPED, AWAY], [unknown])] == [0, 1, 3, 3]


def test_the_document_has_all_fields() -> None:
    document = survey_document([STOPPED, WELL, AWAY], 3.0)
    assert document["time"] == "1970-01-01T00:00:03.000Z"
    stopped, well, away = document["flows"]
    assert (well["flow"], well["running"], well["generation"], well["problem"]) == ("A->B", True, 7, "")
    assert well["leader"] == {
        "driver": "0123456789ab",
        "host": "h",
        "pid": 12,
        "since": SINCE,
        "seen": "1970-01-01T00:00:02.000Z",
        "released": False,
    }
    assert (away["leader"], away["generation"], away["partitions"]) == (None, -1, [])
    row = {"topic": "t", "target_topic": "A.t", "fact": None}
    assert stopped["topics"] == [{**row, "by_hand": {}, "rights_taken_away": []}]
    (topic,) = survey_document([BY_HAND], 3.0)["flows"][0]["topics"]
    by_hand = {"by_hand": {"retention.ms": "-1", "segment.bytes": None}}
    assert topic == {**row, **by_hand, "rights_taken_away": ["ALLOW READ to User:x from * (literal)"]}
    assert stopped["partitions"][2] == {
        "topic": "t",
        "partition": 2,
        "target_topic": "A.t",
        "source_start": 0,
        "source_lso": 1000,
        "source_end": 1200,
        "target_start": 0,
        "target_end": 10,
        "lag": 990,
        "state": "stopped",
        "translated": "",
        "fact": {"kind": "stopped", "name": "gap", "error": "offsets 1..2\nare gone", "since": SINCE},
    }


def test_a_halted_flow_says_by_whom_and_what_lets_it_go_on() -> None:
    halted = replace(WELL, halt=Halt(3, "ops@h", "failover", 1_000))
    said = (
        f"  halted by ops@h since {SINCE} (failover): nothing is mirrored until sparkmirror failback FILE --flow 'A->B'"
    )
    assert list(plain([halted], 0.0))[1] == said
    assert exit_code([halted]) == 1
    assert survey_document([halted], 3.0)["flows"][0]["halt"] == {"by": "ops@h", "why": "failover", "since": SINCE}


def test_while_a_cluster_is_away_what_was_missing_before_is_said_with_its_time() -> None:
    leader = replace(LEADER, seen=Seen(1_000, {("t", 0): 12, ("t", 1): 30}, more=8))
    shown = list(plain([replace(AWAY, leader=leader)], NOW))
    assert f"  50 records were missing when both sides were last compared, {SINCE}" in shown
    assert not any("were missing" in line for line in plain([replace(WELL, leader=leader)], NOW))


def test_a_flow_that_can_not_start_is_said_and_is_not_well() -> None:
    survey = replace(WELL, unable="offset.storage.replication.factor is 3; set it to 1")
    assert "  offset.storage.replication.factor is 3; set it to 1" in list(plain([survey], NOW))
    assert exit_code([survey]) == 1
    assert survey_document([survey], NOW)["flows"][0]["unable"] == survey.unable


def test_a_mirrormaker_that_still_runs_is_said_and_is_not_well() -> None:
    survey = replace(WELL, rival="a MirrorMaker 2 still mirrors A->B; stop it")
    assert "  a MirrorMaker 2 still mirrors A->B; stop it" in list(plain([survey], NOW))
    assert exit_code([survey]) == 1
    assert survey_document([survey], NOW)["flows"][0]["rival"] == survey.rival
