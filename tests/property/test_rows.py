"""Whatever a log holds, its rows are the records that a consumer would get; encoded again they are the same."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkmirror.batch.build import seal
from sparkmirror.batch.codec import decompress
from sparkmirror.batch.decode_fetch import decode_fetch
from sparkmirror.batch.encode_rows import build_runs
from sparkmirror.batch.header import HEADER_BYTES, read_header
from sparkmirror.batch.scan import scan_batches
from tests.support.arrow import from_arrow, to_arrow
from tests.support.codecs import COMPRESSED
from tests.support.logs import aborted_transactions, copyable, make_log
from tests.support.records import Record, decode_section


@settings(max_examples=200)
@given(seed=st.integers(0, 2**32), committed=st.booleans())
def test_rows_are_what_a_consumer_would_get(seed: int, committed: bool) -> None:
    log = make_log(seed)
    dice = random.Random(seed)
    begin, end = (log[0].first, log[-1].end) if log else (0, 0)
    first = dice.randint(begin, end)
    stop = dice.randint(first, end)
    data = memoryview(bytearray(b"".join(b.encode() for b in log if b.end > first)))
    aborted = aborted_transactions(log, first) if committed else ()
    found = scan_batches(np.frombuffer(data, np.uint8), first, stop_at=stop, aborted=aborted)
    rows = [record for batch in decode_fetch(data, found, first, stop) for record in from_arrow(batch)]
    assert rows == [r for r in copyable(log, committed=committed) if first <= r.offset < stop]


@settings(max_examples=100)
@given(seed=st.integers(0, 2**32), codec=st.sampled_from([0, *COMPRESSED]), limit=st.sampled_from([100, 3000, 1 << 20]))
def test_runs_have_all_rows_at_their_offsets_and_no_hole_inside(seed: int, codec: int, limit: int) -> None:
    records = copyable(make_log(seed), committed=False)
    runs = build_runs(to_arrow(records), codec=codec, limit=limit)
    assert [record for run, used in runs for record in _read(seal(run, used, 7, 0, 0), run.first)] == records
    assert all(run.records == 1 or len(run.batch) <= limit for run, used in runs if not used)


def _read(batch: memoryview, first: int) -> list[Record]:
    header = read_header(batch)
    return decode_section(
        bytes(decompress(header.codec, batch[HEADER_BYTES:])),
        first=first,
        last_delta=header.last_delta,
        count=header.records,
        base_timestamp=header.base_timestamp,
        append_time=None,
    )
