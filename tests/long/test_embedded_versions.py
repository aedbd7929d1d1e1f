"""Old Kafka versions as the embedded room runs them: the same interface, whatever keeps the cluster's state."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sparkmirror.embedded import QUICK_FAILOVER, Broker, KafkaCluster
from sparkmirror.embedded import guard as guard_module
from sparkmirror.embedded.probe import fetch_broker_ids
from sparkmirror.net.channel import Channel
from sparkmirror.net.client import Client
from tests.support.kafka_client import await_condition, create_topic, produce, read_all, topics

pytestmark = pytest.mark.timeout(240)  # a version's first use fetches it

# The newest Produce and Fetch that each version knows, from Kafka's ApiKeys of its time.
NEWEST_APIS = {"2.4.1": (8, 11), "3.2.0": (9, 13), "3.9.2": (11, 17), "4.3.1": (13, 18)}

SOURCES = str(Path(guard_module.__file__).parents[2])  # a child Python knows nothing of pytest's path
PARENT = """
import sys
from sparkmirror.embedded import KafkaCluster
cluster = KafkaCluster(version="2.4.1")
cluster.start()
print(cluster.directory, flush=True)
sys.stdin.read()
"""


def test_broker_is_of_the_version_that_was_asked_for(versioned: KafkaCluster) -> None:
    (broker,) = versioned.brokers
    channel = Channel(broker.host, broker.port, Client())
    channel.close()
    assert (channel.versions[0][1], channel.versions[1][1]) == NEWEST_APIS[versioned.version]


def test_records_are_written_and_read(versioned: KafkaCluster, topic: str) -> None:
    create_topic(versioned.bootstrap_servers, topic, 2)
    produce(versioned.bootstrap_servers, topic, ({"value": b"%d" % i, "partition": i % 2} for i in range(10)))
    read = read_all(versioned.bootstrap_servers, topic)
    assert [[r.value for r in read[p]] for p in (0, 1)] == [[b"%d" % i for i in range(p, 10, 2)] for p in (0, 1)]


def test_console_is_silent(versioned: KafkaCluster) -> None:
    (broker,) = versioned.brokers
    assert "started (kafka.server" in broker.log_path.read_text()
    assert {path.read_text() for path in versioned.directory.glob("*/console.log")} == {""}


def test_broker_of_two_that_was_killed_or_stopped_returns_with_its_data() -> None:
    with KafkaCluster(2, version="2.4.1", overrides=QUICK_FAILOVER) as cluster:
        servers, victim = cluster.bootstrap_servers, cluster.brokers[0]
        create_topic(servers, "kept", replicas=2)
        produce(servers, "kept", [{"value": b"before"}])
        pid, port = victim.pid, victim.port
        victim.kill()
        with pytest.raises(ConnectionRefusedError):
            fetch_broker_ids(victim.host, port)
        produce(servers, "kept", [{"value": b"meanwhile"}])
        restart(victim)
        assert (victim.port, victim.pid != pid) == (port, True)
        victim.stop()
        produce(servers, "kept", [{"value": b"alone"}])
        restart(victim)
        produce(servers, "kept", [{"value": b"after"}])
        values = [record.value for record in read_all(servers, "kept")[0]]
        assert values == [b"before", b"meanwhile", b"alone", b"after"]


def restart(broker: Broker) -> None:
    broker.start()
    broker.wait_ready(sees=frozenset({1, 2}))


def test_given_directory_keeps_its_data_though_its_broker_was_killed(tmp_path: Path) -> None:
    """ZooKeeper's data tells of a broker that is no more; the next run waits until it is forgotten."""
    overrides = {"zookeeper.session.timeout.ms": "1000"}
    with KafkaCluster(directory=tmp_path, version="2.4.1", overrides=overrides) as first:
        create_topic(first.bootstrap_servers, "kept")
        produce(first.bootstrap_servers, "kept", [{"value": b"old"}])
        first.brokers[0].kill()
    with KafkaCluster(directory=tmp_path, version="2.4.1", overrides=overrides) as second:
        # A controller with ZooKeeper tells of brokers first and of topics a moment later.
        await_condition(lambda: "kept" in topics(second.bootstrap_servers), "the topic")
        assert [record.value for record in read_all(second.bootstrap_servers, "kept")[0]] == [b"old"]


def test_zookeeper_ends_too_when_the_parent_is_killed() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": SOURCES},
    )
    assert parent.stdin and parent.stdout
    directory = parent.stdout.readline().strip()
    assert len(commands_naming(directory)) == 3  # guardian, ZooKeeper, broker
    parent.kill()
    parent.wait()
    parent.stdin.close()
    parent.stdout.close()
    await_condition(lambda: not commands_naming(directory), "all processes to end")
    assert not Path(directory).exists()


def commands_naming(text: str) -> list[bytes]:
    """The command lines of all processes that have `text` in them; none of a zombie."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(path.read_bytes())
    return [command for command in found if text.encode() in command]
