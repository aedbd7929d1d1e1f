"""Topics as DataFrames: `spark.readStream.format("sparkmirror")` and `spark.read.format("sparkmirror")`.

    column          type
    topic           string
    partition       int
    offset          bigint
    timestamp       bigint, milliseconds; -1: the record has none (docs/decisions/0009)
    timestamp_type  int, 0 CreateTime, 1 LogAppendTime
    key, value      binary
    headers         array<struct<key: string, value: binary>>; null without headers

A partition of a topic is a partition of the DataFrame, in the order of its log.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from sparkmirror.errors import ConfigError, ConnectionLostError
from sparkmirror.pipeline import record_options as names
from sparkmirror.pipeline.read_plan import Place, from_json, plan_ends, to_json
from sparkmirror.pipeline.record_options import Offsets, SourceOptions, parse_sink, parse_source

if TYPE_CHECKING:
    import pyarrow as pa

    from sparkmirror.net.cluster import Cluster
    from sparkmirror.pipeline.record_sink import RecordWriter

FORMAT = "sparkmirror"
SCHEMA = (
    "topic string, partition int, offset bigint, timestamp bigint, timestamp_type int, key binary, value binary, "
    "headers array<struct<key:string,value:binary>>"
)
# Spark asks for news every ten milliseconds; the answer "none" takes its time instead.
NEWS_WAIT_S = 1.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.01, 0.1
SAMPLES = 16
SAMPLE_BYTES = 64 << 10


@dataclass
class RangePartition(InputPartition):
    """Offsets `first..end` of a partition. `first` None: from the start of its log."""

    topic: str
    partition: int
    first: int | None
    end: int


class RecordSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return SCHEMA

    def reader(self, schema: StructType) -> RecordBatchReader:
        return RecordBatchReader(parse_source(self.options, streaming=False))

    def streamReader(self, schema: StructType) -> RecordStreamReader:  # noqa: N802 - Spark's name
        return RecordStreamReader(parse_source(self.options, streaming=True))

    def streamWriter(self, schema: StructType, overwrite: bool) -> RecordWriter:  # noqa: N802
        from sparkmirror.pipeline.record_sink import RecordWriter, check_schema  # noqa: PLC0415 - for writing alone

        options = parse_sink(self.options)
        check_schema(schema, options)
        return RecordWriter(options)


class _Ranges:
    """What both readers do: ask the cluster for offsets, read ranges. Connections do not travel."""

    def __init__(self, options: SourceOptions) -> None:
        self.options = options
        self._cluster: Cluster | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cluster": None}

    @property
    def cluster(self) -> Cluster:
        from sparkmirror.net.cluster import Cluster  # noqa: PLC0415 - not needed to name the columns
        from sparkmirror.pipeline.strongbox import unseal  # noqa: PLC0415

        if self._cluster is None:
            self._cluster = Cluster(unseal(self.options.address))
        return self._cluster

    def close(self) -> None:
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    def leaders(self) -> dict[Place, Any]:
        """All partitions that are wanted. Topics that are not there (yet) are an error only if they were named."""
        options = self.options
        named = sorted(options.assigned or options.topics)
        found = self.cluster.fetch_metadata(named or None).topics
        missing = [topic for topic in named if topic not in found or found[topic].error]
        if missing:
            raise ConfigError(f"no topic {', '.join(missing)} on {', '.join(options.address.bootstrap)}")
        return {
            (topic, partition): leader
            for topic, info in found.items()
            if options.wants(topic) and not info.error
            for partition, leader in info.leaders.items()
            if not options.assigned or partition in options.assigned[topic]
        }

    def offsets(self, which: str, leaders: Mapping[Place, Any] | None = None) -> dict[Place, int]:
        """Where the logs begin, or how far they can be read; without those whose broker does not answer."""
        from sparkmirror.net.cluster import group_by  # noqa: PLC0415
        from sparkmirror.net.offsets import EARLIEST, LATEST, list_offsets  # noqa: PLC0415

        wanted = self.leaders() if leaders is None else leaders
        when = EARLIEST if which == names.EARLIEST else LATEST
        found: dict[Place, int] = {}
        for places in group_by(list(wanted), lambda place: wanted[place].node).values():
            with contextlib.suppress(ConnectionLostError):
                led = {place: wanted[place] for place in places}
                found |= list_offsets(self.cluster, led, when, committed=bool(self.options.isolation))
        return found

    def resolve(self, wanted: str | Offsets) -> dict[Place, int]:
        """Offsets for all partitions; those that are not named begin at their start."""
        leaders = self.leaders()
        if isinstance(wanted, str):
            return self._complete(self.offsets(wanted, leaders), leaders)
        given = from_json(wanted)
        if stray := sorted(given.keys() - leaders.keys()):
            raise ConfigError(f"offsets are given for {stray[0][0]}-{stray[0][1]}, which is not among those to read")
        need_first = {p: leader for p, leader in leaders.items() if given.get(p, names.OLDEST_OFFSET) == -2}
        need_last = {p: leader for p, leader in leaders.items() if given.get(p) == names.NEWEST_OFFSET}
        found = self._complete(self.offsets(names.EARLIEST, need_first), need_first)
        found |= self._complete(self.offsets(names.LATEST, need_last), need_last)
        return {place: found.get(place, given.get(place, 0)) for place in leaders}

    def _complete(self, found: dict[Place, int], wanted: Mapping[Place, Any]) -> dict[Place, int]:
        if missing := sorted(wanted.keys() - found.keys()):
            raise ConnectionLostError(f"{missing[0][0]}-{missing[0][1]}: its leader does not say its offsets now")
        return found

    def read(self, wanted: RangePartition) -> Iterator[pa.RecordBatch]:
        from sparkmirror.pipeline.connections import shared_cluster  # noqa: PLC0415 - in tasks alone
        from sparkmirror.pipeline.record_rows import read_rows  # noqa: PLC0415
        from sparkmirror.pipeline.strongbox import unseal  # noqa: PLC0415

        return read_rows(shared_cluster(unseal(self.options.address)), self.options, wanted)


class RecordBatchReader(DataSourceReader):
    def __init__(self, options: SourceOptions) -> None:
        self._ranges = _Ranges(options)

    def partitions(self) -> Sequence[InputPartition]:
        begins = self._ranges.resolve(self._ranges.options.starting)
        ends = self._ranges.resolve(self._ranges.options.ending)
        self._ranges.close()
        return [RangePartition(t, p, first, ends[t, p]) for (t, p), first in begins.items() if ends[t, p] > first]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, RangePartition)
        return self._ranges.read(partition)


class RecordStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Runs beside the driver (offsets) and in tasks (`read`)."""

    def __init__(self, options: SourceOptions) -> None:
        self._ranges = _Ranges(options)
        self._stop: dict[Place, int] | None = None

    def initialOffset(self) -> Offsets:  # noqa: N802 - Spark's names
        return to_json(self._ranges.resolve(self._ranges.options.starting))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        options = self._ranges.options
        if options.max_offsets:
            return ReadMaxRows(options.max_offsets)
        return ReadMaxBytes(options.max_bytes) if options.max_bytes else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._stop = self._ranges.resolve(names.LATEST)

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:  # noqa: N802
        began = from_json(start)
        until = time.monotonic() + (0.0 if self._stop is not None else NEWS_WAIT_S)
        pause_s = FIRST_PAUSE_S
        while True:
            latest = self._stop if self._stop is not None else self._latest()
            begins = began | self._begin_new(set(latest) - began.keys())
            ends = plan_ends(begins, latest, self._most_offsets(limit, begins, latest))
            if ends != began or time.monotonic() >= until:
                return to_json(ends)
            time.sleep(pause_s)  # a log's end is known by asking again
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def reportLatestOffset(self) -> Offsets | None:  # noqa: N802
        return to_json(self._latest()) or None

    def _latest(self) -> dict[Place, int]:
        """Nothing while no broker answers: then there is no news. The next try asks for new certificates, too."""
        try:
            return self._ranges.offsets(names.LATEST)
        except ConnectionLostError:
            self._ranges.close()
            return {}

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        begins, ends = from_json(start), from_json(end)
        return [
            RangePartition(topic, partition, begins.get((topic, partition)), stop)
            for (topic, partition), stop in ends.items()
            if begins.get((topic, partition), -1) < stop
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, RangePartition)
        return self._ranges.read(partition)

    def stop(self) -> None:
        self._ranges.close()

    def _begin_new(self, places: set[Place]) -> dict[Place, int]:
        """Partitions that came after the query began are read from their start."""
        if not places:
            return {}
        leaders = self._ranges.leaders()
        return self._ranges.offsets(names.EARLIEST, {p: leaders[p] for p in places if p in leaders})

    def _most_offsets(self, limit: ReadLimit, begins: Mapping[Place, int], latest: Mapping[Place, int]) -> int | None:
        if isinstance(limit, ReadMaxRows):
            return limit.max_rows
        if not isinstance(limit, ReadMaxBytes):
            return None
        lags = sorted(
            ((latest[p] - begins[p], p) for p in latest if p in begins and latest[p] > begins[p]), reverse=True
        )
        sizes = [s for _, place in lags[:SAMPLES] if (s := self._sample(place, begins[place]))]
        return max(1, int(limit.max_bytes * len(sizes) / sum(sizes))) if sizes else None

    def _sample(self, place: Place, first: int) -> float:
        """Bytes an offset, of the next few batches."""
        from sparkmirror.pipeline.record_rows import sample_size  # noqa: PLC0415 - loads the kernels

        return sample_size(self._ranges.cluster, place, first, SAMPLE_BYTES)
