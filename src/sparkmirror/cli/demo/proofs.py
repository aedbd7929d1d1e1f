"""What few mirrors stand: a kill under load, and a consumer group that moves to the other side."""

from __future__ import annotations

import time
from collections.abc import Mapping

from confluent_kafka import Consumer, KafkaException, TopicPartition

from sparkmirror.cli.demo.load import QUIET, LoadError
from sparkmirror.cli.demo.screen import Note, Screen
from sparkmirror.cli.demo.stage import START_S, Stage
from sparkmirror.cli.demo.topics import SOURCE, TARGET, TOPICS
from sparkmirror.errors import SetupError

GROUP = "demo-billing"
READ = 500  # records of each partition that the group reads before it moves
UNDER_LOAD_S = 1.0
SYNC_S = 60.0
ASK_S = 10.0
POLL_S = 0.2

Offsets = Mapping[int, int]  # by partition


def kill_mirror(stage: Stage, screen: Screen) -> None:
    """Under load, which goes on until the next one copies. The comparison shows what became of it."""
    with screen.step("Killing the mirror and Spark (kill -9) under load, and starting them again") as note:
        stage.load.start()
        time.sleep(UNDER_LOAD_S)
        stage.mirror.kill()
        began, before = time.monotonic(), sum(stage.probe.fetch_target().values())
        stage.mirror.start(stage.source, stage.target)
        while sum(stage.probe.fetch_target().values()) <= before:
            stage.mirror.look()
            if time.monotonic() - began > START_S:
                raise SetupError(f"The mirror did not go on within {START_S:.0f} s. {stage.mirror.tail()}")
            time.sleep(POLL_S)
        note(f"it copies again after {time.monotonic() - began:.0f} s")
        stage.load.stop()


def move_group(stage: Stage, screen: Screen) -> bool:
    """A group reads on A, and goes on on B. Whether that is with the very next record of each partition."""
    with screen.step(f"Moving a consumer group from {SOURCE} to {TARGET}") as note:
        try:
            left = _read_some(stage.source)
            note(f"it has read {READ * len(left):,} records on {SOURCE}, and waits for the next sync")
            found = _await_sync(stage, left, note)
        except KafkaException as error:
            raise LoadError(f"The group can't be moved: {error}") from error
    if found == left:
        said = f"Group {GROUP} read up to offsets {_text(left)} on {SOURCE} and goes on at the same ones on {TARGET}"
        screen.line(f"{said}: none is read twice, none is missed", "bold green")
    else:
        screen.line(f"Group {GROUP} stands at {_text(left)} on {SOURCE} and at {_text(found)} on {TARGET}", "red")
    return found == left


def _read_some(source: str) -> dict[int, int]:
    """Reads and commits; where each partition goes on."""
    topic = TOPICS[0]
    places = [TopicPartition(topic.name, partition, 0) for partition in range(topic.partitions)]
    left = dict.fromkeys(range(topic.partitions), 0)
    consumer = _consumer(source)
    try:
        consumer.assign(places)
        until = time.monotonic() + ASK_S
        while min(left.values()) < READ and time.monotonic() < until:
            message = consumer.poll(POLL_S)
            if message is not None and message.error() is None and message.offset() < READ:
                left[message.partition()] = message.offset() + 1
        offsets = [TopicPartition(topic.name, partition, offset) for partition, offset in left.items()]
        consumer.commit(offsets=offsets, asynchronous=False)
    finally:
        consumer.close()
    return left


def _await_sync(stage: Stage, wanted: Offsets, note: Note) -> Offsets:
    """What the group would go on with on the target, when it is what was wanted or has not become so for long."""
    places = [TopicPartition(TOPICS[0].remote, partition) for partition in wanted]
    consumer = _consumer(stage.target)
    try:
        until = time.monotonic() + SYNC_S
        while True:
            found = {place.partition: place.offset for place in consumer.committed(places, timeout=ASK_S)}
            if found == wanted or time.monotonic() > until:
                return found
            stage.mirror.look()
            note("the mirror commits its place on the other side")
            time.sleep(POLL_S)
    finally:
        consumer.close()


def _consumer(servers: str) -> Consumer:
    settings = {"bootstrap.servers": servers, "group.id": GROUP, "enable.auto.commit": False}
    return Consumer({**settings, "auto.offset.reset": "earliest", **QUIET})


def _text(offsets: Offsets) -> str:
    return ", ".join(str(offset) for _, offset in sorted(offsets.items()))
