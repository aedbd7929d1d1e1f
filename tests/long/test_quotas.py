"""What a broker's quotas leave of the pace: waited for on both sides, and nothing is left behind when a pause ends."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from tests.conftest import Pair
from tests.support.kafka_client import create_topic, produce
from tests.support.leases import new_producer_id, run_lease
from tests.support.quota import limit_client

pytestmark = pytest.mark.timeout(120)

CLIENT = "test"  # as leases of tests call themselves
RECORDS, SIZE = 120, 200_000  # more than a fetch takes: what came with the first is not waited for


@pytest.fixture(params=[("consumer_byte_rate", 1_000_000), ("producer_byte_rate", 1_500_000)], ids=["source", "target"])
def throttled(pair: Pair, request: pytest.FixtureRequest) -> Iterator[str]:
    """What a broker counts over ten seconds must be over the quota: then it asks for a pause of seconds."""
    key, a_second = request.param
    servers = pair.source if key.startswith("consumer") else pair.target
    limit_client(servers, CLIENT, key, a_second)
    yield key
    limit_client(servers, CLIENT, key, None)


def test_a_quota_slows_the_copy_down_and_leaves_nothing_behind(pair: Pair, topic: str, throttled: str) -> None:
    create_topic(pair.source, topic, 2)
    create_topic(pair.target, topic, 2)
    records = ({"value": os.urandom(SIZE), "partition": i % 2} for i in range(RECORDS))
    produce(pair.source, topic, records, batch_size=400_000)
    began = time.monotonic()
    copied = run_lease(pair.source, pair.target, topic, new_producer_id(pair.target), seconds=45)
    took_s = time.monotonic() - began
    print(f"{throttled}: {copied.total('records')} of {RECORDS} records in {took_s:.1f} s")
    assert copied.facts == []
    assert copied.total("records") == RECORDS
    assert took_s > 1.5
