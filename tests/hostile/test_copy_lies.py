"""Brokers that lie to the copy: it names the fault or waits, and never writes what the source does not hold."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from sparkmirror.batch.warm import warm_up
from tests.conftest import Pair
from tests.hostile.source_scripts import SOURCE_SCRIPTS
from tests.hostile.stage import AT_ONCE, Held, Played, Script, Stage, judge, read_records, watch_scouts
from tests.hostile.target_scripts import TARGET_SCRIPTS
from tests.support import kafka_client
from tests.support.leases import ends

PARTITIONS = 2  # one of plain batches, one of transactions, whose markers are holes


@pytest.fixture(scope="module")
def stage(pair: Pair) -> Iterator[tuple[Stage, Held]]:
    warm_up()
    topic = f"hostile-{uuid.uuid4().hex[:6]}"
    kafka_client.create_topic(pair.source, topic, PARTITIONS)
    producer = Producer({"bootstrap.servers": pair.source, "transactional.id": topic, "compression.type": "lz4"})
    producer.init_transactions()
    for number in range(6):
        values = [f"{number}-{i}".encode() * 5 for i in range(20)]
        kafka_client.produce(pair.source, topic, [{"value": value, "partition": 0} for value in values])
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value, partition=1)
        producer.commit_transaction()
    held = read_records(pair.source, topic)
    yield Stage(pair.source, pair.target, topic, kafka_client.end_offsets(pair.source, topic)), held
    assert read_records(pair.source, topic) == held, "the source is untouched"


def _make_topics(servers: str, names: Sequence[str]) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    made = admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in names])
    for future in made.values():
        future.result(30)
    for name in names:
        kafka_client.await_condition(lambda n=name: len(ends(servers, n)) == PARTITIONS, name)  # type: ignore[misc]


@pytest.mark.parametrize("scripts", [SOURCE_SCRIPTS, TARGET_SCRIPTS], ids=["source", "target"])
def test_a_copy_survives_lies_and_writes_nothing_wrong(
    stage: tuple[Stage, Held], scripts: Sequence[Script], monkeypatch: pytest.MonkeyPatch
) -> None:
    played_at, held = stage
    unexpected = watch_scouts(monkeypatch)
    remotes = [f"{played_at.topic}.{script.side}.{number}" for number, script in enumerate(scripts)]
    _make_topics(played_at.target, remotes)
    wrong: dict[str, list[str]] = {}

    def play(script: Script, remote: str) -> Played:
        played = played_at.play(script, remote)
        wrong[script.name] = judge(played, held, read_records(played_at.target, remote))
        if script.heals and not wrong[script.name]:
            played_at.copy_honestly(remote, played.producer_id, played.standings)
            if read_records(played_at.target, remote) != held:
                wrong[script.name].append("an honest lease does not finish it")
        return played

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for one in pool.map(play, scripts, remotes):
            print(f"{one.script.name:45} {one.took_s:5.1f} s {one.asked:6} asked  {sorted(set(one.facts))[:2]}")
    assert not any(wrong.values()), "\n" + "\n".join(f"{name}: {said}" for name, said in wrong.items() if said)
    assert not unexpected
