"""Whether somebody may still write for a flow is heard, whatever the clock of its driver says."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from sparkmirror.cli.main import app
from sparkmirror.control.leadership import leases_end_s
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets import internal_topic
from sparkmirror.offsets.claims import Claims
from tests.conftest import Pair
from tests.support.flows import only_flow
from tests.support.kafka_client import create_topic, produce
from tests.support.leases import address
from tests.support.local_mirror import mirroring
from tests.support.state import Stage

AN_HOUR_S = 3600


@pytest.fixture
def stage(pair: Pair, tmp_path: Path) -> Stage:
    return Stage(pair, tmp_path / "mm2.properties", tmp_path / "state")


def test_a_driver_whose_clock_is_behind_is_heard_and_one_that_died_is_waited_for(
    stage: Stage, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_topic(stage.pair.source, topic)
    produce(stage.pair.source, topic, ({"value": b"%d" % i} for i in range(5)))
    file = stage.write_file(topic)
    with mirroring(file) as mirror:
        mirror.await_topics(1)
        mirror.catch_up(topic)
        assert stage.run("export")[0] == 0
    name = only_flow(file).name
    late = SimpleNamespace(time=lambda: time.time() - AN_HOUR_S, monotonic=time.monotonic, sleep=time.sleep)
    monkeypatch.setattr(internal_topic, "time", late)

    with _leading(stage):
        for command in (["offsets", "set", str(file), name, topic, "2"], _import(stage)):
            done = CliRunner().invoke(app, command)
            assert done.exit_code == 1 and f"flow {name} runs: driver" in done.output, done.output

    monkeypatch.undo()
    began = time.monotonic()
    done = CliRunner().invoke(app, ["offsets", "set", str(file), name, topic, "2"])
    assert done.exit_code == 0 and "has not said that it ended" in done.output, done.output
    assert time.monotonic() - began > leases_end_s(only_flow(file).lease_s), "its leases may have lasted so long"


def _import(stage: Stage) -> list[str]:
    return ["state", "import", str(stage.file), "--in", str(stage.state)]


@contextlib.contextmanager
def _leading(stage: Stage) -> Iterator[None]:
    """A driver that says again and again that it leads, and dies without a word."""
    lease_s, said, stop = only_flow(stage.file).lease_s, threading.Event(), threading.Event()

    def lead() -> None:
        with Cluster(address(stage.pair.target)) as target:
            claims = Claims(target, stage.storage, 1)
            claims.refresh()
            while not stop.wait(lease_s / 4):
                claims.lead(leases_end_s(lease_s))
                said.set()

    thread = threading.Thread(target=lead, name="driver")
    thread.start()
    try:
        assert said.wait(30)
        yield
    finally:
        stop.set()
        thread.join()
