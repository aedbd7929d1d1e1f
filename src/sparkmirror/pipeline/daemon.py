"""Spark's Python daemon, with the copy loaded and its kernels compiled before the first worker is forked.

Spark forks a worker for each task slot from one daemon. What the daemon has imported, they share: their memory, and
seconds of CPU each.
"""

from __future__ import annotations

import gc

import pandas as _pandas  # noqa: F401 - pyarrow loads it with its first array, and so would every worker
from pyspark import daemon
from pyspark import worker as _worker  # noqa: F401

from sparkmirror.copy.lane.warm import warm_up
from sparkmirror.core_dumps import forbid_core_dumps
from sparkmirror.pipeline.copy_stage import copy_leases as _copy_leases  # noqa: F401


def serve() -> None:
    """Fork workers on demand. No collection of garbage visits what they share, which would make it their own."""
    forbid_core_dumps()
    gc.collect()
    gc.freeze()
    daemon.manager()


if __name__ == "__main__":
    warm_up()
    serve()
