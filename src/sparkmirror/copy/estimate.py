"""Guesses how many offsets of a source partition are holes, from samples, before the first append decides."""

from __future__ import annotations

import numpy as np

from sparkmirror.batch import scan
from sparkmirror.net.cluster import Cluster, TopicInfo
from sparkmirror.net.log import fetch_partition

SAMPLES = 8
SAMPLE_BYTES = 64 << 10


def estimate_holes(cluster: Cluster, topic: TopicInfo, partition: int, start: int, end: int, isolation: int) -> int:
    """Holes between `start` and `end`: those that the samples cover, and their share of the rest."""
    seen = records = 0
    covered = start
    for index in range(SAMPLES):
        at = start + (end - start) * index // SAMPLES
        if at < covered:
            continue
        fetched = fetch_partition(cluster, topic, partition, at, max_bytes=SAMPLE_BYTES, isolation=isolation)
        if fetched.error or not len(fetched.records):
            continue
        found = scan.scan_batches(
            np.frombuffer(fetched.records, np.uint8), at, high_watermark=fetched.high_watermark, aborted=fetched.aborted
        )
        rows = found.rows[(found.rows[:, scan.KIND] == scan.PASS) | (found.rows[:, scan.KIND] == scan.REWRITE)]
        covered = found.end
        seen += found.end - at
        records += int(np.minimum(rows[:, scan.COUNT], found.end - at).sum())
    holes_seen = max(0, seen - records)
    return holes_seen + (holes_seen * max(0, end - start - seen) // seen if seen else 0)
