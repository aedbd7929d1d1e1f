"""A target takes nothing for a while: what was sent is named when the lease ends, what waits counts as a backlog."""

from __future__ import annotations

import threading
import time

import pytest

from sparkmirror.copy.appender import Batches
from sparkmirror.copy.fetcher import Fetcher
from sparkmirror.copy.lease import Bounds, Errors, Lease, LeasePartition, Rules
from sparkmirror.errors import ConnectionLostError
from sparkmirror.net.channel import Channel
from tests.conftest import Pair
from tests.support.grantor import LocalGrantor
from tests.support.kafka_client import await_condition, create_topic, produce
from tests.support.leases import copying, new_producer_id, plan_lease

pytestmark = pytest.mark.timeout(60)

FOR_EVER_S = 1000.0
WITHOUT_LANES = Errors(log_content=True)


class Told(LocalGrantor):
    def __init__(self) -> None:
        super().__init__()
        self.loads: list[float] = []

    def ask(self, load: float | None = None) -> None:
        self.loads += [] if load is None else [load]


class Gate:
    """Appends are handed to the system only so often; `holds`: the first one that was not."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, every_s: float) -> None:
        self.holds, flush, opens_at = threading.Event(), Channel.flush, time.monotonic() + every_s

        def flush_later(channel: Channel) -> None:
            nonlocal opens_at
            has_appends, now = any(isinstance(pending.tag, Batches) for pending in channel.pending), time.monotonic()
            if has_appends and now < opens_at:
                self.holds.set()
                return
            if has_appends:
                opens_at = now + every_s
            flush(channel)

        monkeypatch.setattr(Channel, "flush", flush_later)


def make_lease(pair: Pair, topic: str, rules: Rules, seconds: float) -> Lease:
    for servers in (pair.source, pair.target):
        create_topic(servers, topic, 1)
    partition = LeasePartition(topic=topic, partition=0, remote=topic)
    return plan_lease(pair.source, pair.target, new_producer_id(pair.target), [partition], rules, seconds)


def test_what_was_sent_before_its_partition_was_lost_is_named_when_the_lease_ends(
    pair: Pair, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may still be written, so nobody else gets the partition at once."""
    gate, breaks, has_broken, take = Gate(monkeypatch, FOR_EVER_S), threading.Event(), threading.Event(), Fetcher.take

    def take_or_break(fetcher: Fetcher, frame: memoryview) -> object:
        if breaks.is_set() and not has_broken.is_set():
            has_broken.set()
            raise ConnectionLostError("the source has hung up")
        return take(fetcher, frame)

    monkeypatch.setattr(Fetcher, "take", take_or_break)
    lease = make_lease(pair, topic, Rules(errors=WITHOUT_LANES), 30.0)
    produce(pair.source, topic, ({"value": b"%d" % n} for n in range(10)))
    with copying(lease) as grantor:
        assert gate.holds.wait(20)
        breaks.set()
        produce(pair.source, topic, [{"value": b"more"}])
        assert has_broken.wait(20)
    assert grantor.under_way == {(topic, 0)}


@pytest.mark.parametrize("every_s", [0.3, 0.0])
def test_records_that_a_slow_target_has_not_taken_are_a_backlog(
    pair: Pair, topic: str, monkeypatch: pytest.MonkeyPatch, every_s: float
) -> None:
    Gate(monkeypatch, every_s)
    bounds = Bounds(held_bytes=1 << 20, fetch_bytes=256 << 10)
    lease = make_lease(pair, topic, Rules(errors=WITHOUT_LANES, bounds=bounds), 4.0)
    produce(pair.source, topic, ({"value": bytes(1000)} for _ in range(8_000)), batch_size=16_384)
    grantor = Told()
    with copying(lease, grantor):
        await_condition(lambda: len(grantor.loads) > 3, "what the task tells of itself", 20)
    assert (1.0 in grantor.loads) is (every_s > 0)
