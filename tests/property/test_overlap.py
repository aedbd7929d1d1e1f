"""The overlap of what was written and what comes, against trying every length."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sparkmirror.copy.overlap import longest_overlap

few = st.lists(st.integers(0, 2), max_size=12)


@given(few, few)
def test_it_is_the_longest(written: list[int], coming: list[int]) -> None:
    tried = [n for n in range(min(len(written), len(coming)) + 1) if written[len(written) - n :] == coming[:n]]
    assert longest_overlap(written, coming) == max(tried)
