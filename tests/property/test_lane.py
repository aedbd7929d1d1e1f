"""A lane appends exactly the records of a fetch, in order and once, and leaves alone whatever is not plain."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from sparkmirror.batch.codec import decompress
from sparkmirror.batch.header import HEADER_BYTES, has_valid_crc, read_header
from sparkmirror.copy.lane import carry as c
from sparkmirror.copy.lane import table as t
from sparkmirror.copy.lane.answers import UNUSUAL, acknowledge
from sparkmirror.copy.lane.warm import warm_up
from sparkmirror.protocol import fetch
from tests.support.lane_answers import (
    Appended,
    FetchAnswer,
    Fetched,
    Key,
    Wish,
    encode_produced,
    read_produce,
    read_wishes,
)
from tests.support.logs import SourceBatch, copyable, make_log
from tests.support.records import Record, decode_section

SESSION, PRODUCER, ROOM, PARTITION_BYTES = 7, 4711, 20, 1 << 20
NOW = 10**12
LATER = NOW + 10**9
SEQUENCES = 2**31


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    warm_up()


@dataclass
class Place:
    """A partition of both sides; `log`: what a fetch brings, from where it stands on."""

    source: tuple[Key, int]
    target: tuple[Key, int]
    broker: int
    log: list[SourceBatch]
    position: int
    sequence: int
    target_next: int


class Scene:
    """Some partitions of two source topics or three, that go to two target brokers."""

    def __init__(self, seed: int, logs: Any, *, known_until: int = LATER) -> None:
        self.dice = dice = random.Random(seed)
        self.by_id = dice.random() < 0.5, dice.random() < 0.5
        self.places: list[Place] = []
        for topic in range(dice.randint(1, 3)):
            source = bytes([topic] * 16) if self.by_id[0] else f"t{topic}"
            target = bytes([100 + topic] * 16) if self.by_id[1] else f"A.t{topic}"
            for partition in range(dice.randint(1, 4)):
                log = logs(dice)
                position = dice.choice([log[0].first, 0]) if log else 0
                at, sequence = dice.randint(0, 2**40), dice.choice([0, 5, SEQUENCES - 3])
                onto = partition + 10 * topic
                place = Place((source, partition), (target, onto), dice.randrange(2), log, position, sequence, at)
                self.places.append(place)
        self.keys = (
            self._keys([p.source for p in self.places]),
            self._keys([p.target for p in self.places]),
        )
        self.table = np.array([self._row(p, known_until) for p in self.places], np.int64)
        tail = fetch.encode_tail(fetch.BY_ID if self.by_id[0] else fetch.BY_NAME, "")
        self.desk = c.make_desk(len(self.places), 2, 1 << 20, tail, 200, ROOM)

    def _keys(self, places: Sequence[tuple[Key, int]]) -> t.Keys:
        topics = t.number([topic for topic, _ in places])
        return t.make_keys(list(topics), [(topics[topic], partition) for topic, partition in places])

    def _row(self, place: Place, known_until: int) -> list[int]:
        row = [0] * t.COLUMNS
        row[t.TOPIC] = list(dict.fromkeys(p.source[0] for p in self.places)).index(place.source[0])
        row[t.TARGET_TOPIC] = list(dict.fromkeys(p.target[0] for p in self.places)).index(place.target[0])
        row[t.PARTITION], row[t.TARGET_PARTITION], row[t.TARGET] = place.source[1], place.target[1], place.broker
        row[t.LEADER_EPOCH], row[t.PRODUCER], row[t.LARGEST] = 3, PRODUCER, 1 << 30
        row[t.POSITION] = row[t.SOURCE_NEXT] = place.position
        row[t.SEQUENCE], row[t.TARGET_NEXT], row[t.KNOWN_UNTIL] = place.sequence, place.target_next, known_until
        return row

    def answer(self) -> FetchAnswer:
        """In any order, and not of all partitions."""
        chosen = [p for p in self.places if self.dice.random() < 0.8]
        self.dice.shuffle(chosen)
        return FetchAnswer([Fetched(*p.source, b"".join(batch.encode() for batch in p.log)) for p in chosen])

    def carry(self, data: bytes, *, free: int = c.MOST_TURNS) -> int:
        frame = np.frombuffer(bytearray(data), np.uint8)
        found = c.carry(
            frame, self.by_id, self.keys, self.table, self.desk, 0, SESSION, 2, free, NOW, 30_000, ROOM
        )  # fmt: skip
        assert frame.tobytes() == data, "the answer is never written to"
        return int(found)

    def requests(self, count: int) -> list[tuple[int, dict[tuple[Key, int], bytes], t.Table]]:
        """To which broker each goes, its batches, and what is noted of them."""
        found = []
        for target, begin, end, first, last in self.desk.requests[:count].tolist():
            body = self.desk.out[begin + ROOM : end].tobytes()
            found.append((target, read_produce(body, self.by_id[1]), self.desk.sent[first:last].copy()))
        return found

    def wishes(self) -> dict[tuple[Key, int], Wish]:
        end = c.put_wishes(
            self.desk.found, self.table, self.by_id[0], self.keys[0], PARTITION_BYTES, self.desk.tail, self.desk.wish, 0
        )
        return read_wishes(self.desk.wish[:end].tobytes(), self.by_id[0])


def plain_log(dice: random.Random) -> list[SourceBatch]:
    """What producers write, one batch behind the other."""
    offset, log = dice.choice([0, 17, 2**40]), []
    codec = dice.choice([0, 0, 0, 4])
    for _ in range(dice.choice([0, 1, 1, 2, 3, 20 if not codec else 4])):
        width, size = dice.choice([1, 2, 40]), dice.choice([0, 5, 200, 2000])
        records = tuple(
            Record(offset + i, 1_700_000_000_000 + dice.randint(-5000, 5000), b"k", dice.randbytes(size))
            for i in range(width)
        )
        log.append(SourceBatch(first=offset, last_delta=width - 1, records=records, codec=codec, producer_id=9))
        offset += width
    return log


def decode(batch: bytes, first: int) -> list[Record]:
    """What an append of this batch at its place would store, by an independent reader."""
    header, view = read_header(memoryview(batch)), memoryview(batch)
    assert has_valid_crc(view)
    assert (header.first, header.attributes & ~7, header.producer_id, header.producer_epoch) == (0, 0, PRODUCER, 0)
    assert header.records == header.last_delta + 1
    assert header.length + 12 == len(batch)
    return decode_section(
        bytes(decompress(header.codec, view[HEADER_BYTES:])),
        first=first,
        last_delta=header.last_delta,
        count=header.records,
        base_timestamp=header.base_timestamp,
        append_time=None,
    )


def check_carried(scene: Scene, asked: Sequence[Fetched], count: int) -> list[tuple[int, t.Table]]:
    """All requests hold exactly the records of the answer; the table is where they end."""
    places = {p.target: (number, p) for number, p in enumerate(scene.places)}
    written: dict[tuple[Key, int], list[Record]] = {}
    sent = []
    for target, batches, noted in scene.requests(count):
        assert len(batches) == len(noted)
        sent.append((target, noted))
        rows = {int(row[t.SENT_ROW]): row for row in noted}
        for where, batch in batches.items():
            number, place = places[where]
            row, before = rows[number], written.setdefault(where, [])
            assert place.broker == target
            assert row[t.SENT_FIRST] == place.position + len(before)
            assert row[t.SENT_BYTES] == len(batch)
            sequence = (place.sequence + len(before)) % SEQUENCES
            assert read_header(memoryview(batch)).sequence == row[t.SENT_SEQUENCE] == sequence
            before += decode(batch, int(row[t.SENT_FIRST]))
            assert row[t.SENT_END] == before[-1].offset + 1
    fetched = {each.topic: each for each in asked}
    for number, place in enumerate(scene.places):
        is_asked = any((each.topic, each.partition) == place.source for each in asked)
        expected = copyable(place.log, committed=True) if is_asked else []
        assert written.get(place.target, []) == expected, f"{fetched.keys()} {place.source}"
        assert scene.table[number, t.POSITION] == place.position + len(expected)
        assert scene.table[number, t.SEQUENCE] == (place.sequence + len(expected)) % SEQUENCES
        assert scene.table[number, t.HELD] == len(expected)
    return sent


@settings(max_examples=300)
@given(seed=st.integers(0, 2**32))
def test_plain_batches_are_appended_with_every_record_at_its_place(seed: int) -> None:
    scene = Scene(seed, plain_log)
    for place in scene.places:
        place.position = place.log[0].first if place.log else 0
    scene.table[:, t.POSITION] = scene.table[:, t.SOURCE_NEXT] = [p.position for p in scene.places]
    answer = scene.answer()
    count = scene.carry(answer.encode(scene.by_id[0]))
    note(f"{len(scene.places)} partitions, {count} requests")
    assert count >= 0
    sent = check_carried(scene, answer.partitions, count)
    moved = {
        p.source: p
        for p in scene.places
        if p.log and any((f.topic, f.partition) == p.source for f in answer.partitions)
    }
    wishes = scene.wishes()
    assert wishes.keys() == moved.keys()
    for where, place in moved.items():
        last_epoch = 3 if scene.by_id[0] else -1  # of the batches
        assert wishes[where] == Wish(3, place.log[-1].end, last_epoch, PARTITION_BYTES)
    take_answers(scene, sent)


def take_answers(scene: Scene, sent: Sequence[tuple[int, t.Table]]) -> None:
    """Each request is answered, its batches in any order; in the end both logs stand where they should."""
    for _, batches in sent:
        answers = []
        for row in batches:
            place = scene.places[row[t.SENT_ROW]]
            base_offset = place.target_next + int(row[t.SENT_FIRST]) - place.position
            answers.append(Appended(place.target[0], place.target[1], base_offset))
        scene.dice.shuffle(answers)
        for wrong in spoil_answers(scene.dice, answers, scene.by_id[1]):
            before = scene.table.copy()
            assert acknowledged(scene, wrong, batches) == UNUSUAL
            assert (scene.table == before).all()
        assert acknowledged(scene, encode_produced(answers, scene.by_id[1]), batches) == len(batches)
    for number, place in enumerate(scene.places):
        row = scene.table[number]
        count = row[t.POSITION] - place.position
        assert (row[t.SOURCE_NEXT], row[t.TARGET_NEXT]) == (row[t.POSITION], place.target_next + count)
        assert (row[t.IN_FLIGHT], row[t.HELD], row[t.IS_DIRTY]) == (0, 0, count > 0)
        if count:
            assert row[t.LAST_SEQUENCE] == (place.sequence + count - 1) % SEQUENCES
            assert (row[t.RUN_SOURCE], row[t.RUN_TARGET], row[t.RECORDS]) == (place.position, place.target_next, count)


def acknowledged(scene: Scene, data: bytes, sent: t.Table) -> int:
    frame = np.frombuffer(bytearray(data), np.uint8)
    return int(acknowledge(frame, scene.by_id[1], scene.keys[1], sent, scene.table, LATER))


def spoil_answers(dice: random.Random, answers: Sequence[Appended], flexible: bool) -> list[bytes]:
    def with_first(**fields: Any) -> list[Appended]:
        first = answers[0]
        return [Appended(**(vars(first) | fields)), *answers[1:]]

    whole = encode_produced(answers, flexible)
    return [
        encode_produced(with_first(error=3), flexible),
        encode_produced(with_first(base_offset=answers[0].base_offset + 1), flexible),
        encode_produced(with_first(base_offset=answers[0].base_offset - 1), flexible),
        encode_produced(with_first(partition=99), flexible),
        encode_produced(with_first(message="no"), flexible),
        encode_produced(answers[1:], flexible),
        encode_produced([*answers, answers[0]], flexible),
        encode_produced(answers, flexible, throttle_ms=5),
        whole[: dice.randrange(len(whole))],
        whole + b"\0",
    ]


@settings(max_examples=300)
@given(seed=st.integers(0, 2**32))
def test_logs_of_any_kind_are_appended_whole_or_left_alone(seed: int) -> None:
    """Markers, holes, aborted records, compaction, formats and stamps of brokers are somebody else's."""
    scene = Scene(seed, lambda dice: make_log(dice.randrange(2**32)) if dice.random() < 0.4 else plain_log(dice))
    answer, before = scene.answer(), scene.table.copy()
    count = scene.carry(answer.encode(scene.by_id[0]))
    if count == UNUSUAL:
        assert (scene.table == before).all()
    else:
        check_carried(scene, answer.partitions, count)


SPOILS: list[Any] = [
    lambda answer, _: setattr(answer, "throttle_ms", 1),
    lambda answer, _: setattr(answer, "error", 70),
    lambda answer, _: setattr(answer, "session", SESSION + 1),
    lambda answer, _: setattr(answer, "behind", b"\0"),
    lambda _, one: setattr(one, "error", 1),
    lambda _, one: setattr(one, "preferred", 2),
    lambda _, one: setattr(one, "aborted", [(5, 0)]),
    lambda _, one: setattr(one, "partition", 77),
    lambda answer, one: answer.partitions.append(one),
]


@settings(max_examples=200)
@given(seed=st.integers(0, 2**32), kind=st.integers(0, len(SPOILS) - 1))
def test_an_answer_that_says_more_is_left_alone(seed: int, kind: int) -> None:
    scene = Scene(seed, plain_log)
    answer = scene.answer()
    if not answer.partitions:
        return
    SPOILS[kind](answer, scene.dice.choice(answer.partitions))
    before = scene.table.copy()
    assert scene.carry(answer.encode(scene.by_id[0])) == UNUSUAL
    assert (scene.table == before).all()


@settings(max_examples=200)
@given(seed=st.integers(0, 2**32))
def test_an_answer_with_broken_bytes_appends_nothing_that_the_source_does_not_have(seed: int) -> None:
    """A bit that flips is noticed by a CRC, or stands where it makes no difference."""
    scene = Scene(seed, plain_log)
    answer, before = scene.answer(), scene.table.copy()
    data = bytearray(answer.encode(scene.by_id[0]))
    if scene.dice.random() < 0.3:
        del data[scene.dice.randrange(len(data)) :]
    else:
        data[scene.dice.randrange(len(data))] ^= 1 << scene.dice.randrange(8)
    count = scene.carry(bytes(data))
    if count < 0:
        assert (scene.table == before).all()
        return
    known = {(p.target, r.offset): r for p in scene.places for r in copyable(p.log, committed=True)}
    places = dict(enumerate(scene.places))
    for _, batches, noted in scene.requests(count):
        rows = {places[int(row[t.SENT_ROW])].target: row for row in noted}
        for where, batch in batches.items():
            for record in decode(batch, int(rows[where][t.SENT_FIRST])):
                assert known[where, record.offset] == record


def test_what_is_under_way_is_waited_for() -> None:
    """A leader that may have forgotten us takes any batch: the first of a while goes alone."""
    scene = Scene(3, plain_log, known_until=NOW - 1)
    place = scene.places[0]
    place.log = next(b for seed in range(99) if (b := plain_log(random.Random(seed))))[:1]
    place.position = place.log[0].first
    scene.table[0, t.POSITION] = scene.table[0, t.SOURCE_NEXT] = place.position
    answer = FetchAnswer([Fetched(*place.source, place.log[0].encode())]).encode(scene.by_id[0])
    scene.table[0, t.IN_FLIGHT] = 1
    assert scene.carry(answer) == c.BUSY
    scene.table[0, t.IN_FLIGHT] = 0
    assert scene.carry(answer, free=0) == c.BUSY
    assert scene.carry(answer) == 1
