"""What an operator is told of lag while a cluster is away: what waits, and never 0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psutil
import pytest

from sparkmirror.control.status import flow_status, progress_line
from sparkmirror.embedded import KafkaCluster
from tests.conftest import Pair
from tests.support.flows import write_flow
from tests.support.kafka_client import await_condition, create_topic, produce
from tests.support.local_mirror import LocalMirror, mirroring

OFTEN = {"refresh.topics.interval.seconds": "0.3"}
WITHIN_S = 12.0  # two looks, and a machine that others use


def status(mirror: LocalMirror) -> dict[str, Any]:
    return flow_status(mirror.keeper, mirror.ledger, mirror.hints)


def write(servers: str, topic: str, count: int) -> None:
    produce(servers, topic, ({"value": b"%d" % i, "partition": i % 4} for i in range(count)))


@pytest.mark.timeout(240)
def test_with_the_target_away_or_hung_lag_grows_with_the_source(pair: Pair, topic: str, tmp_path: Path) -> None:
    create_topic(pair.source, topic, 4)
    write(pair.source, topic, 40)
    with KafkaCluster(name="away", heap_mb=256) as target:
        file = write_flow(tmp_path, pair.source, target.bootstrap_servers, topic, OFTEN)
        with mirroring(file) as mirror:
            mirror.await_topics(4)
            mirror.catch_up(topic)
            await_condition(lambda: status(mirror)["lag"] == 0, "all copied", WITHIN_S)

            broker = psutil.Process(target.brokers[0].pid)
            broker.suspend()
            write(pair.source, topic, 100)
            await_condition(lambda: status(mirror)["lag"] == 100, "the lag beside a hung target", WITHIN_S)
            broker.resume()
            mirror.catch_up(topic)
            await_condition(lambda: status(mirror)["lag"] == 0, "all copied again", WITHIN_S)

            target.brokers[0].kill()
            write(pair.source, topic, 300)
            await_condition(lambda: status(mirror)["lag"] == 300, "the lag without a target", WITHIN_S)
            await_condition(lambda: status(mirror)["state"] == "unreachable", "the state", WITHIN_S)
            assert "unreachable, lag 300 records" in progress_line(status(mirror))
            assert [p["lag"] for p in status(mirror)["partitions"]] == [75] * 4
            write(pair.source, topic, 4)
            await_condition(lambda: status(mirror)["lag"] == 304, "the lag that grows", WITHIN_S)


@pytest.mark.timeout(240)
def test_with_the_source_away_the_last_known_lag_stays_with_its_age(pair: Pair, topic: str, tmp_path: Path) -> None:
    with KafkaCluster(name="away", heap_mb=256) as source:
        create_topic(source.bootstrap_servers, topic, 4)
        write(source.bootstrap_servers, topic, 40)
        file = write_flow(tmp_path, source.bootstrap_servers, pair.target, topic, OFTEN)
        with mirroring(file) as mirror:
            mirror.await_topics(4)
            mirror.catch_up(topic)
            write(source.bootstrap_servers, topic, 2)
            await_condition(lambda: status(mirror)["lag"] == 2, "the lag", WITHIN_S)
            source.brokers[0].kill()
            await_condition(lambda: status(mirror)["state"] == "unreachable", "the state", WITHIN_S)
            await_condition(lambda: "lag 2 records 9 s ago" in progress_line(status(mirror)), "its age", 30)
            assert [p["lag"] for p in status(mirror)["partitions"]] == [1, 1, None, None]


def test_a_flow_that_can_not_start_is_failing_and_its_lag_unknown(pair: Pair, topic: str, tmp_path: Path) -> None:
    create_topic(pair.source, topic, 4)
    file = write_flow(tmp_path, pair.source, pair.target, topic, OFTEN | {"offset.storage.replication.factor": "3"})
    with mirroring(file) as mirror:
        await_condition(lambda: status(mirror)["state"] == "failing", "the state", 30)
        told = status(mirror)
        assert told["lag"] is None and "failing, lag unknown" in progress_line(told)
        assert "offset.storage.replication.factor is 3, but cluster B has 1 live broker" in told["problem"]
