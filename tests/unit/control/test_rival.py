"""By which group a MirrorMaker 2 on the same file is known. The rest needs brokers: tests/broker/test_rivals.py."""

from __future__ import annotations

from sparkmirror.control.rival import worker_group
from tests.support.flow_text import flow_of


def test_the_group_of_its_workers_is_mirrormakers_unless_the_file_names_one() -> None:
    assert worker_group(flow_of("")) == "a-mm2"
    assert worker_group(flow_of("b.group.id = mine")) == "mine"
