"""A target that lost the end of its log is noticed by every way of finding a position, and brought up again exactly."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from sparkmirror.copy.lease import CONTINUE, NEVER, LeasePartition, Rules
from sparkmirror.embedded import QUICK_FAILOVER, KafkaCluster
from sparkmirror.topology.standing import Standing
from tests.conftest import Pair
from tests.support.cut_logs import cut_logs
from tests.support.kafka_client import create_topic, produce, read_all
from tests.support.leases import Copied, ends, new_producer_id, plan_lease, run_alone

pytestmark = pytest.mark.timeout(90)

OLD_MS = 1_000_000_000_000  # the leader forgets a producer whose newest record is that old
KEPT = {"retention.ms": "-1"}
QUICK = {**QUICK_FAILOVER, "producer.id.expiration.check.interval.ms": "500", "broker.session.timeout.ms": "2000"}
TRANSLATED = Rules(preserve=NEVER)
GO_ON = Rules(preserve=NEVER, on_divergence=CONTINUE)

Place = tuple[str, int]


@dataclass(frozen=True)
class Kind:
    """How a topic is mirrored before its target's log is cut."""

    name: str
    rules: Rules = TRANSLATED
    is_old: bool = False
    is_merged: bool = False
    regrows: bool = False  # others write behind the cut, more than was cut off


KINDS = [
    Kind("equal", Rules()),
    Kind("translated"),
    Kind("translated-forgotten", is_old=True),
    Kind("translated-regrown", regrows=True),
    Kind("merged", is_merged=True),
    Kind("merged-regrown", is_merged=True, regrows=True),
    Kind("merged-forgotten-regrown", is_old=True, is_merged=True, regrows=True),
]


class Mirrored:
    """One topic, copied in two batches of 50 records: the second is cut off."""

    def __init__(self, source: str, target: str, kind: Kind) -> None:
        self.source, self.target, self.kind = source, target, kind
        self.topic = f"cut-{kind.name}-{time.time_ns() % 1_000_000}"
        self.producer_id = new_producer_id(target)
        create_topic(source, self.topic, config=KEPT)
        create_topic(target, self.topic, config=KEPT)
        self.hints: dict[Place, Standing] = {}
        for first in (0, 50):
            self.write(first, first + 50)
            copied = self.copy(kind.rules)
            assert copied.facts == []
            self.hints = copied.standings
            if kind.is_merged:
                produce(target, self.topic, [{"value": b"other %d" % first}])

    def write(self, first: int, end: int) -> None:
        at = {"timestamp": OLD_MS} if self.kind.is_old else {}
        produce(self.source, self.topic, ({"value": b"%d" % i} | at for i in range(first, end)))

    def copy(self, rules: Rules, seconds: float = 20.0) -> Copied:
        place = LeasePartition(
            topic=self.topic,
            partition=0,
            remote=self.topic,
            stop_at=ends(self.source, self.topic)[0],
            hint=self.hints.get((self.topic, 0)),
            producer_id=self.producer_id if self.kind.is_merged else None,
            onto=0 if self.kind.is_merged else None,
        )
        return run_alone(plan_lease(self.source, self.target, self.producer_id, [place], rules, seconds))

    @property
    def values(self) -> list[bytes]:
        """Those of ours, as they stand in the target."""
        found = [record.value or b"" for record in read_all(self.target, self.topic)[0]]
        return [value for value in found if not value.startswith(b"other")]


@pytest.fixture(scope="module")
def target() -> Iterator[KafkaCluster]:
    with KafkaCluster(name="C", overrides=QUICK, heap_mb=256) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def cut(pair: Pair, target: KafkaCluster) -> dict[str, Mirrored]:
    """All kinds, cut with one restart."""
    servers = target.bootstrap_servers
    made = {kind.name: Mirrored(pair.source, servers, kind) for kind in KINDS}
    cut_logs(target.brokers[0], {m.topic: 51 if m.kind.is_merged else 50 for m in made.values()})
    for mirrored in made.values():
        if mirrored.kind.regrows:
            produce(servers, mirrored.topic, ({"value": b"other %d" % i} for i in range(80)))
    return made


@pytest.mark.parametrize("name", [kind.name for kind in KINDS])
def test_what_the_target_lost_stops_it_and_is_copied_again_where_that_is_wanted(
    cut: dict[str, Mirrored], name: str
) -> None:
    mirrored = cut[name]
    mirrored.write(100, 120)
    stopped = mirrored.copy(mirrored.kind.rules, seconds=3.0)
    assert [f" stopped target-truncated: the target's log of {mirrored.topic} " in f for f in stopped.facts] == [True]
    assert stopped.total("records") == 0
    rules = Rules(preserve=mirrored.kind.rules.preserve, on_divergence=CONTINUE)
    again = mirrored.copy(rules)
    assert [" noted target-truncated: " in fact for fact in again.facts] == [True]
    assert again.total("records") == 70
    mirrored.hints = again.standings
    mirrored.write(120, 130)
    assert mirrored.copy(mirrored.kind.rules).facts == [], "known from then on"
    assert mirrored.values == [b"%d" % i for i in range(130)], "each record once, in order"
