"""The demo's mirror process, without Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparkmirror.cli.demo.mirror import MirrorEndedError, MirrorProcess, end_marked, properties_text
from sparkmirror.config.mirror import load_mirror_config

SAMPLE = Path(__file__).parents[4] / "config" / "connect-mirror-maker.properties"


@pytest.fixture
def mirror() -> Iterator[MirrorProcess]:
    made = MirrorProcess()
    yield made
    made.stop()
    made.close()
    assert not made.folder.exists()


def test_its_properties_are_all_in_force(tmp_path: Path) -> None:
    path = tmp_path / "mm2.properties"
    path.write_text(properties_text("127.0.0.1:1", "127.0.0.1:2"))
    config = load_mirror_config(path)
    assert not config.warnings and not config.not_in_force
    (flow,) = config.flows
    assert (flow.name, flow.tasks_max, flow.replication_factor) == ("A->B", 2, 1)


def test_sample_file_mirrors_what_the_demo_writes(tmp_path: Path) -> None:
    path = tmp_path / "mm2.properties"
    path.write_text(properties_text("127.0.0.1:19092", "127.0.0.1:29092"))
    sample, own = load_mirror_config(SAMPLE), load_mirror_config(path)
    assert not sample.warnings and not sample.not_in_force
    assert sample.flows == own.flows


def test_log_is_read_for_the_ui_and_for_troubles(mirror: MirrorProcess) -> None:
    mirror.log.write_text(
        "2026-01-31T10:00:00.000Z INFO Spark 4.3.0 runs, UI at http://127.0.0.1:4040\n"
        "2026-01-31T10:00:01.000Z WARNING flow A->B: orders-1 waiting\n"
    )
    mirror.look()
    assert (mirror.spark_ui, mirror.trouble) == ("http://127.0.0.1:4040", "flow A->B: orders-1 waiting")


def test_mirror_that_ends_shows_its_log(mirror: MirrorProcess) -> None:
    mirror.start("no address", "127.0.0.1:1")  # refused as a wrong file, long before Spark
    assert mirror._child is not None and mirror._child.wait(30)
    with pytest.raises(MirrorEndedError, match=r"(?s)ended with status 2\. The end of .*no address"):
        mirror.look()


def test_stopped_partitions_are_read_from_the_status_file(mirror: MirrorProcess) -> None:
    assert mirror.stopped_partitions() == []
    mirror.status_file.write_text(
        '{"flows": [{"partitions": ['
        '{"topic": "orders", "partition": 1, "state": "stopped", "error": "gap: x"},'
        '{"topic": "orders", "partition": 2, "state": "waiting", "error": "y"}]}]}'
    )
    assert mirror.stopped_partitions() == ["orders-1: gap: x"]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_marked_processes_are_ended(tmp_path: Path) -> None:
    marked = subprocess.Popen(["sleep", "60"], env={**os.environ, "TMPDIR": str(tmp_path)})
    other = subprocess.Popen(["sleep", "60"], env={**os.environ, "TMPDIR": f"{tmp_path}-other"})
    try:
        end_marked(f"TMPDIR={tmp_path}", 0.0)
        assert marked.wait(5) < 0
        assert other.poll() is None
    finally:
        for process in (marked, other):
            process.kill()
            process.wait()
