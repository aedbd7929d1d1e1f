"""The demo's own eyes: end offsets of both clusters, and a consumer on the target that measures latency.

Nothing here asks the mirror how it does: it is judged from outside, with another client library.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from sparkmirror.cli.demo.gauges import Arrivals, Ends
from sparkmirror.cli.demo.load import QUIET
from sparkmirror.cli.demo.topics import DemoTopic
from sparkmirror.errors import SparkmirrorError

ASK_S = 5.0
PATIENCE_S = 15.0
PAUSE_S = 0.1
POLL_S = 0.1

Place = tuple[str, int]


class WatchError(SparkmirrorError):
    """A cluster of the demo does not answer."""


class EndsProbe:
    """Asks both clusters where the topics end. A topic that is not there yet ends at 0."""

    def __init__(self, source: str, target: str, topics: Sequence[DemoTopic]) -> None:
        self._source = AdminClient({"bootstrap.servers": source, **QUIET})
        self._target = AdminClient({"bootstrap.servers": target, **QUIET})
        self._topics = topics
        self._complete = False

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
        places = [(t.remote, p) for t in self._topics for p in range(t.partitions)]
        self._complete = self._complete or self._target_is_complete()
        return _fetch_ends(self._target, places) if self._complete else dict.fromkeys(places, 0)

    def _target_is_complete(self) -> bool:
        """librdkafka does not soon forget that a topic was not there, so offsets are asked for only when all are."""
        try:
            found = self._target.list_topics(timeout=ASK_S).topics
        except KafkaException:
            return False
        return all(t.remote in found and len(found[t.remote].partitions) >= t.partitions for t in self._topics)


def _fetch_ends(admin: AdminClient, places: Sequence[Place]) -> dict[Place, int]:
    """All of them or an error: an end that is only guessed could pass for a mirror that has caught up.

    Brokers of a new topic say for a moment that they don't lead it, and a busy machine may be slow.
    """
    wanted = {TopicPartition(*place): OffsetSpec.latest() for place in places}
    until = time.monotonic() + PATIENCE_S
    while True:
        answers = admin.list_offsets(wanted, request_timeout=ASK_S)
        try:
            return {(place.topic, place.partition): answer.result(ASK_S).offset for place, answer in answers.items()}
        except (KafkaException, TimeoutError) as error:
            if time.monotonic() > until:
                raise WatchError(f"A cluster does not say where its topics end: {error}") from error
        time.sleep(PAUSE_S)


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
