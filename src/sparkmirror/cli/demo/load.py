"""Steady load on the demo's source cluster, from a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from sparkmirror.cli.demo.topics import DemoTopic
from sparkmirror.errors import SparkmirrorError

TICK_S = 0.01
FLUSH_S = 20.0
ADMIN_S = 20.0
QUIET = {"log_level": 0}  # librdkafka would write to the terminal when brokers go away at the end


class LoadError(SparkmirrorError):
    """The source cluster did not take the demo's records."""


def create_topics(bootstrap_servers: str, topics: Sequence[DemoTopic]) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, **QUIET})
    wanted = [NewTopic(topic.name, topic.partitions, 1) for topic in topics]
    try:
        for done in admin.create_topics(wanted).values():
            done.result(ADMIN_S)
    except KafkaException as error:
        raise LoadError(f"The topics can't be created: {error}") from error


class Load:
    """May be started and stopped again and again; running numbers go on."""

    def __init__(self, bootstrap_servers: str, topics: Sequence[DemoTopic]) -> None:
        self._streams = [_Stream(bootstrap_servers, topic) for topic in topics]
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def write(self, seconds: float) -> None:
        """Writes what the load is in so many seconds, at once."""
        for stream in self._streams:
            stream.send(int(stream.topic.per_second * seconds))
        self.flush()

    def start(self, scale: float = 1.0) -> None:
        self._stop.clear()
        self._thread = threading.Thread(target=self._run, args=(scale,), name="demo load", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """No record is sent any more. Those that were may still be under way: see `flush`."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(FLUSH_S)
            self._thread = None

    def close(self) -> None:
        """As `stop`, and what is under way is thrown away, so that an interrupt waits for nothing."""
        self.stop()
        for stream in self._streams:
            stream.discard()

    def flush(self) -> None:
        for stream in self._streams:
            stream.flush()

    def check(self) -> None:
        for stream in self._streams:
            stream.check()

    def _run(self, scale: float) -> None:
        last = time.monotonic()
        owed = [0.0] * len(self._streams)
        while not self._stop.wait(TICK_S):
            now = time.monotonic()
            passed, last = min(now - last, 1.0), now  # a machine that slept does not get all of it at once
            for i, stream in enumerate(self._streams):
                owed[i] += passed * stream.topic.per_second * scale
                stream.send(int(owed[i]))
                owed[i] %= 1


class _Stream:
    """One topic's producer: a codec is a setting of the producer."""

    def __init__(self, bootstrap_servers: str, topic: DemoTopic) -> None:
        self.topic = topic
        self._number = 0
        self._problem = ""
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "compression.type": topic.codec,
                "enable.idempotence": True,
                "linger.ms": 2,
                **QUIET,
            }
        )

    def send(self, count: int) -> None:
        for number in range(self._number, self._number + count):
            record = self.topic.make(number)
            while not self._sent(record.key, record.value, record.headers):
                self._producer.poll(0.05)
        self._number += count
        self._producer.poll(0)

    def _sent(self, key: bytes | None, value: bytes | None, headers: Any) -> bool:
        try:
            self._producer.produce(self.topic.name, value, key, headers=headers, on_delivery=self._note)
        except BufferError:
            return False
        return True

    def _note(self, error: object, _message: object) -> None:
        if error is not None:
            self._problem = str(error)

    def flush(self) -> None:
        left = self._producer.flush(FLUSH_S)
        if left:
            raise LoadError(f"{left:,} records of {self.topic.name} were not taken within {FLUSH_S:.0f} s")
        self.check()

    def discard(self) -> None:
        self._producer.purge()
        self._producer.flush(1)

    def check(self) -> None:
        if self._problem:
            raise LoadError(f"A record of {self.topic.name} was not taken: {self._problem}")
