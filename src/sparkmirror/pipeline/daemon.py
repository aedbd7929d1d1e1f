"""Spark's Python daemon, with the copy loaded and its kernels compiled before the first worker is forked.

Spark forks a worker for each task slot from one daemon. What the daemon has imported, they share: their memory, and
seconds of CPU each.
"""

from __future__ import annotations

from pyspark import daemon

from sparkmirror.batch.warm import warm_up
from sparkmirror.pipeline.copy_stage import copy_stage as _copy_stage  # noqa: F401 - loaded for the workers

if __name__ == "__main__":
    warm_up()
    daemon.manager()
