"""Consumer groups in random lives of a mirror on paper: see `model.py` for what must hold, SEED for another."""

from __future__ import annotations

import os

from tests.consumers.paper_story import live_many

SEED = int(os.environ.get("SEED", "1"))
HISTORIES = 800


def test_no_group_skips_a_record_or_reads_one_again_whatever_happens() -> None:
    counts = live_many(range(SEED, SEED + HISTORIES))
    print(f"histories from {SEED} on: {dict(counts)}")
    happened = ("commits", "checkpoints", "exact", "failover done", "failover away done", "failback done", "moved")
    assert all(counts[each] > 100 for each in happened)
