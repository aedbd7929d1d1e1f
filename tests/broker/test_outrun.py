"""A source whose holes outrun their filling is said, with its offsets, until the mirror has caught up."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

import pytest

from sparkmirror.copy.lease import MARKERS, TRANSACTIONS
from tests.conftest import Pair
from tests.support.flows import write_flow
from tests.support.kafka_client import await_condition, create_topic, produce
from tests.support.local_mirror import mirroring
from tests.support.source_logs import write_markers

pytestmark = pytest.mark.timeout(120)


@pytest.mark.long
def test_holes_that_outrun_their_filling_are_a_fact_until_caught_up(
    pair: Pair, topic: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "sparkmirror")
    busy, well = f"{topic}-busy", f"{topic}-well"
    for name in (busy, well):
        create_topic(pair.source, name, 1)
    extra = {"refresh.topics.interval.seconds": "0.3"}
    stop = threading.Event()

    def make_holes() -> None:
        while not stop.wait(0.2):
            write_markers(pair.source, busy, 900)
            for name in (busy, well):
                produce(pair.source, name, [{"value": b"x"}])

    load = threading.Thread(target=make_holes)
    with mirroring(write_flow(tmp_path, pair.source, pair.target, f"{topic}-.*", extra)) as mirror:
        mirror.await_topics(2)
        load.start()
        try:

            def is_said() -> bool:
                mirror.round(3.2, fill_with=TRANSACTIONS)
                return (busy, 0) in mirror.facts()

            await_condition(is_said, "the fact", 30)
        finally:
            stop.set()
            load.join()
        fact = mirror.facts()[busy, 0]
        assert (fact.kind, fact.name) == ("noted", "holes-outrun")
        mirror.keeper.write_facts()
        status = mirror.status()
        print(status)
        assert "copying  holes-outrun: holes come faster than they are filled" in status
        assert f"{busy}-0 noted: holes-outrun: " in caplog.text
        assert (well, 0) not in mirror.facts()

        def is_over() -> bool:
            mirror.round(1.0, fill_with=MARKERS)
            return not mirror.facts()

        await_condition(is_over, "the end of the fact", 30)
        assert f"{busy}-0: holes-outrun is over" in caplog.text
