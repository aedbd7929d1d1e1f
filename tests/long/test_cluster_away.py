"""A cluster that does not answer is waited for."""

from __future__ import annotations

import pytest

from sparkmirror.embedded import KafkaCluster
from tests.conftest import Pair
from tests.support.kafka_client import assert_same, await_condition, create_topic, produce, read_all, topics, total
from tests.support.mirror_process import MirrorProcess, properties


@pytest.mark.timeout(240)
def test_a_cluster_that_is_away_is_waited_for_and_said_once(topic: str, pair: Pair) -> None:
    late = KafkaCluster(name="late")
    with late:
        servers = late.bootstrap_servers
        late.brokers[0].kill()
        create_topic(pair.source, topic, 1)
        produce(pair.source, topic, ({"value": b"%d" % i} for i in range(10)))
        with MirrorProcess(properties(pair.source, servers, topic)) as mirror:
            mirror.await_log("trying again")
            mirror.await_log("Spark 4")
            late.brokers[0].start()
            late.brokers[0].wait_ready()
            await_condition(lambda: f"A.{topic}" in topics(servers) and total(servers, f"A.{topic}") == 10, "it", 60)
            assert mirror.log().count("trying again") == 1
            late.brokers[0].kill()
            produce(pair.source, topic, ({"value": b"%d" % i} for i in range(10)))
            late.brokers[0].start()
            late.brokers[0].wait_ready()
            await_condition(lambda: total(servers, f"A.{topic}") == 20, "the records after the restart", 60)
        assert_same(read_all(pair.source, topic), read_all(servers, f"A.{topic}"))
