"""The load generator: rounds of ready batches, one Produce request each, some of them in flight at a time."""

from __future__ import annotations

import select
import time
from collections import Counter
from collections.abc import Sequence

from bench.payload import Batch, Round
from sparkmirror.errors import BrokerError, ConnectionLostError
from sparkmirror.net.channel import Channel
from sparkmirror.net.cluster import Cluster
from sparkmirror.protocol import codes, produce
from sparkmirror.protocol.produce import Buffer

IN_FLIGHT = 8
REQUEST_TIMEOUT_MS = 30_000


class RawProducer:
    """Writes to one topic whose partitions have one leader (the benchmark's clusters have one broker)."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        info = cluster.fetch_metadata([topic]).topics[topic]
        self._topic = info
        self._channel = cluster.connect(info.leaders[0].node)
        self._version = _pick_version(self._channel)

    def __enter__(self) -> RawProducer:
        return self

    def __exit__(self, *_: object) -> None:
        self._channel.close()

    def send(self, rounds: Sequence[Round], records: int, deadline_s: float) -> Counter[int]:
        """Send whole rounds, again and again from the first, until `records` are reached, and wait for all answers.

        Returns how many each partition got.
        """
        bodies = [self._encode(batches) for batches in rounds]
        deadline = time.monotonic() + deadline_s
        sent: Counter[int] = Counter()
        total = number = 0
        while total < records or self._channel.pending:
            while total < records and len(self._channel.pending) < IN_FLIGHT:
                turn = number % len(rounds)
                self._request(bodies[turn])
                sent.update(_counts(rounds[turn]))
                total += sum(batch.records for batch in rounds[turn])
                number += 1
            self._take_answers(deadline)
        return sent

    def _encode(self, batches: Sequence[Batch]) -> list[Buffer]:
        key = self._topic.topic_id if self._version == produce.BY_ID else self._topic.name
        numbered = [(partition, batch.data) for partition, batch in enumerate(batches)]
        return produce.encode_produce(self._version, {key: numbered}, timeout_ms=REQUEST_TIMEOUT_MS)

    def _request(self, body: Sequence[Buffer]) -> None:
        flexible = self._version >= produce.FLEXIBLE_FROM
        self._channel.send(produce.API_KEY, self._version, body, flexible=flexible)

    def _take_answers(self, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise ConnectionLostError(f"{self._channel}: the load for {self._topic.name} was not taken in time")
        select.select([self._channel], [self._channel] if self._channel.wants_write else [], [], min(left, 1.0))
        self._channel.flush()
        for _, frame in self._channel.receive():
            for answer in produce.parse_produce(self._version, frame)[1]:
                if answer.error:
                    what = f"{self._topic.name}-{answer.partition}: {codes.name_of(answer.error)}"
                    raise BrokerError(answer.error, what)


def _counts(batches: Sequence[Batch]) -> dict[int, int]:
    return {partition: batch.records for partition, batch in enumerate(batches)}


def _pick_version(channel: Channel) -> int:
    return produce.BY_ID if channel.supports(produce.API_KEY, produce.BY_ID) else produce.BY_NAME
