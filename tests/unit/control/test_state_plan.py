"""What of a state is written, kept or refused, by what stands on the target and in both logs."""

from __future__ import annotations

import uuid

import pytest

from sparkmirror.control.state_plan import DIFFERS, KEPT, REFUSED, RESTORED, STOPS, THERE, ImportPlan, Logs, plan_import
from sparkmirror.offsets import map_topic, progress
from sparkmirror.offsets.runs import Chunk, encode_chunk
from sparkmirror.offsets.state_file import CHECKPOINTS, CLAIMS, OFFSET_MAP, PROGRESS, FlowState, StateHead
from sparkmirror.topology.run import Run
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage

STORAGE = Storage.named("A")
SOURCE_ID, TARGET_ID = str(uuid.UUID(int=1)), str(uuid.UUID(int=2))
EQUAL = Standing(300, 299, 300, source_id=SOURCE_ID, target_id=TARGET_ID)
TRANSLATED = Standing(300, 99, 100, translated="why", source_id=SOURCE_ID, target_id=TARGET_ID)
HEAD = StateHead(flow="A->B", made_ms=0, source_cluster="a", target_cluster="b")
CLAIM = {b'{"claim":"8c"}': b'{"producer_id":4000}'}
Runs = dict[int, list[Run]]
# Two chunks of source 0..300, target 0..100.
FIRST, SECOND = [Run(0, 0, 40)], [Run(100, 40, 30), Run(200, 70, 30)]
OURS: Runs = {0: FIRST, 1: SECOND}
GROWN: Runs = {0: FIRST, 1: [*SECOND, Run(300, 100, 50)]}


def state_of(
    standing: Standing | None, runs: Runs | None = None, claims: dict[bytes, bytes] | None = None
) -> FlowState:
    head = uuid.UUID(SOURCE_ID).bytes + uuid.UUID(TARGET_ID).bytes
    return FlowState(
        head=HEAD,
        sections={
            CLAIMS: CLAIM if claims is None else claims,
            PROGRESS: {progress.encode_key("A", "t", 0): progress.encode_value(standing)} if standing else {},
            OFFSET_MAP: {
                map_topic.encode_key("A", ("t", 0), number): head + encode_chunk(Chunk.of(some))
                for number, some in (runs or {}).items()
            },
        },
    )


def plan(state: FlowState, there: FlowState, logs: Logs | None = None) -> ImportPlan:
    return plan_import(state, there, STORAGE, {("t", 0): logs} if logs else {})


def judged(found: ImportPlan) -> tuple[str, str]:
    """Of the only partition: what becomes of it, and which chunks (numbers) and progress (P) are written."""
    (row,) = [row for row in found.rows if row.part == "partition"]
    keys = found.writes.get(OFFSET_MAP, {})
    numbers = sorted(parsed[1] for key in keys if (parsed := map_topic.parse_key(key, "A")))
    return row.action, "".join(map(str, numbers)) + "P" * len(found.writes.get(PROGRESS, {}))


NEWER = TRANSLATED._replace(next_offset=350, last_sequence=149, target_end=150)
OVER_HOLES = TRANSLATED._replace(next_offset=350)
ANEW = NEWER._replace(source_id=str(uuid.UUID(int=9)))


@pytest.mark.parametrize(
    ("wanted", "there", "runs", "logs", "expected"),
    [
        # all was lost
        (EQUAL, None, {}, Logs(0, 0, 300), (RESTORED, "P")),
        (TRANSLATED, None, {}, Logs(0, 0, 100), (RESTORED, "01P")),
        (TRANSLATED, None, {}, Logs(0, 40, 100), (RESTORED, "1P")),
        (TRANSLATED, None, {}, None, (RESTORED, "01P")),
        (EQUAL, None, {}, Logs(0, 0, 400), (RESTORED, "P")),
        (TRANSLATED, None, {}, Logs(300, 0, 150), (RESTORED, "01P")),
        (TRANSLATED, None, {}, Logs(301, 0, 150), (STOPS, "01P")),
        (TRANSLATED, None, {}, Logs(301, 0, 100), (RESTORED, "01P")),
        (TRANSLATED, None, {}, Logs(301, 0, 150, is_shared=True), (RESTORED, "01P")),
        (TRANSLATED, None, {}, Logs(301, 0, 150, SOURCE_ID, SOURCE_ID), (RESTORED, "01P")),
        # an import that was interrupted
        (TRANSLATED, None, {0: FIRST}, Logs(0, 0, 100), (RESTORED, "1P")),
        (TRANSLATED, TRANSLATED, {1: SECOND}, Logs(0, 0, 100), (RESTORED, "0")),
        (TRANSLATED, TRANSLATED, OURS, Logs(0, 0, 100), (THERE, "")),
        (EQUAL, EQUAL, {}, Logs(0, 0, 300), (THERE, "")),
        # only progress was lost
        (TRANSLATED, None, GROWN, Logs(0, 0, 150), (RESTORED, "P")),
        (TRANSLATED, None, {0: [Run(300, 100, 50)]}, Logs(0, 0, 150), (REFUSED, "")),
        # the target has gone on
        (EQUAL, EQUAL._replace(next_offset=301), {}, Logs(0, 0, 301), (KEPT, "")),
        (TRANSLATED, NEWER, GROWN, Logs(0, 0, 150), (KEPT, "")),
        (TRANSLATED, NEWER, {1: GROWN[1]}, Logs(0, 40, 150), (KEPT, "")),
        (TRANSLATED, ANEW, {0: [Run(0, 100, 50)]}, Logs(0, 0, 150), (KEPT, "")),
        # only the map was lost
        (TRANSLATED, NEWER, {}, Logs(0, 0, 150), (REFUSED, "")),
        (TRANSLATED, NEWER, {}, Logs(0, 100, 150), (KEPT, "")),
        (TRANSLATED, NEWER, {0: [Run(300, 100, 50)]}, Logs(0, 0, 150), (REFUSED, "")),
        (TRANSLATED, OVER_HOLES, {}, Logs(0, 0, 100), (RESTORED, "01")),
    ],
)  # fmt: skip
def test_what_is_missing_is_written_and_what_is_there_stays(
    wanted: Standing, there: Standing | None, runs: Runs, logs: Logs | None, expected: tuple[str, str]
) -> None:
    ours = OURS if wanted.translated else {}
    assert judged(plan(state_of(wanted, ours), state_of(there, runs), logs)) == expected


def test_a_partition_whose_offsets_differ_since_is_counted_from_where_they_were_equal() -> None:
    found = plan(state_of(EQUAL), state_of(None), Logs(0, 0, 400, differs=True))
    ((key, value),) = found.writes[PROGRESS].items()
    assert progress.parse_record(key, value, "A") == (("t", 0), EQUAL._replace(translated=DIFFERS, equal_end=300))


def test_a_partition_that_the_state_does_not_know_is_counted_from_its_beginning_if_offsets_differ() -> None:
    logs = Logs(7, 5, 400, SOURCE_ID, TARGET_ID, differs=True)
    ((key, value),) = plan(state_of(None), state_of(None), logs).writes[PROGRESS].items()
    began = Standing(7, target_end=5, translated=DIFFERS, source_id=SOURCE_ID, target_id=TARGET_ID)
    assert progress.parse_record(key, value, "A") == (("t", 0), began)
    for state, there in ((None, EQUAL), (None, None)):
        assert PROGRESS not in plan(state_of(state), state_of(there), logs._replace(differs=bool(there))).writes


def test_claims_that_are_missing_are_written_and_others_are_a_reason_to_stop() -> None:
    made = {b'{"made":"A.t"}': b'{"topic_id":"5d"}'}
    origin = {b'{"origin":["t",0],"claim":"8c"}': b'{"producer_id":4001}'}
    found = plan(state_of(EQUAL, claims=CLAIM | origin | made), state_of(None, claims=CLAIM))
    assert found.writes[CLAIMS] == origin | made
    for other in (
        {b'{"claim":"f1"}': b'{"producer_id":5000}'},
        CLAIM | {b'{"origin":["t",0],"claim":"f1"}': b'{"producer_id":5000}'},
    ):
        refused = plan(state_of(EQUAL, claims=CLAIM | origin), state_of(None, claims=other))
        assert "claims producer id 5000" in refused.refusal and not refused.writes and not refused.is_whole
    order = {b'{"halt":"A"}': b'{"by":"ops"}'}
    assert plan(state_of(EQUAL, claims=CLAIM | order), state_of(None, claims={})).writes[CLAIMS] == CLAIM | order
    kept = plan(state_of(EQUAL, claims=CLAIM | order | made), state_of(None, claims=CLAIM))
    assert kept.writes[CLAIMS] == made, "an order may have been taken back since"
    assert "claims no producer id" in plan(state_of(EQUAL, claims=made), state_of(None)).refusal


def test_newer_checkpoints_stay() -> None:
    wanted, there = ({CHECKPOINTS: some} for some in ({b"a": b"1", b"b": b"1"}, {b"b": b"2"}))
    state, present = (FlowState(head=HEAD, sections={CLAIMS: CLAIM} | some) for some in (wanted, there))
    assert plan(state, present).writes == {CHECKPOINTS: {b"a": b"1"}}
