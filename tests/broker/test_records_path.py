"""The record way on Spark: the same logs as the batch way, and each record once, whatever dies."""

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
from tests.support.quota import limit_client

from tests.conftest import Pair
from tests.support.java_reader import JavaReader
from tests.support.kafka_client import assert_same, await_condition, create_topic, produce, read_all, topics, total
from tests.support.mirror_process import MirrorProcess, properties
from tests.support.same_log import assert_same_log
from tests.support.source_logs import (
    make_compacted,
    make_every_codec,
    make_late_start,
    make_odd_records,
    make_transactions,
)

pytestmark = pytest.mark.timeout(300)

ROOT = Path(__file__).parents[2]
RECORDS = 300_000
CLIENT_ID = "A->B|sparkmirror"
RECORDS_PATH = {"A->B.pipeline.path": "records", "lease.seconds": "2"}


def test_both_ways_give_the_same_logs(pair: Pair, topic: str, java_reader: JavaReader) -> None:
    """R is the same cluster as A: one flow takes the batch way, the other the record way."""
    names = {kind: f"{topic}-{kind}" for kind in ("transactions", "compacted", "codecs", "odd", "late")}
    make_transactions(pair.source, names["transactions"], transactions=80, aborted_share=0.4)
    make_compacted(pair.source, names["compacted"])
    make_every_codec(pair.source, names["codecs"])
    make_odd_records(pair.source, names["odd"])
    make_late_start(pair.source, names["late"])
    extra = {
        "clusters": "A, R, B",
        "R.bootstrap.servers": pair.source,
        "R->B.enabled": "true",
        "R->B.topics": f"{topic}.*",
        "R->B.pipeline.path": "records",
    }
    with MirrorProcess(properties(pair.source, pair.target, f"{topic}.*", extra), "--once") as mirror:
        assert mirror.wait(120) == 0, mirror.log()
        assert mirror.status()["records"] > 0
    for kind, name in names.items():
        for alias in "AR":
            assert_same_log(
                java_reader,
                pair.source,
                name,
                pair.target,
                f"{alias}.{name}",
                mirrored="read_committed",
                compacted=kind == "compacted",
                beginnings=True,
                ends=kind != "compacted",
            )


def test_no_duplicate_after_kills_of_a_worker_and_of_the_driver(pair: Pair, topic: str) -> None:
    create_topic(pair.source, topic, 2)
    rows = ({"value": b"%07d" % i + b"x" * 93, "partition": i % 2} for i in range(RECORDS))
    produce(pair.source, topic, rows, batch_size=20_000)
    remote = f"A.{topic}"
    text = properties(pair.source, pair.target, topic, RECORDS_PATH)
    limit_client(pair.source, CLIENT_ID, "consumer_byte_rate", 3_000_000)
    try:
        with MirrorProcess(text) as mirror:
            await_condition(lambda: remote_total(pair, remote) > 0.1 * RECORDS, "the first records")
            for worker in list(workers(mirror)):
                worker.kill()
            at = remote_total(pair, remote)
            await_condition(lambda: remote_total(pair, remote) > at + 1000, "it to go on without its workers")
            mirror.kill_driver()
        assert 0 < remote_total(pair, remote) < RECORDS
    finally:
        limit_client(pair.source, CLIENT_ID, "consumer_byte_rate", None)
    with MirrorProcess(text, "--once") as mirror:
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
            if parent and "sparkmirror.pipeline.daemon" in " ".join(parent.cmdline()):
                yield process
        except psutil.NoSuchProcess:
            continue


def remote_total(pair: Pair, remote: str) -> int:
    return total(pair.target, remote) if remote in topics(pair.target) else 0
