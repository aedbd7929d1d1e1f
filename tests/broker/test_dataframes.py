"""What a user's Spark session gets from the `sparkmirror` format, and what it is told when it asks for too much."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Pair
from tests.support.java_reader import JavaReader
from tests.support.kafka_client import create_topic, produce
from tests.support.source_logs.write import now_ms

JOB = Path(__file__).parents[1] / "support" / "dataframe_job.py"
COUNT = 100


@pytest.mark.long
@pytest.mark.timeout(240)
def test_a_session_reads_and_writes_topics(pair: Pair, topic: str, tmp_path: Path, java_reader: JavaReader) -> None:
    create_topic(pair.source, topic, 2)
    now = now_ms()  # older ones would be removed by retention
    headers = [("h", b"1"), ("h", None)]
    rows = [
        {"value": b"v%d" % i, "partition": i % 2, "timestamp": now + i, "headers": headers} for i in range(2 * COUNT)
    ]
    produce(pair.source, topic, rows)
    for name in ("spread", "preserved"):
        create_topic(pair.target, f"{topic}-{name}", 2)
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    arguments = [sys.executable, str(JOB), pair.source, pair.target, topic, str(tmp_path)]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads((tmp_path / "found.json").read_text())

    assert found["schema"] == (
        "struct<topic:string,partition:int,offset:bigint,timestamp:bigint,timestamp_type:int,key:binary,value:binary,"
        "headers:array<struct<key:string,value:binary>>>"
    )
    expected = sorted((i % 2, i // 2, now + i, f"v{i}") for i in range(2 * COUNT))
    assert [tuple(row) for row in found["rows"]] == expected
    assert found["preserved"] == "written"
    for partition, log in java_reader.read(pair.target, f"{topic}-preserved").items():
        wanted = [(offset, b"v%d" % (2 * offset + partition)) for offset in range(1, COUNT, 2)]
        assert [(r.offset, r.value) for r in log.records] == wanted
        assert all(r.headers == tuple(headers) for r in log.records)
    # Whichever is seen first: by the second task, or when all have ended.
    assert re.search(r"-spread-0.*repartition by topic\s+and partition", found["spread"], re.DOTALL), found["spread"]
    assert "set name" in found["unnamed"]
