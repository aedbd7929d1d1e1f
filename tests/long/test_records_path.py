"""The record way on Spark: the same logs as the batch way."""

from __future__ import annotations

import pytest

from tests.conftest import Pair
from tests.support.java_reader import JavaReader
from tests.support.mirror_process import MirrorProcess, properties
from tests.support.same_log import assert_same_log
from tests.support.source_logs import (
    make_compacted,
    make_every_codec,
    make_late_start,
    make_odd_records,
    make_transactions,
)

pytestmark = pytest.mark.timeout(300)


def test_both_ways_give_the_same_logs(pair: Pair, topic: str, java_reader: JavaReader) -> None:
    """R is the same cluster as A: one flow takes the batch way, the other the record way."""
    names = {kind: f"{topic}-{kind}" for kind in ("transactions", "compacted", "codecs", "odd", "late")}
    make_transactions(pair.source, names["transactions"], transactions=80, aborted_share=0.4)
    make_compacted(pair.source, names["compacted"])
    make_every_codec(pair.source, names["codecs"])
    make_odd_records(pair.source, names["odd"])
    make_late_start(pair.source, names["late"])
    extra = {
        "clusters": "A, R, B",
        "R.bootstrap.servers": pair.source,
        "R->B.enabled": "true",
        "R->B.topics": f"{topic}.*",
        "R->B.pipeline.path": "records",
    }
    with MirrorProcess(properties(pair.source, pair.target, f"{topic}.*", extra), "--once") as mirror:
        assert mirror.wait(120) == 0, mirror.log()
        assert mirror.status()["records"] > 0
    for kind, name in names.items():
        for alias in "AR":
            assert_same_log(
                java_reader,
                pair.source,
                name,
                pair.target,
                f"{alias}.{name}",
                mirrored="read_committed",
                compacted=kind == "compacted",
                beginnings=True,
                ends=kind != "compacted",
            )
