"""`sparkmirror offsets translate` says of every offset where its record stands on the other cluster, and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from sparkmirror.cli.main import app
from tests.conftest import Pair
from tests.support.flows import write_flow
from tests.support.group_rounds import KEYS, commit
from tests.support.kafka_client import Record, create_topic, produce, read_all
from tests.support.local_mirror import mirroring
from tests.support.offset_maps import write_some
from tests.support.source_logs.markers import write_markers


def translate(file: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    done = CliRunner().invoke(app, ["offsets", "translate", str(file), *arguments, "--json"])
    return done.exit_code, json.loads(done.stdout)


def next_value(log: list[Record], offset: int) -> bytes | None:
    return next((record.value for record in log if record.offset >= offset), None)


def test_offsets_of_a_group_become_those_of_the_same_records(pair: Pair, topic: str, tmp_path: Path) -> None:
    """Partition 0 has equal offsets, partition 1 not."""
    create_topic(pair.source, topic, 2)
    create_topic(pair.source, f"other-{topic}")
    file = write_flow(tmp_path, pair.source, pair.target, topic, KEYS | {"offsets.preserve.max.hole": "200"})
    write_markers(pair.source, topic, 300, partition=1)
    write_some(pair.source, topic, 12)
    with mirroring(file) as mirror:
        mirror.await_topics(2)
        mirror.catch_up(topic)
        assert [bool(mirror.hints[topic, p].translated) for p in (0, 1)] == [False, True]
        remote = f"{mirror.flow.source.alias}.{topic}"
    source, target = read_all(pair.source, topic), read_all(pair.target, remote)
    hole = next(a.offset + 1 for a, b in zip(source[0], source[0][1:], strict=False) if b.offset > a.offset + 1)
    for first, second in ((0, 1), (hole, source[1][-1].offset), (source[0][5].offset, source[1][-1].offset + 1)):
        commit(pair.source, topic, {(topic, 0): first, (topic, 1): second})
        code, found = translate(file, "--group", topic)
        assert code == 0 and found["to_cluster"] == "B"
        assert [(row["offset"], row["to_topic"], row["exact"]) for row in found["rows"]] == [
            (first, remote, True),
            (second, remote, True),
        ]
        for row in found["rows"]:
            p = row["partition"]
            assert next_value(target[p], row["to_offset"]) == next_value(source[p], row["offset"])
    commit(pair.target, topic, {(remote, 0): target[0][7].offset, (remote, 1): target[1][-1].offset + 1})
    code, found = translate(file, "--group", topic, "--reverse")
    assert (code, found["from_cluster"]) == (0, "B")
    for row in found["rows"]:
        p = row["partition"]
        assert (row["to_topic"], row["exact"]) == (topic, True)
        assert next_value(source[p], row["to_offset"]) == next_value(target[p], row["offset"])
    _, found = translate(file, "--topic", remote, "--partition", "1", "--offset", str(target[1][3].offset), "--reverse")
    assert next_value(source[1], found["rows"][0]["to_offset"]) == target[1][3].value

    produce(pair.source, topic, ({"value": b"late", "partition": 0} for _ in range(50)))
    commit(pair.source, topic, {(topic, 0): source[0][-1].offset + 40, (f"other-{topic}", 0): 0})
    done = CliRunner().invoke(app, ["offsets", "translate", str(file), "--group", topic])
    assert done.exit_code == 1 and done.stderr == ""
    title, heads, *rows = done.stdout.splitlines()
    assert title == f"{mirror.flow.name}: from {mirror.flow.source.alias} to B, group {topic}"
    assert heads.split() == ["FROM", "OFFSET", "TO", "TO_OFFSET", "EXACT", "WHY"]
    assert [row.split()[0] for row in rows] == [f"other-{topic}-0", f"{topic}-0", f"{topic}-1"]
    assert "no     this flow does not mirror it" in rows[0]
    assert "no     not mirrored yet" in rows[1] and " yes" in rows[2]
    code, found = translate(file, "--group", f"nobody-{topic}")
    assert (code, found["rows"]) == (1, [])
