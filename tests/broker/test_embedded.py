"""Real brokers and the real MirrorMaker 2 as the embedded room runs them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from sparkmirror.embedded import QUICK_FAILOVER, KafkaCluster, MirrorMaker2, start_clusters
from sparkmirror.embedded import guard as guard_module
from sparkmirror.embedded.probe import fetch_broker_ids
from sparkmirror.errors import SetupError

WAIT_S = 30.0
SOURCES = str(Path(guard_module.__file__).parents[2])  # a child Python knows nothing of pytest's path

PARENT = """
import sys
from sparkmirror.embedded import KafkaCluster
cluster = KafkaCluster()
cluster.start()
print(cluster.directory, cluster.brokers[0].pid, sep="\\n", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def one() -> Iterator[KafkaCluster]:
    with KafkaCluster(name="one") as cluster:
        yield cluster


def create_topic(cluster: KafkaCluster, topic: str, replicas: int = 1) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    for created in admin.create_topics([NewTopic(topic, 1, replicas)]).values():
        created.result(WAIT_S)


def produce(cluster: KafkaCluster, topic: str, value: bytes) -> None:
    failures: list[object] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"})
    producer.produce(topic, value, on_delivery=lambda error, _: failures.append(error) if error else None)
    assert producer.flush(WAIT_S) == 0
    assert not failures


@contextlib.contextmanager
def consumer_of(cluster: KafkaCluster, topic: str) -> Iterator[Consumer]:
    settings = {
        "bootstrap.servers": cluster.bootstrap_servers,
        "group.id": f"read-{topic}-{time.monotonic_ns()}",
        "auto.offset.reset": "earliest",
        "topic.metadata.refresh.interval.ms": 200,
        "allow.auto.create.topics": False,
    }
    consumer = Consumer(settings)
    consumer.subscribe([f"^{topic}$"])
    try:
        yield consumer
    finally:
        consumer.close()


def read_values(cluster: KafkaCluster, topic: str, count: int) -> list[bytes | None]:
    deadline = time.monotonic() + WAIT_S
    values: list[bytes | None] = []
    with consumer_of(cluster, topic) as consumer:
        while len(values) < count and time.monotonic() < deadline:
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                values.append(message.value())
    return values


def alive(pid: int) -> bool:
    """A zombie counts as gone: whether init reaps orphans is not ours."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_one_broker_starts_and_answers(one: KafkaCluster) -> None:
    (broker,) = one.brokers
    assert one.bootstrap_servers == f"127.0.0.1:{broker.port}"
    assert fetch_broker_ids(broker.host, broker.port) == {1}
    assert alive(broker.pid)
    create_topic(one, "greetings")
    produce(one, "greetings", b"hello")
    assert read_values(one, "greetings", 1) == [b"hello"]


def test_features_are_those_of_a_formatted_cluster(one: KafkaCluster) -> None:
    """The new group protocol needs the group.version that bootstrap.checkpoint carries."""
    create_topic(one, "new-groups")
    produce(one, "new-groups", b"hello")
    settings = {
        "bootstrap.servers": one.bootstrap_servers,
        "group.id": "new-protocol",
        "group.protocol": "consumer",
        "auto.offset.reset": "earliest",
    }
    consumer = Consumer(settings)
    consumer.subscribe(["new-groups"])
    try:
        message = consumer.poll(WAIT_S)
        assert message is not None and message.error() is None
        assert message.value() == b"hello"
    finally:
        consumer.close()


def test_paused_broker_is_silent_until_resumed(one: KafkaCluster) -> None:
    (broker,) = one.brokers
    broker.pause()
    wait_until(lambda: " T " in Path(f"/proc/{broker.pid}/stat").read_text())
    assert broker.running
    with pytest.raises(TimeoutError):
        fetch_broker_ids(broker.host, broker.port, timeout_s=0.3)
    broker.resume()
    broker.wait_ready()


def test_logs_go_to_a_file_and_not_to_the_console(one: KafkaCluster) -> None:
    (broker,) = one.brokers
    assert "Kafka Server started" in broker.log_path.read_text()
    assert broker.log_path.with_name("console.log").read_text() == ""


@pytest.mark.long
def test_killed_broker_of_three_returns_with_port_and_data() -> None:
    with KafkaCluster(3, overrides=QUICK_FAILOVER) as cluster:
        create_topic(cluster, "kept", replicas=3)
        produce(cluster, "kept", b"before")
        victim = cluster.brokers[0]
        port, pid = victim.port, victim.pid
        victim.kill()
        assert not victim.running
        assert not alive(pid)
        with pytest.raises(ConnectionRefusedError):
            fetch_broker_ids(victim.host, port)
        produce(cluster, "kept", b"meanwhile")
        victim.start()
        victim.wait_ready(sees=frozenset({1, 2, 3}))
        assert (victim.port, victim.running) == (port, True)
        assert victim.pid != pid
        assert (victim.data_path / "kept-0").is_dir()
        produce(cluster, "kept", b"after")
        assert read_values(cluster, "kept", 3) == [b"before", b"meanwhile", b"after"]


def test_given_directory_keeps_its_data(tmp_path: Path) -> None:
    with KafkaCluster(directory=tmp_path) as first:
        create_topic(first, "kept")
        produce(first, "kept", b"old")
    with KafkaCluster(directory=tmp_path) as second:
        assert read_values(second, "kept", 1) == [b"old"]
    assert tmp_path.is_dir()


def test_broker_that_can_not_start_shows_its_log() -> None:
    cluster = KafkaCluster(overrides={"log.segment.bytes": "many"})
    with pytest.raises(SetupError, match=r"(?s)ended with status 1\. The end of .*log\.segment\.bytes"):
        cluster.start()
    assert not cluster.directory.exists()


def test_stop_leaves_nothing() -> None:
    cluster = KafkaCluster()
    cluster.start()
    pid = cluster.brokers[0].pid
    cluster.stop()
    cluster.stop()
    assert not alive(pid)
    assert not cluster.directory.exists()


def test_interrupt_in_the_terminal_does_not_reach_the_brokers(one: KafkaCluster) -> None:
    """Ctrl-C signals the foreground process group; brokers must outlive it until the parent stops them."""
    assert os.getpgid(one.brokers[0].pid) != os.getpgid(0)
    assert os.getsid(one.brokers[0].pid) != os.getsid(0)


def test_nothing_is_left_when_the_parent_is_killed() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": SOURCES},
    )
    assert parent.stdin and parent.stdout
    directory = Path(parent.stdout.readline().strip())
    assert directory.is_dir()
    broker = int(parent.stdout.readline())
    guardian = os.getsid(broker)
    assert b"kafka.Kafka" in Path(f"/proc/{broker}/cmdline").read_bytes()
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    wait_until(lambda: not alive(broker) and not alive(guardian))
    parent.stdin.close()
    parent.stdout.close()
    assert not directory.exists()


def test_missing_java_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(SetupError) as caught:
        KafkaCluster().start()
    assert str(caught.value) == "Kafka needs Java 17 or newer and there is none on the PATH: install a JDK."


def mm2_properties(source: KafkaCluster, target: KafkaCluster) -> str:
    factors = ("", "checkpoints.topic.", "heartbeats.topic.", "offset-syncs.topic.")
    storages = ("offset", "status", "config")
    lines = [
        "clusters = A, B",
        f"A.bootstrap.servers = {source.bootstrap_servers}",
        f"B.bootstrap.servers = {target.bootstrap_servers}",
        "A->B.enabled = true",
        "A->B.topics = mirrored",
        *(f"{factor}replication.factor = 1" for factor in factors),
        *(f"{storage}.storage.replication.factor = 1" for storage in storages),
    ]
    return "\n".join(lines) + "\n"


@pytest.mark.long
def test_mirror_maker_mirrors_a_record() -> None:
    source, target = KafkaCluster(name="a"), KafkaCluster(name="b")
    start_clusters(source, target)
    with source, target:
        create_topic(source, "mirrored")
        produce(source, "mirrored", b"hello")
        with MirrorMaker2(mm2_properties(source, target)) as mirror:
            pid = mirror.pid
            assert read_values(target, "A.mirrored", 1) == [b"hello"]
        assert not alive(pid)
        assert not mirror.directory.exists()


def test_mirror_maker_that_can_not_start_shows_its_log() -> None:
    mirror = MirrorMaker2("clusters = A\n")
    with pytest.raises(SetupError, match="MirrorMaker 2 ended with status"), mirror:
        pass
    assert not mirror.directory.exists()
