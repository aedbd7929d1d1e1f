"""Load that goes on beside a test, and trouble that comes and goes."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from confluent_kafka import Producer

from sparkmirror.embedded import Broker
from tests.support.kafka_client import await_condition
from tests.support.leases import ends

THREE_DAYS_MS = 3 * 86_400_000


@contextmanager
def small_load(
    servers: str, topic: str, partitions: int, seed: int, *, age_ms: int = 0, pause_s: float = 0.0
) -> Iterator[None]:
    """Small batches and small transactions, a third of them aborted, until the end of the block."""
    stop = threading.Event()

    def write() -> None:
        plain = Producer({"bootstrap.servers": servers, "linger.ms": 0, "batch.num.messages": 5})
        bound = Producer({"bootstrap.servers": servers, "transactional.id": topic, "linger.ms": 0})
        bound.init_transactions(30)
        number = 0
        while not stop.wait(pause_s):
            stamp = int(time.time() * 1000) - age_ms
            bound.begin_transaction()
            for producer in (plain, plain, bound):
                for _ in range(random.Random(seed + number).randint(1, 8)):
                    producer.produce(topic, b"%d" % number, partition=number % partitions, timestamp=stamp)
                    number += 1
                producer.flush(10)
            if number % 3:
                bound.commit_transaction(30)
            else:
                bound.abort_transaction(30)

    with beside(write, stop):
        yield
    # A commit is answered before its markers are written.
    await_condition(lambda: ends(servers, topic) == ends(servers, topic, committed=False), "the last markers", 30)


@contextmanager
def plain_load(servers: str, topic: str, partitions: int, *, age_ms: int, pause_s: float) -> Iterator[None]:
    """Small batches without a hole between them, until the end of the block."""
    stop = threading.Event()

    def write() -> None:
        producer = Producer({"bootstrap.servers": servers, "linger.ms": 0})
        numbers = itertools.count()
        while not stop.wait(pause_s):
            stamp = int(time.time() * 1000) - age_ms
            for number in itertools.islice(numbers, 5 * partitions):
                producer.produce(topic, b"%d" % number, partition=number % partitions, timestamp=stamp)
            producer.flush(10)

    with beside(write, stop):
        yield


@contextmanager
def standing_still_in_turns(broker: Broker, seed: int) -> Iterator[None]:
    stop = threading.Event()

    def toggle() -> None:
        dice = random.Random(seed)
        while not stop.is_set():
            broker.pause()
            stop.wait(dice.uniform(0.5, 3))
            broker.resume()
            stop.wait(dice.uniform(0.2, 1.5))

    with beside(toggle, stop):
        yield


@contextmanager
def beside(work: Callable[[], None], stop: threading.Event) -> Iterator[None]:
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
