"""kill -9 at any time: started again, the mirror leaves no duplicate and no gap."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Pair
from tests.support.kafka_client import assert_same, await_condition, create_topic, produce, read_all, topics, total
from tests.support.mirror_process import MirrorProcess, properties

RECORDS = 1_000_000
SLOW = "5000000"


@pytest.mark.timeout(400)
def test_three_kills_in_a_million_records_leave_each_exactly_once(pair: Pair, topic: str) -> None:
    create_topic(pair.source, topic, 4)
    records = ({"value": b"%07d" % i + b"x" * 93, "partition": i % 4} for i in range(RECORDS))
    produce(pair.source, topic, records, batch_size=20_000)
    remote = f"A.{topic}"
    slowly = properties(pair.source, pair.target, topic, {"throttle.bytes.per.second": SLOW})
    for kill, share in enumerate((0.2, 0.4, 0.6)):
        with MirrorProcess(slowly) as mirror:
            goal = int(share * RECORDS)
            await_condition(lambda: remote_total(pair, remote) > goal, f"{share:.0%} to be copied")  # noqa: B023
            if kill == 0:
                kill_with_a_produce_unacknowledged(mirror, pair)
            elif kill == 1:
                mirror.kill_driver()
            else:
                mirror.kill()
        at = remote_total(pair, remote)
        print(f"kill {kill + 1} at {at:,} of {RECORDS:,}")
        assert 0.1 * RECORDS < at < 0.9 * RECORDS
    with MirrorProcess(properties(pair.source, pair.target, topic), "--once") as mirror:
        assert mirror.wait(120) == 0, mirror.log()
    target = read_all(pair.target, remote)
    assert sum(map(len, target.values())) == RECORDS
    assert_same(read_all(pair.source, topic), target)


def kill_with_a_produce_unacknowledged(mirror: MirrorProcess, pair: Pair) -> None:
    """The target's broker stands still, so what is sent stays without an answer until after the kill."""
    broker = pair.b.brokers[0]
    broker.pause()
    try:
        await_condition(lambda: has_unacknowledged_bytes(broker.port), "bytes that the broker did not take", 15)
        mirror.kill()
    finally:
        broker.resume()


def has_unacknowledged_bytes(port: int) -> bool:
    """Whether a connection to the port has bytes waiting in the broker's receive queue (/proc/net/tcp)."""
    wanted = f":{port:04X}"
    tables = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
    rows = [line.split() for table in tables for line in table.read_text().splitlines()[1:]]
    return any(row[1].endswith(wanted) and int(row[4].split(":")[1], 16) > 1_000 for row in rows)


def remote_total(pair: Pair, remote: str) -> int:
    return total(pair.target, remote) if remote in topics(pair.target) else 0
