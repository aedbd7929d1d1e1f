"""What hypothesis draws for records."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.support.records import Record

INT64 = st.integers(-(2**63), 2**63 - 1)
PAYLOADS = st.none() | st.binary(max_size=70) | st.builds(bytes, st.sampled_from((127, 128, 8191, 8192)))
TIMESTAMPS = st.integers(1_700_000_000_000, 1_700_000_100_000) | INT64 | st.sampled_from((-1, 2**63 - 1, -(2**63)))
HEADERS = st.lists(
    st.tuples(st.text("aé€😀", max_size=5).map(str.encode), st.none() | st.binary(max_size=70)), max_size=3
).map(tuple)


@st.composite
def record_lists(draw: Any, *, min_size: int = 0, dense: bool = False) -> list[Record]:
    """Records with increasing offsets; `dense` ones have no holes between them."""
    steps = draw(st.lists(st.just(1) if dense else st.integers(1, 300), min_size=min_size, max_size=12))
    offset = draw(st.sampled_from((0, 5, 2**40)))
    records = []
    for step in steps:
        records.append(Record(offset, draw(TIMESTAMPS), draw(PAYLOADS), draw(PAYLOADS), draw(HEADERS)))
        offset += step
    return records
