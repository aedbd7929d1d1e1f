"""A target that puts its own times on records: not where the mirror makes the topic; else it is said, and goes on."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from sparkmirror.control import times_watch
from sparkmirror.copy.lease import NEVER, Rules
from tests.conftest import Pair
from tests.support.broker_configs import brokers_set
from tests.support.flows import only_flow, write_flow
from tests.support.kafka_client import await_condition, create_topic, produce, read_all, topics
from tests.support.keepers import keeping
from tests.support.leases import new_producer_id, run_lease
from tests.support.rows import write_flow_rows
from tests.support.topic_admin import KEEPS_TIMES, change_configs, topic_configs

pytestmark = pytest.mark.timeout(60)

RESTAMPED = {"message.timestamp.type": "LogAppendTime"}
OFTEN = {"refresh.topics.interval.seconds": "0.3", "heartbeats.replication.enabled": "false"}


def test_a_topic_that_the_mirror_makes_keeps_times_whatever_the_brokers_default(
    pair: Pair, topic: str, tmp_path: Path
) -> None:
    create_topic(pair.source, topic, config=RESTAMPED)
    flow = only_flow(write_flow(tmp_path, pair.source, pair.target, topic, OFTEN))
    remote = f"{flow.source.alias}.{topic}"
    with brokers_set(pair.target, "log.message.timestamp.type", "LogAppendTime"), keeping(flow):
        await_condition(lambda: remote in topics(pair.target), "the topic")
        assert topic_configs(pair.target, remote) == KEEPS_TIMES


@pytest.mark.parametrize("rules", [Rules(), Rules(preserve=NEVER)], ids=["equal", "translated"])
def test_after_an_answer_that_was_lost_it_goes_on_whatever_times_the_target_shows(
    pair: Pair, topic: str, rules: Rules
) -> None:
    producer_id = new_producer_id(pair.target)
    create_topic(pair.source, topic)
    create_topic(pair.target, topic, config=RESTAMPED)
    produce(pair.source, topic, ({"value": b"%d" % i, "timestamp": 10**12 + i} for i in range(50)))
    before = run_lease(pair.source, pair.target, topic, producer_id, rules=rules)
    for end in (80, 100):  # what the leases after the first one did, nobody was told
        produce(pair.source, topic, ({"value": b"%d" % i} for i in range(end - 30 if end == 80 else 80, end)))
        found = run_lease(pair.source, pair.target, topic, producer_id, hints=before.standings, rules=rules)
        assert found.facts == []
    written = write_flow_rows(pair.source, pair.target, topic, producer_id, hints=before.standings, rules=rules)
    assert written.facts == []
    assert [record.value for record in read_all(pair.target, topic)[0]] == [b"%d" % i for i in range(100)]


def test_a_topic_with_times_of_its_own_is_said_until_that_is_mended(
    pair: Pair, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(times_watch, "LOOK_EVERY_S", 0.3)
    create_topic(pair.source, topic)
    flow = only_flow(write_flow(tmp_path, pair.source, pair.target, topic, OFTEN))
    remote = f"{flow.source.alias}.{topic}"
    create_topic(pair.target, remote, config=RESTAMPED)
    with keeping(flow) as (_, ledger):
        await_condition(lambda: (topic, -1) in ledger.facts(flow.name), "the fact")
        fact = ledger.facts(flow.name)[topic, -1]
        assert (fact.kind, fact.name) == ("noted", "target-restamps")
        words = shlex.split(fact.error[fact.error.index("kafka-configs.sh") :])
        name, _, value = words[words.index("--add-config") + 1].partition("=")
        change_configs(pair.target, words[words.index("--entity-name") + 1], {name: value})
        await_condition(lambda: (topic, -1) not in ledger.facts(flow.name), "its end")
