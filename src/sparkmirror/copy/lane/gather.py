"""How long a source broker may keep a lane's fetch, and for how many bytes. Pure kernels.

    nothing arrives           50 ms, 100 ms, ... 2 s: the first byte answers
    records now and then      the same
    records all the time      the latency target, or as many bytes as come in it, if these are there earlier;
                              of much traffic, 22 KB and as many as come in a sixth of it
    a flood                   20 ms, or 2 MB

So a record on its own is never waited with, and how often a lane is woken up follows from the target, whatever the
producers' batches are: what an answer brings beyond what was wished for counts for the next. Bytes, since an answer
that goes out with a batch keeps none waiting, where one that goes out by the clock comes half a batch late. Less time
for much traffic: records of a producer that fills a batch in a millisecond are not used to waiting; those of one that
needs several, or waits for records before it sends, are.
"""

from __future__ import annotations

from sparkmirror.batch.kernel import kernel
from sparkmirror.copy.lane.table import Table
from sparkmirror.copy.lease import Bounds
from sparkmirror.copy.pace import FIRST_WAIT_MS, GATHERING_WAIT_MS, LONGEST_WAIT_MS

MUCH_BYTES, MOST_BYTES = 22 << 10, 1 << 20
FLOOD_BYTES, FLOOD_GATHER_BYTES, FLOOD_MS = 512 << 10, 2 << 20, 20
QUICK_MS = 5

# What was asked for, then what is known of the traffic. AT: of the last records; BYTES, SPAN_NS: of several answers
# with records, the last of which counts most; WISHED: by the last fetch of a steady flow; SURPLUS: what came beyond it.
TARGET_MS, LONGEST, WANTED, WANTED_MS, WAIT_MS, IS_QUICK, IS_FLOOD, BYTES, SPAN_NS, AT, WISHED, SURPLUS = range(12)
COLUMNS = 12
_NS_PER_MS = 1_000_000
MOST_SPAN_NS = 100 * _NS_PER_MS  # that one answer counts for: what comes after a silence is soon known


def plan_gathering(bounds: Bounds, now_ns: int) -> list[int]:
    row = [0] * COLUMNS
    row[TARGET_MS] = bounds.latency_ms
    row[LONGEST] = LONGEST_WAIT_MS if bounds.fetch_wait_ms is None else bounds.fetch_wait_ms
    row[WANTED] = bounds.fetch_min_bytes or 1
    row[WANTED_MS] = GATHERING_WAIT_MS if bounds.fetch_wait_ms is None else bounds.fetch_wait_ms
    row[WAIT_MS], row[AT] = FIRST_WAIT_MS, now_ns
    return row


@kernel
def note_answer(row: Table, size: int, has_records: bool, took_ns: int, waited_ms: int, now_ns: int) -> None:
    """Who gathers goes on with it until nothing comes. `waited_ms`: for so long it might have been waited."""
    if has_records:
        since = now_ns - row[AT]
        row[BYTES] = (3 * row[BYTES] + size) // 4
        row[SPAN_NS] = (3 * row[SPAN_NS] + min(since, MOST_SPAN_NS)) // 4
        row[AT] = now_ns
        row[SURPLUS] = max(0, min(row[SURPLUS] + size - row[WISHED], row[WISHED] - 1))
        row[IS_QUICK] = row[IS_QUICK] or since < max(QUICK_MS, row[TARGET_MS]) * _NS_PER_MS
    else:
        row[IS_QUICK] = row[SURPLUS] = 0
    row[IS_FLOOD] = size >= FLOOD_BYTES and took_ns < waited_ms * _NS_PER_MS


@kernel
def plan_fetch(row: Table) -> tuple[int, int]:
    """For how many ms the next fetch may wait, and for how many bytes."""
    if row[WANTED] > 1:
        return int(row[WANTED_MS]), int(row[WANTED])
    if row[IS_FLOOD]:
        row[WISHED], row[WAIT_MS] = 0, FIRST_WAIT_MS
        return int(min(FLOOD_MS, row[LONGEST])), int(FLOOD_GATHER_BYTES)
    if row[IS_QUICK]:
        row[WAIT_MS] = FIRST_WAIT_MS
        in_target = row[BYTES] * row[TARGET_MS] * _NS_PER_MS // max(_NS_PER_MS // 10, row[SPAN_NS])
        row[WISHED] = max(1, min(MUCH_BYTES + in_target // 6, in_target, MOST_BYTES))
        return int(min(row[TARGET_MS], row[LONGEST])), int(max(1, row[WISHED] - row[SURPLUS]))
    row[WISHED] = 0
    wait_ms = min(row[WAIT_MS], row[LONGEST])
    row[WAIT_MS] = min(2 * row[WAIT_MS], row[LONGEST])
    return int(wait_ms), 1
