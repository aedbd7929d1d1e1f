"""`sparkmirror verify` at its full size: 120 planted differences, 1 GB, and beside a mirror that runs."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparkmirror.embedded import prepare
from tests.conftest import Pair
from tests.support.command import run_command
from tests.support.console_tools import CONSUMER, FLAGS, VERSION
from tests.support.flows import write_flow
from tests.support.kafka_client import await_condition, create_topic, end_offsets, produce
from tests.support.load import small_load
from tests.support.local_mirror import LocalMirror, mirroring
from tests.support.source_logs import remove_records
from tests.support.source_logs.compaction import HOUR_MS, impatient_cleaner
from tests.support.verify import assert_found, load_report, verify_here, write_planted

SEED = int(os.environ.get("SEED", str(int(time.time()))))
PLACES = 10
RECORDS = int(os.environ.get("RECORDS", "1000000"))
RECORD_BYTES = 1000


@pytest.mark.timeout(300)
@pytest.mark.parametrize("translated", [False, True], ids=["equal", "translated"])
def test_60_of_60_planted_differences_are_found_at_their_places(
    pair: Pair, topic: str, tmp_path: Path, translated: bool
) -> None:
    print(f"\nSEED={SEED}")
    file = write_flow(tmp_path, pair.source, pair.target, topic)
    servers = (pair.source, pair.target)
    planted = write_planted(file, servers, topic, places=PLACES, records=2000, translated=translated, seed=SEED)
    done = run_command("verify", str(file), "--report", str(tmp_path / "report"), deadline_s=200)
    assert done.returncode == 1, done
    assert assert_found(load_report(tmp_path / "report"), planted) == 60


@pytest.mark.timeout(600)
def test_1_gb_is_compared_three_times_as_fast_as_a_consumer_reads_one_side(
    pair: Pair, topic: str, tmp_path: Path
) -> None:
    file = write_flow(tmp_path, pair.source, pair.target, topic)
    create_topic(pair.source, topic, 4)
    value = os.urandom(RECORD_BYTES)
    rows = ({"value": value, "partition": i % 4} for i in range(RECORDS))
    produce(pair.source, topic, rows, batch_size=100_000, linger_ms=20)
    copied = run_command("run", str(file), "--once", deadline_s=300)
    assert copied.returncode == 0, copied
    consumer_s = min(consume(pair.source, topic, RECORDS) - consume(pair.source, topic, 1) for _ in range(2))
    best_s = 1e9
    for _ in range(2):
        done = run_command("verify", str(file), "--report", str(tmp_path / "report"), deadline_s=200)
        assert done.returncode == 0, done
        report = load_report(tmp_path / "report")
        assert sum(each.records for each in report.partitions) == RECORDS
        best_s = min(best_s, report.took_s)
    print(f"\nconsumer {consumer_s:.2f} s, verify {best_s:.2f} s: {consumer_s / best_s:.1f} times as fast")
    assert best_s * 3 <= consumer_s


def consume(servers: str, topic: str, records: int) -> float:
    """How long Kafka's console consumer takes."""
    words = ("--bootstrap-server", servers, "--topic", topic, "--from-beginning", "--max-messages", str(records))
    with tempfile.TemporaryDirectory() as folder:
        flags = [flag for flag in FLAGS if "Tiered" not in flag]
        command = prepare(VERSION).command(CONSUMER, *words, flags=flags, log=Path(folder) / "tool.log")
        began = time.monotonic()
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=200, check=True)
        return time.monotonic() - began


def compared(file: Path) -> set[str]:
    """Topics of which something is compared: the mirror has written how far it came."""
    return {each.topic for each in verify_here(file).partitions if each.records}


@pytest.mark.timeout(400)
def test_beside_a_mirror_under_load_nothing_is_taken_for_a_difference(pair: Pair, topic: str, tmp_path: Path) -> None:
    """Transactions; a topic that both sides trim; one that both sides compact. Equal and translated offsets."""
    names = {kind: f"{topic}-{kind}" for kind in ("tx", "trimmed", "compacted")}
    cleaned = {
        "cleanup.policy": "compact",
        "segment.ms": str(HOUR_MS // 2),
        "min.cleanable.dirty.ratio": "0.001",
        "max.compaction.lag.ms": str(HOUR_MS // 2),
    }
    create_topic(pair.source, names["tx"], 2)
    create_topic(pair.source, names["trimmed"])
    create_topic(pair.source, names["compacted"], config=cleaned)
    for preserve in ("auto", "never"):
        extra = {"offsets.preserve": preserve, "on.gap": "continue"}
        file = write_flow(tmp_path, pair.source, pair.target, f"{topic}-.*", extra)
        with contextlib.ExitStack() as around:
            mirror = around.enter_context(mirroring(file))
            around.enter_context(small_load(pair.source, names["tx"], 2, SEED, pause_s=0.05))
            around.enter_context(overwriting(pair.source, names["compacted"]))
            around.enter_context(impatient_cleaner(pair.source))
            around.enter_context(impatient_cleaner(pair.target))
            around.enter_context(trimming(pair, names["trimmed"], mirror.flow.source.alias))
            mirror.await_topics(4)
            around.enter_context(beside(rounds(mirror)))
            remotes = [f"{mirror.flow.source.alias}.{name}" for name in names.values()]
            await_condition(lambda r=remotes: have_records(pair.target, r), "the first records", 60)  # type: ignore[misc]
            await_condition(lambda f=file: compared(f) == set(names.values()), "progress of all of them", 60)  # type: ignore[misc]
            for _ in range(5):
                report = verify_here(file)
                print({each.topic: (each.records, each.lag, each.trimmed) for each in report.partitions})
                assert report.exit_code == 0, [each for each in report.partitions if each.found or each.problem]
                wanted = {"equal"} if preserve == "auto" else {"translated"}
                assert {each.offsets for each in report.partitions} == wanted


def rounds(mirror: LocalMirror) -> Iterator[None]:
    while True:
        mirror.round(1.0)
        yield


def have_records(servers: str, names: list[str]) -> bool:
    return all(sum(end_offsets(servers, name).values()) > 100 for name in names)


@contextlib.contextmanager
def beside(work: Iterator[None]) -> Iterator[None]:
    stop = threading.Event()

    def run() -> None:
        while not stop.wait(0.05):
            next(work)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def overwriting(servers: str, topic: str) -> contextlib.AbstractContextManager[None]:
    """A few keys again and again, an hour later each time, so that segments roll; some with tombstones."""

    def work() -> Iterator[None]:
        began = int(time.time() * 1000) - 5000 * HOUR_MS
        for number in itertools.count():
            rows = [
                {
                    "key": b"key-%d" % (key % 50),
                    "value": None if (key + number) % 7 == 0 else b"%d" % number,
                    "timestamp": began + number * HOUR_MS,
                }
                for key in range(number, number + 20)
            ]
            produce(servers, topic, rows)
            yield

    return beside(work())


def trimming(pair: Pair, topic: str, alias: str) -> contextlib.AbstractContextManager[None]:
    def work() -> Iterator[None]:
        for number in itertools.count():
            produce(pair.source, topic, [{"value": b"%d" % i} for i in range(500)])
            if number > 20:
                with contextlib.suppress(Exception):
                    servers, name = (pair.source, topic) if number % 2 else (pair.target, f"{alias}.{topic}")
                    remove_records(servers, name, end_offsets(servers, name)[0] - 4000)
            yield

    return beside(work())
