"""Which of Connect's records say that a MirrorMaker 2 copies."""

from __future__ import annotations

import pytest

from sparkmirror.control.rival import has_running_task, worker_group
from sparkmirror.offsets.internal_topic import InternalRecord
from tests.support.flow_text import flow_of


@pytest.mark.parametrize(
    ("key", "value", "runs"),
    [
        (b"status-task-MirrorSourceConnector-0", b'{"state":"RUNNING","trace":null,"worker_id":"h:1"}', True),
        (b"status-task-MirrorSourceConnector-12", b'{"state":"RUNNING"}', True),
        (b"status-task-MirrorSourceConnector-0", b'{"state":"UNASSIGNED"}', False),
        (b"status-task-MirrorSourceConnector-0", None, False),
        (b"status-task-MirrorSourceConnector-0", b"no JSON", False),
        (b"status-task-MirrorHeartbeatConnector-0", b'{"state":"RUNNING"}', False),
        (b"status-connector-MirrorSourceConnector", b'{"state":"RUNNING"}', False),
        (None, None, False),
    ],
)
def test_only_a_task_of_the_source_connector_that_runs_copies(
    key: bytes | None, value: bytes | None, runs: bool
) -> None:
    assert has_running_task([InternalRecord(0, 0, key, value, 0)]) is runs


def test_the_group_of_its_workers_is_mirrormakers_unless_the_file_names_one() -> None:
    assert worker_group(flow_of("")) == "a-mm2"
    assert worker_group(flow_of("b.group.id = mine")) == "mine"
