"""Each guide's file, run on real brokers: what the guide says happens.

Host names are replaced, and three replicas by one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from sparkmirror.embedded import KafkaCluster
from tests.support.command import run_command
from tests.support.kafka_client import assert_same, await_condition, create_topic, produce, read_all, topics, total
from tests.support.mirror_process import MirrorProcess
from tests.support.samples import with_addresses
from tests.support.topic_admin import KEEPS_TIMES, remove_all, topic_configs

pytestmark = pytest.mark.timeout(300)

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
RECORDS = 500


@pytest.fixture(autouse=True)
def empty(three: dict[str, str]) -> None:
    for servers in three.values():
        remove_all(servers)


@pytest.fixture
def head_office() -> Iterator[str]:
    with KafkaCluster(name="head-office", heap_mb=256) as cluster:
        yield cluster.bootstrap_servers


def guide(name: str, *servers: str) -> str:
    text = (GUIDES / f"{name}.properties").read_text()
    return with_addresses(text.replace("factor = 3\n", "factor = 1\n"), *servers)


def fill(servers: str, name: str, partitions: int = 2, **settings: str) -> None:
    """A new topic with some records."""
    config = {key.replace("_", "."): value for key, value in settings.items()}
    create_topic(servers, name, partitions, config=config)
    write(servers, name, partitions)


def write(servers: str, name: str, partitions: int = 2, source: bytes = b"", first: int = 0) -> None:
    numbers = range(first, first + RECORDS)
    produce(servers, name, ({"key": source, "value": b"%d" % i, "partition": i % partitions} for i in numbers))


def names(servers: str) -> set[str]:
    return {name for name in topics(servers) if not name.startswith("__")}


def await_total(servers: str, name: str, records: int) -> None:
    await_condition(lambda: name in topics(servers) and total(servers, name) >= records, f"{records} in {name}", 90)


def consume(servers: str, pattern: str, count: int, **settings: str) -> list[tuple[str, int, bytes]]:
    """So many records, and what comes within the second after."""
    config = {"bootstrap.servers": servers, "group.id": "g", "auto.offset.reset": "earliest"}
    consumer = Consumer(config | {key.replace("_", "."): value for key, value in settings.items()})
    consumer.subscribe([pattern])
    out: list[tuple[str, int, bytes]] = []
    until = time.monotonic() + 60
    while len(out) < count:
        assert time.monotonic() < until, f"{len(out)} of {count} records"
        out += [(m.topic(), m.partition(), m.value()) for m in consumer.consume(500, 1) if not m.error()]
    out += [(m.topic(), m.partition(), m.value()) for m in consumer.consume(500, 1) if not m.error()]
    consumer.commit(asynchronous=False)
    consumer.close()
    return out


def test_backup(three: dict[str, str]) -> None:
    a, b = three["A"], three["B"]
    fill(a, "orders", retention_ms="123456789")
    fill(a, "orders-tmp")
    here = names(a)
    text = guide("backup", a, b)
    with MirrorProcess(text) as mirror:
        await_total(b, "orders", RECORDS)
        await_total(b, "heartbeats", 3)
        assert mirror.terminate()[0] == 0
    write(a, "orders", first=RECORDS)
    with MirrorProcess(text, "--once") as mirror:
        assert mirror.wait(90) == 0
    assert_same(read_all(a, "orders"), read_all(b, "orders"))
    assert topic_configs(b, "orders") == {"retention.ms": "123456789"} | KEEPS_TIMES
    assert "orders-tmp" not in topics(b)
    assert names(a) == here


def test_disaster_recovery_there_and_back(three: dict[str, str]) -> None:
    main, standby = three["A"], three["B"]
    text = guide("disaster-recovery", main, standby)
    fill(main, "orders")
    fill(main, "payments-eu")
    first = consume(main, "orders", RECORDS)
    write(main, "orders", first=RECORDS)
    with MirrorProcess(text) as mirror:
        await_total(standby, "orders", 2 * RECORDS)
        await_total(standby, "payments-eu", RECORDS)
        switched = run_command("failover", str(mirror.file), "--flow", "main->standby", deadline_s=120)
        assert switched.returncode == 0, switched.stdout + switched.stderr
        assert mirror.terminate()[0] == 0
    assert {value for _, _, value in consume(standby, "orders", RECORDS)} == numbers(RECORDS, 2 * RECORDS)
    assert len(first) == RECORDS
    # Back: applications have written to the standby, and main begins anew.
    write(standby, "orders", first=2 * RECORDS)
    remove_all(main)
    swapped = text.replace("main->standby.enabled = true", "main->standby.enabled = false")
    swapped = swapped.replace("standby->main.enabled = false", "standby->main.enabled = true")
    with MirrorProcess(swapped) as mirror:
        await_total(main, "orders", 3 * RECORDS)
        assert mirror.terminate()[0] == 0
    assert_same(read_all(standby, "orders"), read_all(main, "orders"))
    write(main, "orders", first=3 * RECORDS)
    remove_all(standby)
    with MirrorProcess(text) as mirror:
        await_total(standby, "orders", 4 * RECORDS)
        assert mirror.terminate()[0] == 0
    assert_same(read_all(main, "orders"), read_all(standby, "orders"))


def numbers(first: int, end: int) -> set[bytes]:
    return {b"%d" % i for i in range(first, end)}


def test_migration(three: dict[str, str]) -> None:
    old, new = three["A"], three["B"]
    for name in ("ordrs", "log_web", "customers", "legacy-x", "kept.internal"):
        fill(old, name)
    here = names(old)
    with MirrorProcess(guide("migration", old, new)) as mirror:
        for name in ("orders", "logs-web", "customers"):
            await_total(new, name, RECORDS)
        assert names(old) == here
        mirrored = {name for name in names(new) if not name.startswith(("mm2-", "heartbeats", "old."))}
        assert mirrored == {"orders", "logs-web", "customers"}
        for name, remote in (("ordrs", "orders"), ("log_web", "logs-web"), ("customers", "customers")):
            assert_same(read_all(old, name), read_all(new, remote))
        # A producer that moved too early is noticed.
        produce(new, "customers", [{"value": b"too early", "partition": 0}])
        produce(old, "customers", [{"value": b"as ever", "partition": 0}])
        await_condition(lambda: run_command("status", str(mirror.file)).returncode == 1, "the error", 60)


def test_active_active(three: dict[str, str]) -> None:
    eu, us = three["A"], three["B"]
    for servers, name in ((eu, b"eu"), (us, b"us")):
        create_topic(servers, "orders", 2)
        write(servers, "orders", source=name, first=0 if name == b"eu" else 10_000)
    with MirrorProcess(guide("active-active", eu, us)) as mirror:
        await_total(us, "eu.orders", RECORDS)
        await_total(eu, "us.orders", RECORDS)
        beats = total(us, "eu.heartbeats")
        await_condition(lambda: total(us, "eu.heartbeats") > beats + 12, "two more looks at the topics", 60)
        assert mirror.terminate()[0] == 0
    for servers, other in ((eu, "us"), (us, "eu")):
        mirrored = {name for name in topics(servers) if "." in name and "internal" not in name}
        assert mirrored == {f"{other}.orders", f"{other}.heartbeats"}
        seen = consume(servers, r"^(.*\.)?orders$", 2 * RECORDS)
        assert len(seen) == 2 * RECORDS
        assert {value for _, _, value in seen} == numbers(0, RECORDS) | numbers(10_000, 10_000 + RECORDS)


def test_aggregation(three: dict[str, str], head_office: str) -> None:
    regions = dict(zip(("eu", "us", "asia"), three.values(), strict=True))
    for region, servers in regions.items():
        create_topic(servers, "orders", 3)
        write(servers, "orders", 3, region.encode())
        fill(servers, "clicks-web")
    here = [names(servers) for servers in regions.values()]
    with MirrorProcess(guide("aggregation", *regions.values(), head_office)) as mirror:
        await_total(head_office, "orders", 3 * RECORDS)
        for region in regions:
            await_total(head_office, f"{region}.clicks-web", RECORDS)
        for region, servers in regions.items():
            write(servers, "orders", 3, region.encode(), RECORDS)
        await_total(head_office, "orders", 6 * RECORDS)
        await_total(head_office, "heartbeats", 3)
        assert mirror.terminate()[0] == 0
    log = read_all(head_office, "orders")
    assert sum(map(len, log.values())) == 6 * RECORDS
    for region, servers in regions.items():
        for partition, records in read_all(servers, "orders").items():
            assert [r.value for r in log[partition] if r.key == region.encode()] == [r.value for r in records]
        assert_same(read_all(servers, "clicks-web"), read_all(head_office, f"{region}.clicks-web"))
    assert [names(servers) for servers in regions.values()] == here


def test_networking(three: dict[str, str]) -> None:
    a, b = three["A"], three["B"]
    fill(a, "orders")
    text = guide("networking", a, b)
    with MirrorProcess(text) as mirror:
        await_total(b, "A.orders", RECORDS)
        assert mirror.terminate()[0] == 0
    assert_same(read_all(a, "orders"), read_all(b, "A.orders"))
