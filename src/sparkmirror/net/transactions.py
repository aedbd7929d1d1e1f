"""Empty transactions: each writes exactly one marker into the partition that it names, invisible to readers.

The way to fill holes for a user who may not write markers directly. Starting anew under the same transactional id
shuts out whoever used it before, so the coordinator does the fencing. A transaction that was open then is aborted,
which writes a marker, too: when `begin` returns, all markers of earlier users are in the log.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from kafka.protocol.metadata import FindCoordinatorRequest
from kafka.protocol.producer import AddPartitionsToTxnRequest, EndTxnRequest, InitProducerIdRequest

from sparkmirror.errors import ConnectionLostError
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.denial import raise_refused
from sparkmirror.protocol import codes
from sparkmirror.topology.right import TRANSACTIONAL_ID, Right

TRANSACTION_TIMEOUT_MS = 60_000
DEADLINE_S = 10.0
RETRY_S, LONGEST_RETRY_S = 0.005, 0.2
# Later versions are for brokers among themselves, or end a transaction with another epoch (KIP-890).
_MOST_ADD = 3
_MOST_END = 3
_TRANSACTION = 1
_PASSING = codes.PASSING | {codes.CONCURRENT_TRANSACTIONS, codes.NOT_COORDINATOR}

Partition = tuple[str, int]


class EmptyTransactions:
    """One transactional id, one transaction at a time. Blocking; one user at a time."""

    def __init__(self, cluster: Cluster, transactional_id: str) -> None:
        self._cluster = cluster
        self._id = transactional_id
        self._coordinator = -1
        self._producer: tuple[int, int] | None = None

    def begin(self) -> None:
        """Find the coordinator and take the id over from whoever had it."""
        self._coordinator = self._find_coordinator()
        request = InitProducerIdRequest(
            transactional_id=self._id, transaction_timeout_ms=TRANSACTION_TIMEOUT_MS, producer_id=-1, producer_epoch=-1
        )
        answer = self._retried(lambda: self._cluster.call(self._coordinator, request), lambda a: a.error_code)
        self._producer = (answer.producer_id, answer.producer_epoch)

    def open(self, partition: Partition) -> None:
        """A transaction that writes nothing into a partition but its end."""
        producer_id, epoch = self._begun()
        topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
        add = AddPartitionsToTxnRequest(
            transactions=[],
            v3_and_below_transactional_id=self._id,
            v3_and_below_producer_id=producer_id,
            v3_and_below_producer_epoch=epoch,
            v3_and_below_topics=[topic(name=partition[0], partitions=[partition[1]])],
        )
        self._retried(lambda: self._cluster.call(self._coordinator, add, most_version=_MOST_ADD), _first_error)

    def end(self) -> None:
        """Commit it: the marker may be on its way when this returns, so see to the log end."""
        producer_id, epoch = self._begun()
        end = EndTxnRequest(transactional_id=self._id, producer_id=producer_id, producer_epoch=epoch, committed=True)
        self._retried(
            lambda: self._cluster.call(self._coordinator, end, most_version=_MOST_END), lambda a: a.error_code
        )

    def _begun(self) -> tuple[int, int]:
        assert self._producer is not None
        return self._producer

    def _find_coordinator(self) -> int:
        request = FindCoordinatorRequest(key=self._id, key_type=_TRANSACTION, coordinator_keys=[self._id])
        answer = self._retried(
            lambda: self._cluster.call_any(request),
            lambda a: a.coordinators[0].error_code if a.coordinators else a.error_code,
            finds_anew=False,
        )
        return int(answer.coordinators[0].node_id if answer.coordinators else answer.node_id)

    def _retried(self, ask: Callable[[], Any], error_of: Callable[[Any], int], *, finds_anew: bool = True) -> Any:
        """The last transaction may still be ending, or the coordinator loading: both pass."""
        deadline = time.monotonic() + DEADLINE_S
        pause_s = RETRY_S
        while True:
            answer = ask()
            error = error_of(answer)
            if error == codes.NOT_COORDINATOR and finds_anew:
                self._coordinator = self._find_coordinator()
            elif error not in _PASSING:
                right = Right("WRITE", TRANSACTIONAL_ID, self._id)
                raise_refused(self._cluster.address, f"transaction {self._id}", error, right)
                return answer
            if time.monotonic() > deadline:
                raise ConnectionLostError(f"transaction {self._id}: {codes.name_of(error)} for {DEADLINE_S:g} s")
            time.sleep(pause_s)  # the coordinator tells by answering again
            pause_s = min(2 * pause_s, LONGEST_RETRY_S)


def _first_error(answer: Any) -> int:
    topics = answer.results_by_topic_v3_and_below
    errors = [p.partition_error_code for t in topics for p in t.results_by_partition]
    return next((e for e in errors if e), 0)
