"""Records that come all along a run: of three topics, each value once in its partition, at a steady rate."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from confluent_kafka import KafkaException, Producer

from tests.chaos.side import QUICK, Side

KEYS = 40
PAUSE_S, BOUND_PAUSE_S = 0.1, 0.3


@dataclass(frozen=True)
class Topic:
    name: str
    partitions: int
    compacted: bool = False

    @property
    def config(self) -> dict[str, str]:
        # Segments of seconds, so that some are cleaned while the run lasts.
        return {"cleanup.policy": "compact", "segment.ms": "15000"} if self.compacted else {}


PLAIN, BOUND, KEYED = Topic("load-plain", 3), Topic("load-bound", 2), Topic("load-keyed", 2, compacted=True)
TOPICS = (PLAIN, BOUND, KEYED)


class Traffic:
    """A thread a topic; each goes on by itself when the source was away."""

    def __init__(self, source: Side) -> None:
        self._source = source
        self._stop = threading.Event()
        self._resting = threading.Event()
        self._threads = [
            threading.Thread(target=self._write, args=(topic, send), name=topic.name, daemon=True)
            for topic, send in ((PLAIN, self._send_plain), (KEYED, self._send_plain), (BOUND, self._send_bound))
        ]

    def start(self) -> None:
        for topic in TOPICS:
            self._source.create(topic.name, topic.partitions, config=topic.config)
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(60)

    def _write(self, topic: Topic, send: Callable[[Topic, Iterator[int]], None]) -> None:
        numbers = itertools.count()
        while not self._stop.is_set():
            with contextlib.suppress(KafkaException):
                send(topic, numbers)

    def _send_plain(self, topic: Topic, numbers: Iterator[int]) -> None:
        producer = Producer(
            {
                "bootstrap.servers": self._source.servers,
                "enable.idempotence": True,
                "linger.ms": 5,
                **QUICK,
            }
        )
        while not self._stop.wait(PAUSE_S):
            for number in itertools.islice(numbers, 5 * topic.partitions):
                key = b"%d" % (number // topic.partitions % KEYS) if topic.compacted else None
                producer.produce(topic.name, b"%d" % number, key, number % topic.partitions)
            producer.flush(30)

    def _send_bound(self, topic: Topic, numbers: Iterator[int]) -> None:
        """Transactions, a third of them aborted. After an error a new producer ends what the last one began."""
        producer = Producer(
            {
                "bootstrap.servers": self._source.servers,
                "transactional.id": topic.name,
                "transaction.timeout.ms": 10_000,
                "linger.ms": 0,
                **QUICK,
            }
        )
        producer.init_transactions(30)
        while not self._stop.wait(BOUND_PAUSE_S):
            producer.begin_transaction()
            first = next(numbers)
            for number in (first, *itertools.islice(numbers, 3)):
                producer.produce(topic.name, b"%d" % number, partition=number % topic.partitions)
            producer.flush(30)
            if first // 4 % 3:
                producer.commit_transaction(30)
            else:
                producer.abort_transaction(30)
