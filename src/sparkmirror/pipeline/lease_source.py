"""The lease source: a Python streaming data source whose rows are leases, one a task.

Spark asks for the latest offset; the answer is the number of the next round of leases, which the desk gives when it is
due. A round is a micro-batch, a lease is one of its partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from sparkmirror.pipeline.cord import Cord

NAME = "sparkmirror_leases"
SCHEMA = "lease string"
QUERY = "query"  # the option that says whose source it is
NO_ROUND = -1

T = TypeVar("T")


@dataclass
class LeasePartition(InputPartition):
    """One lease on its way to a task."""

    lease: str


class LeaseReader(DataSourceStreamReader):
    """Runs beside the driver (planning) and in tasks (`read`)."""

    def __init__(self, query: str) -> None:
        self._cord: Cord | None = None
        self._query = query

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        return {"round": NO_ROUND}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802
        """Waits: an answer without news would be asked again every ten milliseconds."""
        number = self._ask(lambda cord: cord.next_round(self._query, start["round"]))
        return {"round": start["round"] if number is None else number}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        if start == end:
            return []
        leases = self._ask(lambda cord: cord.leases(end["round"]))
        return [LeasePartition(lease) for lease in leases or ()]

    def read(self, partition: InputPartition) -> Iterator[tuple[str]]:
        assert isinstance(partition, LeasePartition)
        yield (partition.lease,)

    def stop(self) -> None:
        if self._cord:
            self._cord.close()

    def _ask(self, question: Callable[[Cord], T | None]) -> T | None:
        """None if the desk is gone. A connection that has broken is made anew, and the question is asked again."""
        self._cord = cord = self._cord or Cord.to_desk()
        answer = question(cord)
        return question(cord) if answer is None and cord.mend() else answer

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cord": None}


class LeaseSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: StructType) -> LeaseReader:  # noqa: N802
        return LeaseReader(self.options[QUERY])
