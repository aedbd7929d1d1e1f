"""One lease after the other in a process of its own, to be killed: what a Spark task does, without Spark.

    python -m tests.support.lease_process SOURCE TARGET TOPIC PRODUCER_ID SECONDS UNGUARDED_WAIT_S LEASES FILL_WITH

No lease is told where the last one stood: each finds its position in the target's log. Prints a line when a
lease begins to copy.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from sparkmirror.copy.lease import MARKERS, Rules
from tests.support.leases import follow_lease

ROOT = Path(__file__).parents[2]


def start_lease_process(
    source: str,
    target: str,
    topic: str,
    producer_id: int,
    *,
    seconds: float = 2.0,
    unguarded_wait_s: float = 0.0,
    leases: int = 1_000_000,
    fill_with: str = MARKERS,
) -> subprocess.Popen[str]:
    arguments = [source, target, topic, str(producer_id), str(seconds), str(unguarded_wait_s), str(leases), fill_with]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.lease_process", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def main() -> None:
    source, target, topic, producer_id, seconds, unguarded_wait_s, leases, fill_with = sys.argv[1:]
    for _ in range(int(leases)):
        print("lease", flush=True)
        facts = follow_lease(
            source,
            target,
            topic,
            int(producer_id),
            seconds=float(seconds),
            rules=Rules(fill_with=fill_with),
            unguarded_wait_s=float(unguarded_wait_s),
        ).facts
        if facts:
            print(facts, flush=True)


if __name__ == "__main__":
    main()
