"""How long a source broker may keep a lane's fetch, and for how many bytes. Pure kernels.

    nothing arrives           50 ms, 100 ms, ... 2 s: the first byte answers
    records now and then      the same
    records all the time      the latency target, or as many bytes as come in three quarters of it, if these are there
                              earlier; of much traffic, 24 KB and as many as come in an eighth of it
    a flood                   20 ms, or 2 MB

So a record on its own is never waited with, and how often a lane is woken up follows from the target, whatever the
producers' batches are. Bytes, since an answer that goes out with a batch keeps none waiting, where one that goes out by
the clock comes half a batch late. Less time for much traffic: records of a producer that fills a batch in a millisecond
are not used to waiting; those of one that needs several, or waits for records before it sends, are.
"""

from __future__ import annotations

from sparkmirror.batch.kernel import kernel
from sparkmirror.copy.lane.table import Table
from sparkmirror.copy.lease import Bounds
from sparkmirror.copy.pace import FIRST_WAIT_MS, GATHERING_WAIT_MS, LONGEST_WAIT_MS

MUCH_BYTES, MOST_BYTES, STEP_BYTES = 24 << 10, 1 << 20, 8 << 10
FLOOD_BYTES, FLOOD_GATHER_BYTES, FLOOD_MS = 512 << 10, 2 << 20, 20
QUICK_MS = 5

# What was asked for, then what is known of the traffic. RATE: bytes a ms, AT: of the last answer.
TARGET_MS, LONGEST, WANTED, WANTED_MS, WAIT_MS, IS_QUICK, IS_FLOOD, RATE, AT = range(9)
COLUMNS = 9
_NS_PER_MS = 1_000_000


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
    since = max(_NS_PER_MS // 10, now_ns - row[AT])
    row[AT] = now_ns
    row[RATE] = (3 * row[RATE] + size * _NS_PER_MS // since) // 4
    row[IS_QUICK] = has_records and (row[IS_QUICK] or took_ns < max(QUICK_MS, row[TARGET_MS]) * _NS_PER_MS)
    row[IS_FLOOD] = size >= FLOOD_BYTES and took_ns < waited_ms * _NS_PER_MS


@kernel
def plan_fetch(row: Table) -> tuple[int, int]:
    """For how many ms the next fetch may wait, and for how many bytes."""
    if row[WANTED] > 1:
        return int(row[WANTED_MS]), int(row[WANTED])
    if row[IS_FLOOD]:
        row[WAIT_MS] = FIRST_WAIT_MS
        return int(min(FLOOD_MS, row[LONGEST])), int(FLOOD_GATHER_BYTES)
    if row[IS_QUICK]:
        row[WAIT_MS] = FIRST_WAIT_MS
        in_target = row[RATE] * row[TARGET_MS]
        least = min((MUCH_BYTES + in_target // 8) // STEP_BYTES * STEP_BYTES, in_target * 3 // 4, MOST_BYTES)
        return int(min(row[TARGET_MS], row[LONGEST])), int(max(1, least))
    wait_ms = min(row[WAIT_MS], row[LONGEST])
    row[WAIT_MS] = min(2 * row[WAIT_MS], row[LONGEST])
    return int(wait_ms), 1
