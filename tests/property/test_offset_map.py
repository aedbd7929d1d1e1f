"""The offset map against a plain one: a dictionary of every record's two offsets."""

from __future__ import annotations

import bisect

import hypothesis.strategies as st
import pytest
from hypothesis import given

from sparkmirror.offsets.offset_map import OffsetMap, Translated, equal_map
from sparkmirror.offsets.runs import Chunk, encode_chunk, parse_chunk, parse_span, span_of
from sparkmirror.topology.run import Run

# (hole in the source before it, what others wrote in the target before it, records)
steps = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(1, 7)), min_size=1, max_size=60)


def lay_out(pieces: list[tuple[int, int, int]], source: int, target: int) -> list[Run]:
    runs: list[Run] = []
    for hole, others, count in pieces:
        source, target = source + hole, target + others
        run = Run(source, target, count)
        if runs and runs[-1].goes_on_with(run):
            runs[-1] = runs[-1]._replace(length=runs[-1].length + count)
        else:
            runs.append(run)
        source, target = run.source_end, run.target_end
    return runs


def build(runs: list[Run], size: int, *, equal_end: int, trailing: int) -> OffsetMap:
    chunks = [parse_chunk(encode_chunk(Chunk.of(runs[i : i + size]))) for i in range(0, len(runs), size)]
    return OffsetMap(
        equal_end=equal_end,
        source_end=runs[-1].source_end + trailing,
        target_end=runs[-1].target_end,
        spans=[span_of(chunk) for chunk in chunks],
        load=chunks.__getitem__,
    )


@given(steps, st.integers(0, 20), st.integers(0, 3), st.integers(1, 5), st.integers(0, 4))
def test_every_offset_leads_to_the_same_or_the_next_record(
    pieces: list[tuple[int, int, int]], equal_end: int, shift: int, size: int, trailing: int
) -> None:
    runs = lay_out(pieces, equal_end + shift, equal_end)
    pairs = [(i, i) for i in range(equal_end)]
    pairs += [(run.source + i, run.target + i) for run in runs for i in range(run.length)]
    sources, targets = [s for s, _ in pairs], [t for _, t in pairs]
    found = build(runs, size, equal_end=equal_end, trailing=trailing)
    for source in range(runs[-1].source_end + trailing + 1):
        index = bisect.bisect_left(sources, source)
        expected = targets[index] if index < len(targets) else runs[-1].target_end
        assert found.to_target(source) == Translated(expected)
    for target in range(runs[-1].target_end):
        assert found.to_source(target) == Translated(sources[bisect.bisect_left(targets, target)])
    assert found.to_source(runs[-1].target_end) == Translated(runs[-1].source_end + trailing)
    assert found.to_target(runs[-1].source_end + trailing + 1) == Translated(runs[-1].target_end, is_exact=False)


@given(steps, st.integers(0, 1 << 50))
def test_a_chunk_survives_its_bytes(pieces: list[tuple[int, int, int]], first: int) -> None:
    runs = lay_out(pieces, first, first // 2)
    value = encode_chunk(Chunk.of(runs))
    assert list(parse_chunk(value).runs()) == runs
    assert parse_span(value) == span_of(Chunk.of(runs))


@given(st.binary(max_size=200))
def test_bytes_that_are_no_chunk_are_refused(value: bytes) -> None:
    with pytest.raises(ValueError, match="offset map"):
        parse_chunk(value)


def test_equal_offsets_are_clamped_at_the_end() -> None:
    found = equal_map(100)
    assert found.to_target(42) == Translated(42)
    assert found.to_target(100) == Translated(100)
    assert found.to_target(101) == Translated(100, is_exact=False)
    assert found.to_source(99) == Translated(99)


def test_what_somebody_else_copied_is_not_guessed() -> None:
    chunk = Chunk.of([Run(50, 70, 10)])
    found = OffsetMap(
        equal_end=0, source_end=60, target_end=80, spans=[span_of(chunk)], load=lambda _: chunk, begins_known=False
    )
    assert found.to_target(49) is None
    assert found.to_source(69) is None
    assert found.to_target(50) == Translated(70)


def test_the_end_is_known_whoever_copied_what_is_before_it() -> None:
    found = OffsetMap(equal_end=0, source_end=60, target_end=80, begins_known=False)
    assert found.to_target(59) is None and found.to_source(79) is None
    assert found.to_target(60) == Translated(80) and found.to_source(80) == Translated(60)
    assert found.to_target(61) == Translated(80, is_exact=False)
