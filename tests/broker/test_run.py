"""How `sparkmirror run` behaves: signals, brokers that are away, bad files, progress, the status file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.progress import ProgressTopic
from sparkmirror.topology.storage import Storage
from tests.conftest import Pair
from tests.support.kafka_client import await_condition, create_topic, produce, total
from tests.support.mirror_process import MirrorProcess, properties

COMMAND = str(Path(sys.executable).with_name("sparkmirror"))


@pytest.mark.timeout(180)
def test_the_status_file_says_where_each_partition_stands_and_sigterm_ends_all_within_5_s_with_progress_written(
    pair: Pair, topic: str
) -> None:
    create_topic(pair.source, topic, 2)
    produce(pair.source, topic, ({"value": b"%d" % i, "partition": i % 2} for i in range(1000)))
    with MirrorProcess(properties(pair.source, pair.target, topic), "--log-format", "json") as mirror:

        def caught_up() -> bool:
            flows = mirror.status().get("flows", [])
            ends = [p["target_end"] for p in flows[0]["partitions"]] if flows else []
            return ends == [500, 500]

        await_condition(caught_up, "the status", 60)
        flow = mirror.status()["flows"][0]
        assert (flow["flow"], flow["state"], flow["lag"], flow["failed"]) == ("A->B", "leading", 0, 0)
        assert {json.loads(line)["level"] for line in mirror.log().splitlines()} <= {"INFO", "WARNING"}
        assert total(pair.target, f"A.{topic}") == 1000
        tree = mirror.tree()
        code, seconds = mirror.terminate()
        print(f"ended after {seconds:.1f} s")
        assert code == 0
        assert seconds < 5
        await_condition(
            lambda: not any(p.is_running() and p.status() != "zombie" for p in tree), "all processes to end"
        )
    with Cluster(ClusterAddress(alias="B", bootstrap=(pair.target,))) as cluster:
        progress = ProgressTopic(cluster, Storage.named("A"), 1).read()
    assert [progress[topic, partition].next_offset for partition in range(2)] == [500, 500]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("clusters = A, B\nA->C.enabled = true\n", ":2: "),
        ("clusters = A, B\ntasks.max = many\nA->B.enabled = true\n", ":2: "),
        ("clusters = A, B\nA->B.enabled = true\nA->B.topics = (\n", ":3: "),
        ("", "clusters"),
    ],
)
def test_a_bad_file_exits_2_with_file_and_line(text: str, expected: str, tmp_path: Path) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(text)
    done = subprocess.run([COMMAND, "run", str(file)], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 2
    assert str(file) in done.stderr and expected in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.timeout(120)
def test_a_spark_master_that_is_not_there_is_a_clear_error(pair: Pair, topic: str) -> None:
    extra = {"spark.master": "spark://127.0.0.1:1"}
    with MirrorProcess(properties(pair.source, pair.target, topic, extra)) as mirror:
        assert mirror.wait(100) == 3
        assert "spark://127.0.0.1:1" in mirror.log()
        assert "Traceback" not in mirror.log()
