"""A map that is written, read and pruned while writers die, topics are made anew and brokers are upgraded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from sparkmirror.errors import ConnectionLostError
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets import run_book
from sparkmirror.offsets.internal_topic import Cursors, InternalRecord
from sparkmirror.offsets.map_chain import Ids
from sparkmirror.offsets.map_topic import OffsetMapTopic
from sparkmirror.topology.run import Run
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage

PLACE = ("t", 0)
PARTITIONS = 5


class Kept:
    """The topic's log, all partitions in one; who appends dies after so many records, -1: he lives."""

    known_id = ""

    def __init__(self) -> None:
        self.log: list[InternalRecord] = []
        self.lives = -1

    def is_there(self) -> bool:
        return True

    def append_keyed(self, records: Mapping[bytes, bytes | None]) -> None:
        for key, value in records.items():
            if self.lives == 0:
                raise ConnectionLostError("its writer is dead")
            self.lives -= 1
            self.log.append(InternalRecord(hash(key) % PARTITIONS, len(self.log), key, value, 0))

    def read_news(self, seen: Cursors) -> tuple[bool, Iterator[InternalRecord]]:
        news = [r for r in self.log if r.offset >= seen.next.get(r.partition, 0)]
        return True, iter(sorted(news, key=lambda record: record.partition))

    def read_range(self, _: int, first: int, end: int) -> Iterator[InternalRecord]:
        return iter(self.log[first:end])


class History:
    """One partition of a flow: both logs, the map as it is written, and progress."""

    def __init__(self) -> None:
        self.kept = Kept()
        self.ids = Ids("", "")
        self.source = self.target = self.begins = self.topics = 0
        self.log_start = 0
        self.runs: list[Run] = []  # of the topics that there are
        self.told = 0  # runs that progress does not cover yet begin here
        self.standing: Standing | None = None
        self.writer = self.open()

    def open(self) -> OffsetMapTopic:
        with Cluster(ClusterAddress(alias="b", bootstrap=())) as cluster:
            topic = OffsetMapTopic(cluster, Storage.named("a"))
        topic._topic = self.kept  # type: ignore[assignment]
        topic.read()
        return topic

    def copy(self, hole: int, others: int, count: int) -> None:
        self.runs.append(Run(self.source + hole, self.target + others, count))
        self.source, self.target = self.runs[-1].source_end, self.runs[-1].target_end

    def write(self, order: list[int], late: int, lives: int) -> None:
        """Tell what is not covered yet, in some order and but for one, some of what is once more; then progress, if the
        writer lives.
        """
        due = self.runs[max(0, self.told - 2) :]
        due.sort(key=lambda run: order[run.source % len(order)])
        missing = min(self.told + late, len(self.runs))
        for run in due:
            if run not in self.runs[missing : missing + 1]:
                self.writer.add(PLACE, self.ids, run)
        self.kept.lives = lives
        try:
            self.writer.write()
        except ConnectionLostError:
            self.writer = self.open()
            return
        finally:
            self.kept.lives = -1
        self.told = missing
        end = self.runs[missing - 1].target_end if missing else self.begins
        source = self.runs[missing].source if missing < len(self.runs) else self.source
        self.standing = Standing(source, 0, end, -1, 0, "why", *self.ids)

    def make_anew(self) -> None:
        """The source topic. The target goes on."""
        self.topics += 1
        self.ids = self.ids._replace(source=uuid_of(self.topics) if self.ids.source else "")
        self.runs, self.told, self.source, self.begins = [], 0, 0, self.target
        self.standing = Standing(0, 0, self.target, -1, 0, "why", *self.ids)

    def upgrade(self, side: str) -> None:
        self.ids = self.ids._replace(**{side: uuid_of(self.topics if side == "source" else 999)})

    def prune(self, share: float) -> None:
        self.log_start = max(self.log_start, int(self.target * share))
        self.writer.prune({PLACE: self.log_start})

    def check(self) -> None:
        if self.standing is None:
            return
        found = self.open().map_of(PLACE, self.standing)
        for run in self.runs:
            for source in range(run.source, min(run.source_end, self.standing.next_offset)):
                stands = run.target + source - run.source
                answer = found.to_target(source)
                if stands >= self.log_start:
                    assert answer is not None and answer.offset == stands, (source, stands, answer)
                    back = found.to_source(stands)
                    assert back is not None and back.offset == source
                else:
                    assert (
                        answer is None or answer.offset <= max(stands, self.log_start) or self.is_first(answer.offset)
                    )

    def is_first(self, target: int) -> bool:
        """Whether it is where the first record stands that the log still holds."""
        return target == min(max(run.target, self.log_start) for run in self.runs if run.target_end > self.log_start)


def uuid_of(number: int) -> str:
    return f"00000000-0000-0000-0000-{number + 1:012}"


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_book, "CHUNK_RUNS", 3)


small = st.integers(0, 3)
steps = st.one_of(
    st.tuples(st.just("copy"), small, small, st.integers(1, 4)),
    st.tuples(st.just("copy"), small, small, st.integers(1, 4)),
    st.tuples(st.just("copy"), small, small, st.integers(1, 4)),
    st.tuples(st.just("write"), st.permutations(list(range(6))), st.integers(0, 9), st.integers(0, 4)),
    st.tuples(st.just("write"), st.permutations(list(range(6))), st.integers(0, 9), st.just(-1)),
    st.tuples(st.just("make_anew")),
    st.tuples(st.just("upgrade"), st.sampled_from(["source", "target"])),
    st.tuples(st.just("prune"), st.floats(0, 1)),
)


@settings(max_examples=100)
@given(st.lists(steps, max_size=60))
def test_every_offset_that_progress_covers_has_its_exact_place(history: list[tuple[object, ...]]) -> None:
    kept = History()
    for name, *arguments in history:
        getattr(kept, str(name))(*arguments)
        kept.check()
