"""Workers and the driver die while offsets are translated: positions are counted from what was written down."""

from __future__ import annotations

import contextlib
import threading

import psutil
import pytest

from tests.conftest import Pair
from tests.support.kafka_client import await_condition, create_topic, produce, read_all, total
from tests.support.mirror_process import MirrorProcess, properties

RECORDS = 3000


@pytest.mark.timeout(240)
def test_every_record_once_and_in_order(pair: Pair, topic: str) -> None:
    remote = f"kills.{topic}"
    create_topic(pair.source, topic, 2)
    create_topic(pair.target, remote, 2)
    produce(pair.target, remote, ({"value": b"somebody else's", "partition": i % 2} for i in range(7)))
    pause = threading.Event()

    def write() -> None:
        for first in range(0, RECORDS, 20):
            produce(pair.source, topic, ({"value": b"%d" % i, "partition": i % 2} for i in range(first, first + 20)))
            pause.wait(0.2)

    writer = threading.Thread(target=write)
    text = properties(pair.source, pair.target, topic, {"lease.seconds": "3"}, alias="kills")
    with MirrorProcess(text) as mirror:
        mirror.await_log("leads, with")
        writer.start()
        for share in (0.1, 0.25, 0.4):
            await_condition(lambda: total(pair.target, remote) > share * RECORDS, f"{share:.0%}", 60)  # noqa: B023
            await_condition(lambda: kill_copying_workers(mirror) > 0, "a worker to kill", 30)
        await_condition(lambda: total(pair.target, remote) > 0.55 * RECORDS, "more after the last kill", 60)
        mirror.kill_driver()
        mirror.start()
        writer.join()
        await_condition(lambda: total(pair.target, remote) >= RECORDS + 7, "all of it", 90)
    for partition, records in read_all(pair.target, remote).items():
        mine = [record.value for record in records if record.value != b"somebody else's"]
        assert mine == [b"%d" % i for i in range(partition, RECORDS, 2)]


def kill_copying_workers(mirror: MirrorProcess) -> int:
    """SIGKILL for Spark's Python workers, all of them; the daemon that forks them lives on."""
    workers = [p for p in mirror.tree() if _is_worker(p)]
    for worker in workers:
        with contextlib.suppress(psutil.NoSuchProcess):
            worker.kill()
    return len(workers)


def _is_worker(process: psutil.Process) -> bool:
    """A child of the daemon: forked, so it has the daemon's command."""
    with contextlib.suppress(psutil.NoSuchProcess):
        parent = process.parent()
        return parent is not None and all("sparkmirror.pipeline.daemon" in p.cmdline() for p in (process, parent))
    return False
