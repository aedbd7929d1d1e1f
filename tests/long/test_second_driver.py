"""Two mirrors of one file: one takes over from the other, or each has flows of its own."""

from __future__ import annotations

import pytest

from tests.conftest import Pair
from tests.support.kafka_client import assert_same, await_condition, create_topic, produce, read_all, topics, total
from tests.support.mirror_process import MirrorProcess, properties


@pytest.mark.timeout(240)
def test_the_one_that_stands_by_takes_over_when_the_leader_is_killed(pair: Pair, topic: str) -> None:
    create_topic(pair.source, topic, 2)
    remote, text = f"A.{topic}", properties(pair.source, pair.target, topic, {"lease.seconds": "2"})
    with MirrorProcess(text) as one:
        one.await_log("leads, with")
        with MirrorProcess(text) as two:
            one.await_log("standing by")
            produce(pair.source, topic, ({"value": b"%d" % i} for i in range(100)))
            await_condition(lambda: remote in topics(pair.target) and total(pair.target, remote) == 100, "records")
            two.kill()
        await_condition(lambda: one.log().count("leads, with") == 2, "the take-over", 30)
        produce(pair.source, topic, ({"value": b"%d" % i} for i in range(100)))
        await_condition(lambda: total(pair.target, remote) == 200, "records after the take-over")
    assert_same(read_all(pair.source, topic), read_all(pair.target, remote))


@pytest.mark.timeout(240)
def test_each_runs_only_the_flows_into_its_clusters(pair: Pair, topic: str) -> None:
    both = {"B->A.enabled": "true", "B->A.topics": f"{topic}.*"}
    text = properties(pair.source, pair.target, f"{topic}.*", both)
    create_topic(pair.source, f"{topic}-a", 1)
    create_topic(pair.target, f"{topic}-b", 1)
    produce(pair.source, f"{topic}-a", [{"value": b"from A"}])
    produce(pair.target, f"{topic}-b", [{"value": b"from B"}])
    with MirrorProcess(text, "--clusters", "B") as into_b:
        await_condition(lambda: f"A.{topic}-a" in topics(pair.target), "the flow into B")
        assert f"B.{topic}-b" not in topics(pair.source)
        with MirrorProcess(text, "--clusters", "A") as into_a:
            await_condition(lambda: f"B.{topic}-b" in topics(pair.source), "the flow into A")
            await_condition(lambda: total(pair.source, f"B.{topic}-b") == 1, "its record")
            await_condition(lambda: total(pair.target, f"A.{topic}-a") == 1, "the other's record")
            assert [f["flow"] for f in into_a.status()["flows"]] == ["B->A"]
            assert [f["flow"] for f in into_b.status()["flows"]] == ["A->B"]
    assert f"A.B.{topic}-b" not in topics(pair.target), "a record went round in a circle"
