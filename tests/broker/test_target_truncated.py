"""A target that lost records is noticed by every way of finding a position, and brought up again exactly."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

from sparkmirror.copy.lease import CONTINUE, NEVER, LeasePartition, Rules
from sparkmirror.embedded import QUICK_FAILOVER, KafkaCluster
from sparkmirror.errors import MirrorError
from sparkmirror.topology.standing import AS_SET, Standing
from tests.broker.test_sink import Sink, numbers, rows
from tests.conftest import Pair
from tests.support.cut_logs import cut_logs
from tests.support.flows import write_flow
from tests.support.kafka_client import await_condition, create_topic, produce, read_all
from tests.support.leases import Copied, ends, new_producer_id, plan_lease, run_alone
from tests.support.local_mirror import mirroring
from tests.support.rows import write_flow_rows

pytestmark = pytest.mark.timeout(180)

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
EMPTIED = [Kind("emptied", Rules()), Kind("emptied-translated"), Kind("emptied-unknown")]
ROWS, WIPED = Kind("rows"), Kind("wiped", is_merged=True)
SINKS = ["sink-remembered", "sink-forgotten", "sink-preserve"]


class Mirrored:
    """One topic, copied in two batches of 50 records."""

    def __init__(self, source: str, target: str, kind: Kind) -> None:
        self.source, self.target, self.kind = source, target, kind
        self.topic = f"cut-{kind.name}-{uuid.uuid4().hex[:6]}"
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


@dataclass
class Cut:
    """What stood in the target before its broker was restarted without the ends of its logs."""

    servers: str
    mirrored: dict[str, Mirrored]
    sinks: dict[str, tuple[Sink, str]]
    flow: Path  # of which 100 records were mirrored with translated offsets, and 50 are left


@pytest.fixture(scope="module")
def cut(pair: Pair, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cut]:
    with KafkaCluster(name="C", overrides=QUICK, heap_mb=256) as cluster:
        servers = cluster.bootstrap_servers
        with ThreadPoolExecutor(4) as pool:
            kinds = [*KINDS, *EMPTIED, ROWS, WIPED]
            made = {m.kind.name: m for m in pool.map(lambda kind: Mirrored(pair.source, servers, kind), kinds)}
        emptied = [made[kind.name] for kind in EMPTIED]
        for mirrored in emptied:
            mirrored.write(100, 110)
            mirrored.copy(mirrored.kind.rules)  # and nobody is told
        sinks = {name: make_sink(servers, name) for name in SINKS}
        file, remote = mirror_some(pair.source, servers, tmp_path_factory.mktemp("flow"))
        ended = {m.topic: 51 if m.kind.is_merged else 50 for m in made.values() if m not in emptied}
        ended |= {topic: 50 for _, topic in sinks.values()} | {remote: 50, made["wiped"].topic: 0}
        cut_logs(cluster.brokers[0], ended, [m.topic for m in emptied])
        for mirrored in made.values():
            if mirrored.kind.regrows:
                produce(servers, mirrored.topic, ({"value": b"other %d" % i} for i in range(80)))
        yield Cut(servers, made, sinks, file)


def make_sink(servers: str, name: str) -> tuple[Sink, str]:
    topic = f"{name}-{uuid.uuid4().hex[:6]}"
    create_topic(servers, topic, config=KEPT)
    sink = Sink(servers, topic, **({"offsets.preserve": "true"} if "preserve" in name else {}))
    for batch in (0, 1):
        sink.write(batch, sink_rows(name, topic, batch))
    return sink, topic


def sink_rows(name: str, topic: str, batch: int) -> pa.RecordBatch:
    first = 50 * batch
    offsets = list(range(first, first + 50)) if "preserve" in name else None
    return rows(topic, numbers(first, first + 50), offsets=offsets, at=OLD_MS if "forgotten" in name else -1)


def mirror_some(source: str, target: str, folder: Path) -> tuple[Path, str]:
    """A flow's file, and its remote topic."""
    topic = f"lag-{uuid.uuid4().hex[:6]}"
    create_topic(source, topic)
    file = write_flow(folder, source, target, topic, {"offsets.preserve": "never"})
    with mirroring(file) as mirror:
        mirror.await_topics(1)
        for _ in range(2):
            produce(source, topic, ({"value": b"%d" % i} for i in range(50)))
            mirror.catch_up(topic)
        return file, f"{mirror.flow.source.alias}.{topic}"


@pytest.mark.parametrize("name", [kind.name for kind in KINDS])
def test_what_the_target_lost_stops_it_and_is_copied_again_where_that_is_wanted(cut: Cut, name: str) -> None:
    mirrored = cut.mirrored[name]
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


def test_a_merged_partition_that_lost_everything_begins_anew_where_that_is_wanted(cut: Cut) -> None:
    mirrored = cut.mirrored["wiped"]
    assert [" stopped target-wiped: " in fact for fact in mirrored.copy(TRANSLATED, seconds=3.0).facts] == [True]
    assert [" noted target-wiped: " in fact for fact in mirrored.copy(GO_ON).facts] == [True]
    assert mirrored.values == [b"%d" % i for i in range(100)]


def test_rows_that_the_target_lost_are_read_from_the_source_again(cut: Cut) -> None:
    mirrored = cut.mirrored["rows"]
    mirrored.write(100, 120)

    def write(rules: Rules) -> Copied:
        return write_flow_rows(
            mirrored.source,
            cut.servers,
            mirrored.topic,
            mirrored.producer_id,
            first={0: 100},
            hints=mirrored.hints,
            rules=rules,
        )

    assert [" stopped target-truncated: " in fact for fact in write(TRANSLATED).facts] == [True]
    assert [" noted target-truncated: " in fact for fact in write(GO_ON).facts] == [True]
    assert mirrored.values == [b"%d" % i for i in range(120)]


@pytest.mark.parametrize("name", SINKS)
def test_a_sink_says_what_to_do_where_its_rows_are_lost(cut: Cut, name: str) -> None:
    sink, topic = cut.sinks[name]
    with pytest.raises(MirrorError, match="give the sink another name and a new checkpoint") as caught:
        sink.write(2, sink_rows(name, topic, 2))
    assert caught.value.name == "target-truncated"
    anew = Sink(cut.servers, f"{topic}-anew", **({"offsets.preserve": "true"} if "preserve" in name else {}))
    create_topic(cut.servers, f"{topic}-anew", config=KEPT)
    anew.write(0, sink_rows(name, f"{topic}-anew", 0), query="another")
    assert ends(cut.servers, f"{topic}-anew") == {0: 50}


def test_the_lag_counts_what_the_target_lost(cut: Cut) -> None:
    with mirroring(cut.flow) as mirror:
        mirror.await_topics(1)
        mirror.round()
        ((place, found),) = mirror.facts().items()
        assert (found.kind, found.name) == ("stopped", "target-truncated")
        await_condition(lambda: mirror.keeper.view.ends is not None, "the logs' ends")
        ends_of = mirror.keeper.view.ends
        assert ends_of is not None and ends_of[place].lag == 50
        assert "50 records that were written are missing" in mirror.status()


@pytest.mark.parametrize(("name", "first"), [("emptied", 100), ("emptied-translated", 50)])
def test_a_last_batch_that_was_compacted_to_nothing_still_says_where_it_goes_on(
    cut: Cut, name: str, first: int
) -> None:
    mirrored = cut.mirrored[name]
    known = mirrored.hints[mirrored.topic, 0]
    mirrored.hints = {(mirrored.topic, 0): known._replace(next_offset=first, target_end=first, last_sequence=first - 1)}
    mirrored.write(110, 120)
    copied = mirrored.copy(mirrored.kind.rules, seconds=5.0)
    assert copied.facts == [] and copied.total("records") == 10
    assert mirrored.values == [b"%d" % i for i in [*range(100), *range(110, 120)]]


def test_where_nothing_is_left_to_compare_it_stops_by_name_until_the_offset_is_set(cut: Cut) -> None:
    mirrored = cut.mirrored["emptied-unknown"]
    mirrored.write(110, 120)
    stopped = mirrored.copy(TRANSLATED, seconds=5.0)
    assert [" stopped position-unknown: 10 records of the source" in fact for fact in stopped.facts] == [True]
    assert "or sparkmirror offsets set says where to go on" in stopped.facts[0]
    mirrored.hints = {(mirrored.topic, 0): Standing(110, target_end=AS_SET)}
    assert mirrored.copy(TRANSLATED).facts == []
    assert mirrored.values == [b"%d" % i for i in [*range(100), *range(110, 120)]]
