"""Single records through the mirror: from the call that produces one until a consumer of the target holds it."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, field

from confluent_kafka import Consumer, Producer, TopicPartition

from bench.clusters import BenchError, Pair
from bench.sizes import PARTITIONS

PAUSE_S = 0.05
JITTER_S = 0.02  # so that no rhythm of a mirror falls together with ours
UNMEASURED = 5  # the first ones open connections
ARRIVAL_DEADLINE_S = 30.0
PAYLOAD = bytes(92)


@dataclass
class Arrivals:
    """Filled by the consumer's thread: when each record was there."""

    wanted: int
    at: dict[int, float] = field(default_factory=dict)
    complete: threading.Event = field(default_factory=threading.Event)
    stopping: threading.Event = field(default_factory=threading.Event)

    def note(self, number: int) -> None:
        self.at.setdefault(number, time.perf_counter())
        if len(self.at) >= self.wanted:
            self.complete.set()


def measure_latency(pair: Pair, topic: str, remote: str, count: int) -> list[float]:
    """Milliseconds, one a record, in the order they were produced. Sends `UNMEASURED` more."""
    arrivals = Arrivals(count + UNMEASURED)
    consumer = _consumer(pair, remote)
    thread = threading.Thread(target=_consume, args=(consumer, arrivals), name="latency-consumer", daemon=True)
    thread.start()
    try:
        sent = _produce(pair.source.bootstrap, topic, count + UNMEASURED)
        if not arrivals.complete.wait(ARRIVAL_DEADLINE_S):
            raise BenchError(f"{len(arrivals.at)} of {arrivals.wanted} single records arrived in time.")
    finally:
        arrivals.stopping.set()
        thread.join()
        consumer.close()
    return [1000 * (arrivals.at[number] - sent[number]) for number in range(UNMEASURED, len(sent))]


def _produce(bootstrap: str, topic: str, count: int) -> list[float]:
    """One record at a time; when each was handed over."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "acks": "all"})
    rng = random.Random(count)
    sent = []
    for number in range(count):
        value = number.to_bytes(8, "big") + PAYLOAD
        sent.append(time.perf_counter())
        producer.produce(topic, value=value, partition=number % PARTITIONS)
        producer.poll(0)
        time.sleep(PAUSE_S + rng.uniform(0, JITTER_S))
    if producer.flush(ARRIVAL_DEADLINE_S):
        raise BenchError("The source did not take the single records in time.")
    return sent


def _consumer(pair: Pair, remote: str) -> Consumer:
    """At the present ends. It asks anew every 10 ms, and has an answer as soon as there is a record."""
    consumer = Consumer(
        {
            "bootstrap.servers": pair.target.bootstrap,
            "group.id": f"bench-{remote}",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 10,
            "fetch.min.bytes": 1,
        }
    )
    ends = pair.target.ends(remote)
    consumer.assign([TopicPartition(remote, partition, end) for partition, end in ends.items()])
    return consumer


def _consume(consumer: Consumer, arrivals: Arrivals) -> None:
    while not arrivals.stopping.is_set() and not arrivals.complete.is_set():
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            arrivals.note(int.from_bytes(message.value()[:8], "big"))
