"""The record way when things die: each record once."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.conftest import Pair
from tests.support.kafka_client import assert_same, await_condition, create_topic, produce, read_all, topics, total
from tests.support.mirror_process import MirrorProcess, properties

pytestmark = pytest.mark.timeout(300)

ROOT = Path(__file__).parents[2]
RECORDS = 300_000
RECORDS_PATH = {"A->B.pipeline.path": "records", "lease.seconds": "2"}


def test_no_duplicate_after_kills_of_a_worker_and_of_the_driver(pair: Pair, topic: str) -> None:
    create_topic(pair.source, topic, 2)
    rows = ({"value": b"%07d" % i + b"x" * 93, "partition": i % 2} for i in range(RECORDS))
    produce(pair.source, topic, rows, batch_size=20_000)
    remote = f"A.{topic}"
    slowly = RECORDS_PATH | {"throttle.bytes.per.second": "3000000"}
    with MirrorProcess(properties(pair.source, pair.target, topic, slowly)) as mirror:
        await_condition(lambda: remote_total(pair, remote) > 0.1 * RECORDS, "the first records", 150)
        killed = list(workers(mirror))
        for worker in killed:
            worker.kill()
        assert killed
        at = remote_total(pair, remote)
        await_condition(lambda: remote_total(pair, remote) > at + 1000, "it to go on without its workers")
        mirror.kill_driver()
    assert 0 < remote_total(pair, remote) < RECORDS
    with MirrorProcess(properties(pair.source, pair.target, topic, RECORDS_PATH), "--once") as mirror:
        assert mirror.wait(120) == 0, mirror.log()
    assert_same(read_all(pair.source, topic), read_all(pair.target, remote))


def test_the_readme_job_writes_each_record_once_across_a_kill(pair: Pair, topic: str, tmp_path: Path) -> None:
    create_topic(pair.source, topic, 2)
    create_topic(pair.target, f"{topic}-de", 2)
    values = [b"%06d-%s" % (i, (b"DE", b"FR")[i // 2 % 2]) for i in range(40_000)]
    rows = ({"key": b"k%d" % i, "value": value, "partition": i % 2} for i, value in enumerate(values))
    produce(pair.source, topic, rows)
    job = tmp_path / "job.py"
    job.write_text(readme_job(pair, topic, tmp_path / "checkpoint"))
    with run_job(job, tmp_path) as process:
        await_condition(lambda: total(pair.target, f"{topic}-de") > 3_000, "some records", 90)
        kill_tree(process)
    written = total(pair.target, f"{topic}-de")
    assert written < 20_000
    with run_job(job, tmp_path) as process:
        assert process.wait(120) == 0, (tmp_path / "log").read_text()[-4000:]
    target = read_all(pair.target, f"{topic}-de")
    for partition, found in target.items():
        assert [(r.key, r.value) for r in found] == [
            (b"k%d" % i, b"paid " + value)
            for i, value in enumerate(values)
            if i % 2 == partition and value.endswith(b"DE")
        ]


def readme_job(pair: Pair, topic: str, checkpoint: Path) -> str:
    """The example of the README, with this test's brokers and names."""
    section = (ROOT / "README.md").read_text().partition("## Topics as DataFrames")[2]
    found = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert found
    text = found[1]
    for old, new in {
        "a1:9092": pair.source,
        "b1:9092": pair.target,
        "german-orders": f"{topic}-job",
        "/var/lib/german": str(checkpoint),
        "orders-de": f"{topic}-de",
        '"orders"': f'"{topic}"',
        '"1000000"': '"8000"',
    }.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


@contextlib.contextmanager
def run_job(job: Path, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, str(job)], stdout=log, stderr=log, env=environment, start_new_session=True
        )
    try:
        yield process
    except BaseException:
        print((folder / "log").read_text()[-6000:])
        raise
    finally:
        kill_tree(process)


def kill_tree(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        root = psutil.Process(process.pid)
        for victim in [*root.children(recursive=True), root]:
            victim.kill()
    process.wait()


def workers(mirror: MirrorProcess) -> Iterator[psutil.Process]:
    """Spark's Python workers: children of its daemon."""
    for process in mirror.tree():
        try:
            parent = process.parent()
            if parent and "sparkmirror.pipeline.records_daemon" in " ".join(parent.cmdline()):
                yield process
        except psutil.NoSuchProcess:
            continue


def remote_total(pair: Pair, remote: str) -> int:
    return total(pair.target, remote) if remote in topics(pair.target) else 0
