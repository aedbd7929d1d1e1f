"""A flow on the record way: one query that reads its topics as rows and writes them, kept alive by the supervisor.

    readStream.format("sparkmirror") --rows, holes, gaps--> write stage --receipts--> ledger

What Spark keeps of it is not needed: each start reads from where the target's partitions stand.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from sparkmirror import register
from sparkmirror.copy.lease import NEWEST, Lease
from sparkmirror.copy.receipt import STOPPED, WAITING, Receipt
from sparkmirror.net.address import to_fields
from sparkmirror.pipeline import record_options as options
from sparkmirror.pipeline.query import start_receipts
from sparkmirror.pipeline.record_source import FORMAT
from sparkmirror.pipeline.write_stage import write_stage
from sparkmirror.protocol.fetch import READ_COMMITTED
from sparkmirror.topology.standing import Standing

log = logging.getLogger("sparkmirror.records")

# After each row Spark adds up the bytes of an Arrow batch, and with a list among the columns that takes the longer the
# more rows there are: 10,000 (its default) cost 50 microseconds a row.
SETTINGS = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "500",
    "spark.python.daemon.module": "sparkmirror.pipeline.records_daemon",
}
BATCH_BYTES = 256 << 20
THROTTLED_TRIGGER = "1 second"
RESTART_PAUSE_S = 1.0
RETRY_S = 60.0  # partitions that stand still are tried again so often, also if nothing new comes for them

Place = tuple[str, int]


class RecordsFlow:
    """`ledger` takes the receipts of each micro-batch."""

    def __init__(
        self, flow: str, spark: SparkSession, ledger: Callable[[list[Receipt]], None], workspace: Path
    ) -> None:
        self._flow = flow
        self._spark = spark
        self._ledger = ledger
        self._workspace = workspace
        self._query: StreamingQuery | None = None
        self._places: frozenset[Place] = frozenset()
        self._restart_at = self._started_at = 0.0
        self._troubled: set[Place] = set()
        self._lock = threading.Lock()
        self._standings: dict[Place, Standing] = {}
        register(spark)

    def hints(self) -> dict[Place, Standing]:
        """Where each partition stands that was written."""
        with self._lock:
            return dict(self._standings)

    def forget(self) -> None:
        """Somebody else writes them."""
        with self._lock:
            self._standings.clear()

    def tend(self, places: Collection[Place], plan: Callable[[], Lease | None]) -> None:
        """Let the query run for exactly these partitions: none while another driver leads or may lead."""
        wanted = frozenset(places)
        now = time.monotonic()
        if self._query is not None and not self._query.isActive:
            log.error("flow %s: the query ended and is started again: %s", self._flow, self._why())
            self._query, self._restart_at = None, now + RESTART_PAUSE_S
        if self._query is not None and (wanted != self._places or self._is_retry_due(now)):
            self.stop()
        if self._query is None and wanted and now >= self._restart_at:
            lease = plan()
            if lease is not None:
                self._places, self._started_at = wanted, now
                self._query = self._start(lease)

    def stop(self) -> None:
        if self._query is not None:
            with contextlib.suppress(PySparkException, Py4JError, OSError):  # it ended by itself
                self._query.stop()
            self._query = None

    def _start(self, lease: Lease) -> StreamingQuery:
        rows = self._spark.readStream.format(FORMAT).options(**read_options(lease)).load()
        stage = write_stage(lease.to_json(), time.time())
        return start_receipts(
            rows,
            stage,
            f"sparkmirror-{lease.flow.replace('->', '-')}",
            self._take,
            self._workspace,
            every=THROTTLED_TRIGGER if lease.rules.bytes_per_second else None,
        )

    def _take(self, receipts: list[Receipt]) -> None:
        moved = {(r.topic, r.partition): standing for r in receipts if (standing := r.standing)}
        with self._lock:
            self._standings |= moved
            for receipt in receipts:
                place = (receipt.topic, receipt.partition)
                (self._troubled.add if receipt.kind in (STOPPED, WAITING) else self._troubled.discard)(place)
        self._ledger(receipts)

    def _is_retry_due(self, now: float) -> bool:
        """A new query reads again what Spark takes for done, and the target lacks."""
        with self._lock:
            return bool(self._troubled) and now - self._started_at >= RETRY_S

    def _why(self) -> str:
        cause = self._query.exception() if self._query else None
        return (str(cause).strip().splitlines() or ["no reason given"])[0]


def read_options(lease: Lease) -> dict[str, str]:
    """All partitions of the flow, from where they stand."""
    begin = options.NEWEST_OFFSET if lease.rules.begin == NEWEST else options.OLDEST_OFFSET
    assigned: dict[str, list[int]] = {}
    starting: dict[str, dict[str, int]] = {}
    for p in lease.partitions:
        assigned.setdefault(p.topic, []).append(p.partition)
        starting.setdefault(p.topic, {})[str(p.partition)] = p.hint.next_offset if p.hint else begin
    rate = lease.rules.bytes_per_second
    committed = lease.rules.isolation == READ_COMMITTED
    return {
        options.SERVERS: ",".join(lease.source.bootstrap),
        options.CLIENT: json.dumps(to_fields(lease.source.client)),
        options.ASSIGN: json.dumps(assigned),
        options.STARTING: json.dumps(starting),
        options.ISOLATION: "read_committed" if committed else "read_uncommitted",
        options.MAX_BYTES: str(max(1, int(rate)) if rate else BATCH_BYTES),
        options.WITH_NOTES: "true",
    }
