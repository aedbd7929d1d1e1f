"""The plan's two forms and its exit codes."""

from __future__ import annotations

import io

from rich.console import Console

from sparkmirror.cli.plan import draw, exit_code, plain
from sparkmirror.control.flow_plan import FlowPlan, Step
from sparkmirror.topology.acls import Acl, describe_acl

CREATE = Step(action="create", cluster="B", topic="A.orders", detail="3 partitions, replication factor 1")
SET = Step(action="set", cluster="B", topic="A.t", detail="retention.ms=1")
NO = Step(action="create", cluster="B", topic="A.x", detail="1 partition", refusal="replication.factor is 3, but ...")
PLANS = [
    FlowPlan(flow="A->B", steps=(CREATE, SET, NO), notes=("cluster A has no authorizer",)),
    FlowPlan(flow="B->A"),
]


def test_in_a_pipe_columns_line_up() -> None:
    assert list(plain(PLANS)) == [
        "A->B: 2 to do, 1 refused",
        "  cluster A has no authorizer",
        "ACTION   CLUSTER  TOPIC     DETAIL",
        "create   B        A.orders  3 partitions, replication factor 1",
        "set      B        A.t       retention.ms=1",
        "refused  B        A.x       replication.factor is 3, but ...",
        "",
        "B->A: nothing to do",
    ]


def test_on_a_terminal_long_details_stand_below_where_there_is_no_room() -> None:
    console = Console(width=60, record=True, file=io.StringIO())
    for part in draw(PLANS, 60):
        console.print(part)
    shown = console.export_text()
    assert "A->B: 2 to do, 1 refused" in shown and "retention.ms=1" in shown


def test_exit_codes() -> None:
    assert exit_code([FlowPlan(flow="f", steps=(SET,))]) == 0
    assert exit_code(PLANS) == 1
    assert exit_code([*PLANS, FlowPlan(flow="f", problem="no broker answers")]) == 3


def test_rights_are_told_in_kafkas_words() -> None:
    assert describe_acl(Acl("t", 3, "User:x", "*", 3, 3)) == "ALLOW READ to User:x from * (literal)"
    assert describe_acl(Acl("t", 4, "User:x", "h", 99, 2)) == "DENY 99 to User:x from h (prefixed)"
