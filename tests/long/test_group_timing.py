"""Group sync in a running mirror while groups come and go: on time, and never over one that reads on the target."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.conftest import Pair
from tests.support.command import run_command
from tests.support.group_members import committed, consuming
from tests.support.group_rounds import KEYS, commit
from tests.support.kafka_client import await_condition, create_topic, end_offsets, produce
from tests.support.mirror_process import MirrorProcess, properties

INTERVAL_S = 3
RECORDS = 2000
TURNS = 5


def group_rows(mirror: MirrorProcess) -> dict[str, dict[str, Any]]:
    document = json.loads(run_command("status", str(mirror.file), "--json").stdout)
    return {row["group"]: row for row in document["flows"][0]["groups"]}


@pytest.mark.timeout(240)
def test_an_idle_group_is_synced_within_its_interval_and_an_active_one_is_left_alone(pair: Pair, topic: str) -> None:
    create_topic(pair.source, topic, 2)
    produce(pair.source, topic, ({"value": b"%d" % i, "partition": i % 2} for i in range(RECORDS)))
    idle, active, late = (f"{topic}-{name}" for name in ("idle", "active", "late"))
    for group in (idle, active):
        commit(pair.source, group, {(topic, 0): 1})
    extra = KEYS | {
        "groups": f"{topic}.*",
        "refresh.groups.interval.seconds": "1",
        "emit.checkpoints.interval.seconds": str(INTERVAL_S),
        "sync.group.offsets.interval.seconds": str(INTERVAL_S),
    }
    remote = (f"A.{topic}", 0)
    with MirrorProcess(properties(pair.source, pair.target, topic, extra)) as mirror:
        await_condition(lambda: committed(pair.target, idle, [remote])[remote] == 1, "the first sync", 90)
        with consuming(pair.target, active, remote[0]):
            waits = []
            for offset in range(10, 10 + TURNS):
                for group in (idle, active, *([late] if offset > 10 else [])):
                    commit(pair.source, group, {(topic, 0): offset})
                began = time.monotonic()
                await_condition(lambda o=offset: committed(pair.target, idle, [remote])[remote] == o, "a sync", 30)  # type: ignore[misc]
                waits.append(time.monotonic() - began)
                assert committed(pair.target, active, [remote])[remote] == 1
            await_condition(
                lambda: committed(pair.target, late, [remote])[remote] == offset, "a new group", INTERVAL_S + 3
            )
            rows = group_rows(mirror)
            assert "the group is Stable on the target, with 1 members" in rows[active]["why"]
            assert rows[active]["sync_age_seconds"] > INTERVAL_S > 0 and rows[idle]["why"] == ""
            ages = {group: row["checkpoint_age_seconds"] for group, row in rows.items()}
            assert max(ages.values()) < INTERVAL_S + 7, "the last rounds are noted every five seconds"
        await_condition(lambda: committed(pair.target, active, [remote])[remote] == offset, "it left", INTERVAL_S + 3)

        # At the source's end while records still come: never past the end of the target.
        for turn in range(TURNS):
            produce(pair.source, topic, ({"value": b"x" * 2000, "partition": 0} for _ in range(5 * RECORDS)))
            end = end_offsets(pair.source, topic)[0]
            commit(pair.source, idle, {(topic, 0): end})
            there = committed(pair.target, idle, [remote])[remote]
            assert there <= end_offsets(pair.target, remote[0])[0], f"turn {turn}"
        await_condition(lambda: committed(pair.target, idle, [remote])[remote] == end, "the end", 30)
    print(f"\nsynced after {', '.join(f'{wait:.1f}' for wait in waits)} s, every {INTERVAL_S} s; ages {ages}")
    assert max(waits) < INTERVAL_S + 2


@pytest.mark.timeout(180)
def test_a_run_that_ends_when_all_is_copied_leaves_groups_where_they_are(pair: Pair, topic: str) -> None:
    """Migrating now and then: what `--once` copied, its groups have read."""
    create_topic(pair.source, topic, 2)
    produce(pair.source, topic, ({"value": b"%d" % i, "partition": i % 2} for i in range(RECORDS)))
    commit(pair.source, topic, {(topic, 0): 700, (topic, 1): 800})
    text = properties(pair.source, pair.target, topic, KEYS | {"groups": topic, "offsets.preserve": "never"})
    with MirrorProcess(text, "--once") as mirror:
        assert mirror.wait(120) == 0
    remote = f"A.{topic}"
    assert committed(pair.target, topic, [(remote, 0), (remote, 1)]) == {(remote, 0): 700, (remote, 1): 800}
    mirror.file.write_text(text.replace(pair.source, "127.0.0.1:1"))
    shown = run_command("status", str(mirror.file))
    assert shown.returncode == 3 and "1 consumer group, checkpoints" in shown.stdout, "also when the source is lost"
