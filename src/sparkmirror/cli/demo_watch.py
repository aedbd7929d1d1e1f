"""The demo's own eyes: end offsets of both clusters, and a consumer on the target that measures latency.

Nothing here asks the mirror how it does: it is judged from outside, with another client library.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from sparkmirror.cli.demo_gauges import Arrivals, Ends
from sparkmirror.cli.demo_load import QUIET
from sparkmirror.cli.demo_topics import DemoTopic

ASK_S = 5.0
POLL_S = 0.1

Place = tuple[str, int]


class EndsProbe:
    """Asks both clusters where the topics end. A topic that is not there yet ends at 0."""

    def __init__(self, source: str, target: str, topics: Sequence[DemoTopic]) -> None:
        self._source = AdminClient({"bootstrap.servers": source, **QUIET})
        self._target = AdminClient({"bootstrap.servers": target, **QUIET})
        self._topics = topics

    def fetch(self) -> dict[str, Ends]:
        """By topic. The target is asked first, so that lag may come out too large but never too small."""
        there = self.fetch_target()
        here = _fetch_ends(self._source, [(t.name, p) for t in self._topics for p in range(t.partitions)])
        return {
            topic.name: Ends(
                source=sum(here[topic.name, p] for p in range(topic.partitions)),
                target=sum(there[topic.remote, p] for p in range(topic.partitions)),
            )
            for topic in self._topics
        }

    def fetch_target(self) -> dict[Place, int]:
        return _fetch_ends(self._target, [(t.remote, p) for t in self._topics for p in range(t.partitions)])


def _fetch_ends(admin: AdminClient, places: Sequence[Place]) -> dict[Place, int]:
    wanted = {TopicPartition(*place): OffsetSpec.latest() for place in places}
    ends = dict.fromkeys(places, 0)
    for place, answer in admin.list_offsets(wanted, request_timeout=ASK_S).items():
        try:
            ends[place.topic, place.partition] = answer.result(ASK_S).offset
        except (KafkaException, TimeoutError):
            continue  # the mirror has not made it yet, or the broker is busy: the next look will tell
    return ends


class LatencyWatch:
    """Reads the target from `begin` on; a record's latency is the time from its timestamp until it is read here.

    That includes the producer's linger, the source's append, the mirror and the target's append.
    """

    def __init__(self, target: str, begin: Mapping[Place, int]) -> None:
        settings = {
            "bootstrap.servers": target,
            "group.id": "sparkmirror-demo",
            "enable.auto.commit": False,
            **QUIET,
        }
        self._consumer = Consumer(settings)
        self._consumer.assign([TopicPartition(*place, offset) for place, offset in begin.items()])
        self._lock = threading.Lock()
        self._arrivals: dict[str, Arrivals] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="demo latency", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        self._consumer.close()

    def take(self) -> dict[str, Arrivals]:
        """What arrived since the last call, by target topic."""
        with self._lock:
            taken, self._arrivals = self._arrivals, {}
        return taken

    def _run(self) -> None:
        while not self._stop.is_set():
            message = self._consumer.poll(POLL_S)
            if message is None or message.error() is not None:
                continue  # librdkafka goes on by itself; what never comes shows as lag
            latency_ms = int(time.time() * 1000) - message.timestamp()[1]
            size = len(message.value() or b"") + len(message.key() or b"")
            with self._lock:
                self._arrivals.setdefault(message.topic(), Arrivals()).note(latency_ms, size)
