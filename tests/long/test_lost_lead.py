"""A driver that can't see who leads any more stops writing before another begins, also where no sequence guards."""

from __future__ import annotations

import functools
import time
import uuid

import pytest
from confluent_kafka.admin import AclOperation, AdminClient, ResourceType

from sparkmirror.topology.storage import Storage
from tests.conftest import Pair
from tests.support.guarded import ALL, ALLOW, AS_ADMIN, DENY, IDS, LOGIN, TOPIC, Guarded, start_guarded
from tests.support.java_reader import JavaReader
from tests.support.kafka_client import await_condition, create_topic, topics, total
from tests.support.load import THREE_DAYS_MS, plain_load
from tests.support.mirror_process import MirrorProcess, properties
from tests.support.same_log import assert_same_log

LEASE_S = 2
PARTITIONS = 4
BY_NAME = {
    "B.security.protocol": "SASL_PLAINTEXT",
    "B.sasl.mechanism": "PLAIN",
    "B.sasl.jaas.config": LOGIN.replace(' user_admin="x"', ""),
}


pytestmark = [pytest.mark.timeout(400), pytest.mark.parametrize("path", ["batches", "records"])]
old_load = functools.partial(plain_load, partitions=PARTITIONS, age_ms=THREE_DAYS_MS, pause_s=0.05)


def test_one_loses_sight_of_the_claims_and_another_takes_over_among_old_records(
    pair: Pair, topic: str, path: str, java_reader: JavaReader
) -> None:
    """Nor is there a hole whose markers would fence the first."""
    cluster, for_admin = start_guarded()
    with cluster:
        guarded = Guarded(cluster, for_admin, AdminClient({"bootstrap.servers": for_admin, **AS_ADMIN}))
        for kind in (TOPIC, ResourceType.GROUP, IDS):
            guarded.add(kind, "*", ALL, ALLOW)
        guarded.add(ResourceType.BROKER, "kafka-cluster", ALL, ALLOW)
        create_topic(pair.source, topic, PARTITIONS)
        remote, settings = f"A.{topic}", {"lease.seconds": str(LEASE_S), "pipeline.path": path}
        seen = properties(pair.source, guarded.servers, topic, settings)
        by_name = properties(pair.source, for_admin, topic, settings | BY_NAME)

        def copied() -> int:
            return total(guarded.servers, remote) if remote in topics(guarded.servers) else 0

        with old_load(pair.source, topic), MirrorProcess(seen) as one:
            await_condition(lambda: copied() > 100, "the first's records", 90)
            claims = Storage.named("A").claims
            guarded.add(TOPIC, claims, AclOperation.READ, DENY)
            with MirrorProcess(by_name) as two:
                two.await_log("leads, with")
                at_lead, since = copied(), time.monotonic()
                await_condition(lambda: copied() > at_lead, "the second to copy", 90)
                assert time.monotonic() - since > LEASE_S, "the second waits for all leases that the first may have"
                await_condition(lambda: copied() > at_lead + 4000, "the second's records", 90)
                assert "another driver leads" not in one.log(), "it can't know"
                assert f"no READ on topic {claims}" in one.log() and one.process.poll() is None
        with MirrorProcess(by_name, "--once") as last:
            assert last.wait(120) == 0, last.log()
        assert_same_log(java_reader, pair.source, topic, guarded.servers, remote, mirrored="read_committed", ends=True)


def test_one_that_was_stopped_wakes_up_when_another_leads(
    pair: Pair, topic: str, path: str, java_reader: JavaReader
) -> None:
    """Driver, Spark and workers stand still in the middle of their work, and go on with it."""
    create_topic(pair.source, topic, PARTITIONS)
    alias = f"S{uuid.uuid4().hex[:6]}"
    settings = {"lease.seconds": str(LEASE_S), "pipeline.path": path}
    remote, text = f"{alias}.{topic}", properties(pair.source, pair.target, topic, settings, alias=alias)

    def copied() -> int:
        return total(pair.target, remote) if remote in topics(pair.target) else 0

    with old_load(pair.source, topic), MirrorProcess(text) as one:
        await_condition(lambda: copied() > 100, "the first's records", 90)
        stopped = one.tree()
        for process in stopped:
            process.suspend()
        with MirrorProcess(text):
            at_stop = copied()
            await_condition(lambda: copied() > at_stop + 1000, "the second's records", 90)
            for process in stopped:
                process.resume()
            one.await_log("another driver leads")
            at_wake = copied()
            await_condition(lambda: copied() > at_wake + 4000, "more of them", 90)
    with MirrorProcess(text, "--once") as last:
        assert last.wait(120) == 0, last.log()
    assert_same_log(java_reader, pair.source, topic, pair.target, remote, mirrored="read_committed", ends=True)
