"""A driver whose keeper fails on and on ends by itself, and another one goes on with every record."""

from __future__ import annotations

import pytest

from tests.conftest import Pair
from tests.support.java_reader import JavaReader
from tests.support.kafka_client import await_condition, create_topic, produce, topics, total
from tests.support.mirror_process import MirrorProcess, properties
from tests.support.same_log import assert_same_log

RECORDS = 100
# From the moment on when the file is there, the keeper's thread ends with an error that nobody expected.
FRAGILE = """
from pathlib import Path
from sparkmirror.cli.main import main
from sparkmirror.control import part
from sparkmirror.control.flow import FlowKeeper

part.GIVE_UP_S = 3.0
tend = FlowKeeper._refresh_progress

def fail(self):
    if Path(FLAG).exists():
        raise TypeError("nobody thought of this")
    tend(self)

FlowKeeper._refresh_progress = fail
main()
"""


@pytest.mark.timeout(240)
def test_another_driver_leads_when_a_keeper_is_given_up(
    pair: Pair, java_reader: JavaReader, topic: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    flag = tmp_path_factory.mktemp("broken") / "flag"
    create_topic(pair.source, topic, 1)
    text = properties(pair.source, pair.target, topic, {"lease.seconds": "2"}, alias="BROKEN")
    remote = f"BROKEN.{topic}"

    def write_more() -> None:
        produce(pair.source, topic, ({"value": b"%d" % i} for i in range(RECORDS)))

    def await_copied(records: int) -> None:
        await_condition(lambda: remote in topics(pair.target) and total(pair.target, remote) == records, "it", 90)

    with MirrorProcess(text) as second:
        second.await_log("leads, with")
        with MirrorProcess(text, program=FRAGILE.replace("FLAG", repr(str(flag)))) as first:
            first.await_log("leads, with")
            second.await_log("another driver leads")
            write_more()
            await_copied(RECORDS)
            flag.touch()
            assert first.process.wait(60) == 4
            assert "nobody thought of this" in first.log() and "Traceback" in first.log()
            write_more()
            await_copied(2 * RECORDS)
            assert second.log().count("leads, with") == 2
    assert_same_log(
        java_reader, pair.source, topic, pair.target, remote, mirrored="read_committed", ends=True, await_s=20
    )
