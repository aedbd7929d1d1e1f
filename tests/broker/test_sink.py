"""A sink's tasks, without Spark: micro-batches that come again, in part or wholly, are written once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pytest

from sparkmirror.batch.columns import HEADER_TYPE
from sparkmirror.copy import roster
from sparkmirror.copy.sink_position import MicroBatch
from sparkmirror.errors import MirrorError
from sparkmirror.pipeline.record_options import parse_sink
from sparkmirror.pipeline.sink_task import write_rows
from tests.conftest import Pair
from tests.support.java_reader import JavaReader
from tests.support.kafka_client import create_topic, produce, read_all
from tests.support.leases import ends

pytestmark = pytest.mark.timeout(60)

OLD_MS = 1_000_000_000_000  # the leader forgets a producer whose newest record is that old


class KilledError(Exception):
    """Stands for a task that dies."""


def rows(topic: str, values: Sequence[str], *, offsets: Sequence[int] | None = None, at: int = -1) -> pa.RecordBatch:
    count = len(values)
    columns = {
        "topic": pa.array([topic] * count),
        "partition": pa.array([0] * count, pa.int32()),
        "timestamp": pa.array([at] * count, pa.int64()),
        "value": pa.array([v.encode() for v in values], pa.binary()),
        "headers": pa.array([[{"key": "h", "value": b"1"}]] * count, pa.list_(HEADER_TYPE)),
    }
    if offsets is not None:
        columns["offset"] = pa.array(offsets, pa.int64())
    return pa.record_batch(columns)


def numbers(first: int, end: int) -> list[str]:
    return [f"v{i}" for i in range(first, end)]


class Sink:
    def __init__(self, servers: str, topic: str, **options: str) -> None:
        self._options = parse_sink(
            {"bootstrap.servers": servers, "name": f"sink-{topic}", "offset.storage.replication.factor": "1"} | options
        )

    def write(self, batch: int, *parts: pa.RecordBatch, query: str = "q", dies: bool = False, task: int = 0) -> None:
        """One task of a micro-batch. `dies`: when all of its rows but the last part are in the target."""

        def feed() -> Iterator[pa.RecordBatch]:
            yield from parts
            if dies:
                raise KilledError

        now = MicroBatch(name=self._options.name, query=query, batch=batch)
        write_rows(self._options, now, task, 0, feed())


@pytest.fixture
def _slow_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part is in the target before the next is taken."""
    monkeypatch.setattr(roster, "HELD_BYTES", 1)


def values(pair: Pair, topic: str) -> list[str]:
    return [(r.value or b"").decode() for r in read_all(pair.target, topic)[0]]


@pytest.mark.usefixtures("_slow_rows")
@pytest.mark.parametrize("at", [-1, OLD_MS], ids=["remembered", "forgotten"])
def test_a_micro_batch_that_died_half_way_is_finished(pair: Pair, topic: str, at: int) -> None:
    create_topic(pair.target, topic, config={"retention.ms": "-1"})  # old records go at any moment else
    sink = Sink(pair.target, topic)
    sink.write(0, rows(topic, numbers(0, 100), at=at))
    with pytest.raises(KilledError):
        sink.write(1, rows(topic, numbers(100, 130), at=at), rows(topic, numbers(130, 131), at=at), dies=True)
    sink.write(1, rows(topic, numbers(100, 180), at=at))
    sink.write(2, rows(topic, numbers(180, 200), at=at))
    assert values(pair, topic) == numbers(0, 200)


def test_a_micro_batch_that_comes_again_is_not_written_again(pair: Pair, topic: str) -> None:
    create_topic(pair.target, topic)
    sink = Sink(pair.target, topic, **{"compression.type": "zstd"})
    for batch in (0, 0, 1, 1, 1, 2):
        sink.write(batch, rows(topic, numbers(10 * batch, 10 * batch + 10)))
    assert values(pair, topic) == numbers(0, 30)
    assert read_all(pair.target, topic)[0][0].headers == (("h", b"1"),)


@pytest.mark.usefixtures("_slow_rows")
def test_a_replay_with_other_rows_is_named_before_anything_is_written(pair: Pair, topic: str) -> None:
    create_topic(pair.target, topic)
    sink = Sink(pair.target, topic)
    sink.write(0, rows(topic, numbers(0, 10)))
    with pytest.raises(KilledError):
        sink.write(1, rows(topic, numbers(10, 20)), rows(topic, ["x"]), dies=True)
    with pytest.raises(MirrorError, match="other rows"):
        sink.write(1, rows(topic, [*numbers(10, 19), "other", *numbers(20, 30)]))
    with pytest.raises(MirrorError, match="other rows"):
        sink.write(1, rows(topic, numbers(10, 15)))
    assert len(values(pair, topic)) in (20, 21)


def test_another_checkpoint_and_an_older_one_are_refused(pair: Pair, topic: str) -> None:
    create_topic(pair.target, topic)
    sink = Sink(pair.target, topic)
    sink.write(5, rows(topic, numbers(0, 10)))
    for fact, batch, query in (("older-micro-batch", 4, "q"), ("other-query", 6, "new")):
        with pytest.raises(MirrorError) as caught:
            sink.write(batch, rows(topic, numbers(0, 10)), query=query)
        assert caught.value.name == fact
    assert len(values(pair, topic)) == 10


@pytest.mark.usefixtures("_slow_rows")
def test_others_may_write_into_the_same_topic(pair: Pair, topic: str) -> None:
    create_topic(pair.target, topic)
    produce(pair.target, topic, ({"value": b"theirs", "partition": 0} for _ in range(5)))
    sink = Sink(pair.target, topic)
    sink.write(0, rows(topic, numbers(0, 10)))
    produce(pair.target, topic, ({"value": b"theirs", "partition": 0} for _ in range(5)))
    with pytest.raises(KilledError):
        sink.write(1, rows(topic, numbers(10, 20)), rows(topic, ["v20"]), dies=True)
    produce(pair.target, topic, ({"value": b"theirs", "partition": 0} for _ in range(5)))
    sink.write(1, rows(topic, numbers(10, 30)))
    assert [v for v in values(pair, topic) if v != "theirs"] == numbers(0, 30)


def test_a_topic_that_is_not_there_is_named(pair: Pair, topic: str) -> None:
    with pytest.raises(MirrorError, match="create it") as caught:
        Sink(pair.target, topic).write(0, rows(topic, ["v"]))
    assert caught.value.name == "no-such-partition"


def test_rows_stand_at_their_offsets(pair: Pair, topic: str, java_reader: JavaReader) -> None:
    create_topic(pair.target, topic)
    sink = Sink(pair.target, topic, **{"offsets.preserve": "true"})
    wanted = [100, 101, 105, 106, 120, 130, 131]
    sink.write(0, rows(topic, numbers(0, 3), offsets=wanted[:3]))
    sink.write(0, rows(topic, numbers(0, 5), offsets=wanted[:5]))
    sink.write(1, rows(topic, numbers(5, 7), offsets=wanted[5:]))
    log = java_reader.read(pair.target, topic)[0]
    assert [(r.offset, r.value) for r in log.records] == [(o, b"v%d" % i) for i, o in enumerate(wanted)]
    assert (log.beginning, ends(pair.target, topic)[0]) == (100, 132)
    with pytest.raises(MirrorError, match="sort within partitions"):
        sink.write(2, rows(topic, numbers(0, 2), offsets=[141, 140]))
