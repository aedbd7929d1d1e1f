"""MM2's log lines, and when they mean that it mirrors."""

from __future__ import annotations

from sparkmirror.embedded.readiness import Readiness

HERDERS = "[..] INFO Kafka MirrorMaker starting with 2 herders. (org.apache.kafka.connect.mirror.MirrorMaker)"
CREATED = "[..] INFO [MirrorSourceConnector|worker] Finished creating connector MirrorSourceConnector (..)"
EMPTY = "[..] INFO [MirrorSourceConnector|worker] Started MirrorSourceConnector with 0 topic-partitions. (..)"
FULL = "[..] INFO [MirrorSourceConnector|worker] Started MirrorSourceConnector with 3 topic-partitions. (..)"
TASK = (
    "[..] INFO [MirrorSourceConnector|task-0] WorkerSourceTask{id=MirrorSourceConnector-0} "
    "Source task finished initialization and start (..)"
)


def is_ready(properties: str, *lines: str) -> bool:
    readiness = Readiness(properties)
    for line in lines:
        readiness.see(line)
    return readiness.ready


def test_not_ready_before_the_first_line() -> None:
    assert not is_ready("")


def test_all_connectors_of_all_herders_are_awaited() -> None:
    assert not is_ready("", HERDERS, *[CREATED] * 5)
    assert is_ready("", HERDERS, *[CREATED] * 6)


def test_source_of_each_enabled_flow_is_awaited() -> None:
    properties = "A->B.enabled = true\nB->A.enabled=false\n"
    assert not is_ready(properties, HERDERS, *[CREATED] * 6)
    assert is_ready(properties, HERDERS, *[CREATED] * 6, EMPTY)
    assert not is_ready("A->B.enabled=true\nB->A.enabled=true\n", HERDERS, *[CREATED] * 6, EMPTY)


def test_task_is_awaited_where_there_are_partitions() -> None:
    seen = [HERDERS, *[CREATED] * 6, FULL]
    assert not is_ready("A->B.enabled=true", *seen)
    assert is_ready("A->B.enabled=true", *seen, TASK)
