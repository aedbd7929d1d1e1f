"""The comparison finds what a naive one finds, however both sides have packed their records into batches."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkmirror.offsets.offset_map import OffsetMap
from sparkmirror.offsets.runs import Chunk, span_of
from sparkmirror.topology.run import pair_up
from sparkmirror.verify.by_key import compare_latest
from sparkmirror.verify.compare import Comparison, compare
from sparkmirror.verify.places import EqualPlaces, MappedPlaces, Places
from sparkmirror.verify.side import Side
from sparkmirror.verify.stretch import Stretch, stretches_of
from tests.support.codecs import COMPRESSED
from tests.support.logs import START_MS, SourceBatch, aborted_transactions, copyable, make_log
from tests.support.records import Record

ANY = 1 << 60
PLANTS = ("changed", "missing", "extra", "swapped", "header", "timestamp")
SEEDS = st.integers(0, 2**32)


def side(
    batches: Sequence[SourceBatch], dice: random.Random, *, only: int | None = None, is_target: bool = False
) -> Side:
    """As fetches bring it, each of some batches."""

    def fetches() -> list[Stretch]:
        found: list[Stretch] = []
        position, left = 0, list(batches)
        while left:
            taken, left = left[: (n := dice.randint(1, 8))], left[n:]
            data = np.frombuffer(b"".join(batch.encode() for batch in taken), np.uint8)
            aborted = aborted_transactions(batches, position)
            some, position = stretches_of(data, position, stop_at=ANY, aborted=aborted, only_producer=only)
            found += some
        return found

    return Side(fetches(), 0, ANY, is_target=is_target)


def pack(records: Sequence[Record], dice: random.Random, producer: int = 9) -> list[SourceBatch]:
    """Into batches of any size; like the mirror's, without missing offsets inside."""
    batches: list[SourceBatch] = []
    run: list[Record] = []
    codec = dice.choice([0, 0, *COMPRESSED])
    for record in [*records, None]:
        ends = record is None or (run and (record.offset != run[-1].offset + 1 or dice.random() < 0.05))
        if run and ends:
            width = len(run) - 1
            batches.append(
                SourceBatch(
                    first=run[0].offset, last_delta=width, records=tuple(run), codec=codec, producer_id=producer
                )
            )
            run, codec = [], dice.choice([0, 0, *COMPRESSED])
        if record is not None:
            run.append(record)
    return batches


def renumber(records: Sequence[Record], dice: random.Random) -> list[Record]:
    """At other offsets, in the same order, with room for others' records between."""
    offset, out = dice.choice([0, 100]), []
    for record in records:
        offset += dice.choice([1, 1, 1, 1, 5])
        out.append(record._replace(offset=offset))
    return out


def map_of(source: Sequence[Record], target: Sequence[Record]) -> OffsetMap:
    runs = pair_up([(r.offset, 1) for r in source], [(r.offset, 1) for r in target])
    chunk = Chunk.of(runs)
    return OffsetMap(
        equal_end=0,
        source_end=source[-1].offset + 1 if source else 0,
        target_end=target[-1].offset + 1 if target else 0,
        spans=[span_of(chunk)] if runs else [],
        load=lambda _: chunk,
    )


def plain_records(dice: random.Random, count: int) -> list[Record]:
    """Some equal to their neighbours, so that a place is not told by content alone."""
    return [
        Record(
            i,
            START_MS + dice.choice([i, 0]),
            dice.choice([b"key", b"%d" % i]),
            dice.choice([b"same", b"value %d" % i]),
            dice.choice([(), ((b"h", b"%d" % i),)]),
        )
        for i in range(count)
    ]


def plant(kind: str, records: Sequence[Record], at: int) -> list[Record]:
    """The record at index `at` treated so; all others keep their offsets."""
    out = list(records)
    here = out[at]
    if kind == "changed":
        out[at] = here._replace(value=b"planted")
    elif kind == "header":
        out[at] = here._replace(headers=((b"planted", b"1"), *here.headers))
    elif kind == "timestamp":
        out[at] = here._replace(timestamp=here.timestamp + 1)
    elif kind == "missing":
        del out[at]
    elif kind == "swapped":
        out[at], out[at + 1] = out[at + 1]._replace(offset=here.offset), here._replace(offset=out[at + 1].offset)
    return out


@given(SEEDS)
def test_a_faithful_copy_of_any_log_shows_no_difference(seed: int) -> None:
    """Transactions, compacted batches, missing offsets, the broker's timestamps; merged, split and recompressed."""
    dice = random.Random(seed)
    log = make_log(seed)
    records = copyable(log, committed=True)
    found = compare(side(log, dice), side(pack(records, dice), dice, is_target=True), EqualPlaces())
    assert found == Comparison(records=len(records))
    there = renumber(records, dice)
    found = compare(side(log, dice), side(pack(there, dice), dice), MappedPlaces(map_of(records, there), 9))
    assert found == Comparison(records=len(records))


@settings(max_examples=40)
@given(SEEDS)
def test_others_records_between_the_mirror_s_are_left_out(seed: int) -> None:
    dice = random.Random(seed)
    records = plain_records(dice, dice.randint(1, 300))
    ours = renumber(records, dice)
    taken = {record.offset for record in ours}
    others = [Record(o, 1, None, b"other") for o in range(ours[0].offset, ours[-1].offset) if o not in taken]
    batches = sorted([*pack(ours, dice, 7), *pack(others, dice, 8)], key=lambda batch: batch.first)
    places = MappedPlaces(map_of(records, ours), 7)
    found = compare(side(pack(records, dice), dice), side(batches, dice), places)
    assert found == Comparison(records=len(records), others=len(others))
    found = compare(side(pack(records, dice), dice), side(batches, dice, only=7), places)
    assert found == Comparison(records=len(records))


@given(SEEDS, st.sampled_from(PLANTS), st.booleans())
def test_a_planted_difference_is_named_at_its_place(seed: int, kind: str, translated: bool) -> None:
    dice = random.Random(seed)
    records = plain_records(dice, dice.randint(3, 400))
    at = dice.randrange(len(records) - 1)
    if kind == "swapped":  # two that differ
        records[at] = records[at]._replace(value=b"first of two")
    number: Callable[[int], int] = (lambda offset: offset + 3) if translated else (lambda offset: offset)
    there = [record._replace(offset=number(record.offset)) for record in records]
    if kind == "extra":
        del records[at]
    mirrored = there[:at] + there[at + 1 :] if kind == "extra" else there
    places: Places = MappedPlaces(map_of(records, mirrored), 9) if translated else EqualPlaces()
    there = plant(kind, there, at)
    found = compare(side(pack(records, dice), dice), side(pack(there, dice), dice), places)
    (only,) = found.found
    assert only.kind == (kind if kind in ("missing", "extra", "swapped") else "changed")
    assert only.source == (None if kind == "extra" else at)
    assert only.target == (None if kind == "missing" else number(at))
    if kind == "header":
        assert [f.name.split()[0] for f in only.fields] == ["header"] * len(only.fields)
    if kind == "timestamp":
        assert [f.name for f in only.fields] == ["timestamp"]


@settings(max_examples=40)
@given(SEEDS, st.sampled_from(("missing", "extra")))
def test_a_record_too_few_or_too_many_is_named_though_all_behind_it_have_moved(seed: int, kind: str) -> None:
    dice = random.Random(seed)
    records = plain_records(dice, dice.randint(10, 1000))
    at = dice.randrange(len(records) - 5)
    records[at] = records[at]._replace(key=b"planted")  # else nobody could say which of two equal ones is missing
    if dice.random() < 0.5:
        records[at + 2] = records[at]._replace(offset=at + 2)
    there = list(records)
    if kind == "missing":
        del there[at]
    else:
        there.insert(at, Record(0, 0, b"x", b"extra"))
    there = [record._replace(offset=i) for i, record in enumerate(there)]
    found = compare(side(pack(records, dice), dice), side(pack(there, dice), dice), EqualPlaces())
    first, *rest = found.found
    assert (first.kind, first.source, first.target) == (kind, *((at, None) if kind == "missing" else (None, at)))
    assert [d.kind for d in rest] == ["moved"]
    assert found.records == len(records) - (kind == "missing")


@given(SEEDS)
def test_any_two_logs_are_equal_only_if_a_naive_comparison_says_so(seed: int) -> None:
    dice = random.Random(seed)
    records = plain_records(dice, dice.randint(1, 60))
    there = records
    for _ in range(dice.choice([0, 1, 2, 5])):
        if len(there) > 2:
            there = plant(dice.choice(PLANTS), there, dice.randrange(len(there) - 1))
    there = sorted({record.offset: record for record in there}.values())
    found = compare(side(pack(records, dice), dice), side(pack(there, dice), dice), EqualPlaces())
    assert bool(found.found) == (records != there)
    left, right = ({r.offset: r for r in rows} for rows in (records, there))
    naive = {o for o in left.keys() | right.keys() if left.get(o) != right.get(o)}
    named = {d.source if d.source is not None else d.target for d in found.found}
    assert named <= naive and (not naive or min(naive) in named)


@settings(max_examples=30)
@given(SEEDS, st.integers(3, 6))
def test_latest_records_are_compared_as_a_naive_comparison_does_it(seed: int, slots: int) -> None:
    """Each side cleaned at its own time and with newer records; in a table so small that keys go by classes."""
    dice = random.Random(seed)
    values = [None, b"a", b"b"]
    log = [Record(i, START_MS + i, b"%d" % dice.randrange(30), dice.choice(values)) for i in range(150)]
    end = dice.choice([100, 150])
    copied = dice.randint(end, len(log))  # no tombstone is removed before it is copied
    source, target = clean(log, dice, copied), clean(log[:copied], dice, copied)
    planted = dice.random() < 0.5
    if planted:
        at = dice.randrange(len(target))
        target[at] = target[at]._replace(value=b"planted")

    def open_sides() -> tuple[Side, Side]:
        here, there = (side(pack(rows, dice), dice) for rows in (source, target))
        here.end = there.end = end
        return here, there

    found = compare_latest(open_sides, EqualPlaces(), seed=seed, slots=1 << slots)
    left, right = ({r.key: r for r in rows if r.offset < end} for rows in (source, target))
    naive = set()
    for key in left.keys() | right.keys():
        here, there = (None if r is None or r.value is None else r for r in (left.get(key), right.get(key)))
        is_superseded = any(r.key == key and r.offset >= end for r in (*source, *target))
        in_place = left.get(key, NOTHING).offset == right.get(key, NOTHING).offset
        if here != there and (in_place or not is_superseded):
            naive.add((left.get(key, NOTHING).offset, right.get(key, NOTHING).offset))
    named = {tuple(-1 if o is None else o for o in (d.source, d.target)) for d in found.found}
    assert named == naive
    assert planted or not found.found


NOTHING = Record(-1, 0, None, None)


def clean(log: Sequence[Record], dice: random.Random, most: int) -> list[Record]:
    """As a cleaner leaves it that has come up to some place, with or without tombstones."""
    reached = dice.randint(0, most)
    latest = {record.key: record.offset for record in log[:reached]}
    removes = dice.random() < 0.5
    return [r for r in log if r.offset >= reached or (latest[r.key] == r.offset and not (removes and r.value is None))]
