"""`sparkmirror verify` names each difference at its place, and none where there is none."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from sparkmirror.control.verify_report import VerifyReport
from sparkmirror.topology.storage import Storage
from tests.conftest import Pair
from tests.support.command import run_command
from tests.support.flows import write_flow
from tests.support.java_reader import JavaReader
from tests.support.kafka_client import await_condition, create_topic, delete_topic, end_offsets, produce, topics
from tests.support.local_mirror import mirroring
from tests.support.same_log import assert_same_log
from tests.support.source_logs import (
    make_append_time,
    make_compacted,
    make_every_codec,
    make_late_start,
    make_odd_records,
    make_small_batches,
    make_transactions,
    remove_records,
    write_markers,
)
from tests.support.topic_admin import change_configs
from tests.support.verify import assert_found, verify_here, write_planted

SEED = 20_261_118


def assert_same(report: VerifyReport, records: int | None = None) -> None:
    for each in report.partitions:
        assert not each.found and not each.differences and not each.problem, each
    assert report.exit_code == 0
    if records is not None:
        assert sum(each.records for each in report.partitions) == records


@pytest.mark.parametrize("translated", [False, True], ids=["equal", "translated"])
def test_each_planted_difference_is_found_at_its_place(
    pair: Pair, topic: str, tmp_path: Path, translated: bool
) -> None:
    file = write_flow(tmp_path, pair.source, pair.target, topic)
    servers = (pair.source, pair.target)
    planted = write_planted(file, servers, topic, places=2, records=400, translated=translated, seed=SEED)
    assert assert_found(verify_here(file), planted) == 12


def test_faithful_copies_of_every_kind_of_log_show_no_difference(
    pair: Pair, topic: str, tmp_path: Path, java_reader: JavaReader
) -> None:
    """Transactions, every codec, merged batches, odd records, the broker's own time, a log that begins late."""
    names = {kind: f"{topic}-{kind}" for kind in ("tx", "codecs", "small", "odd", "time", "late")}
    translated = {kind: names[kind] for kind in ("tx", "codecs", "late")}
    make_transactions(pair.source, names["tx"], partitions=2, transactions=100)
    make_every_codec(pair.source, names["codecs"])
    make_small_batches(pair.source, names["small"])
    make_odd_records(pair.source, names["odd"])
    make_append_time(pair.source, names["time"])
    make_late_start(pair.source, names["late"])
    for extra, chosen in (({}, names), ({"offsets.preserve": "never"}, translated)):
        wanted = f"{topic}-({'|'.join(chosen)})"
        file = write_flow(tmp_path, pair.source, pair.target, wanted, extra)
        with mirroring(file) as mirror:
            mirror.await_topics(sum(len(end_offsets(pair.source, name)) for name in chosen.values()))
            mirror.catch_up(*chosen.values())
            alias = mirror.flow.source.alias
        report = verify_here(file)
        assert_same(report)
        assert {each.offsets for each in report.partitions} == {"translated" if extra else "equal"}
        assert all(each.records and not each.lag for each in report.partitions)
        if not extra:  # the judge, who is none of ours
            for name in names.values():
                sides = pair.source, name, pair.target, f"{alias}.{name}"
                assert_same_log(java_reader, *sides, mirrored="read_committed", ignoring=["timestamp_type"])
    # What retention removes on either side is no difference.
    remove_records(pair.source, names["late"], 700)
    remove_records(pair.target, f"{alias}.{names['codecs']}", 50)
    assert_same(verify_here(file, topics=f"{topic}-(late|codecs)"))


def test_compacted_logs_are_compared_by_the_latest_record_of_each_key(
    pair: Pair, topic: str, tmp_path: Path, java_reader: JavaReader
) -> None:
    file = write_flow(tmp_path, pair.source, pair.target, topic)
    make_compacted(pair.source, topic, partitions=2)
    with mirroring(file) as mirror:
        mirror.await_topics(2)
        mirror.catch_up(topic)
        remote = f"{mirror.flow.source.alias}.{topic}"
    change_configs(pair.target, remote, {"cleanup.policy": "compact"})
    assert_same_log(java_reader, pair.source, topic, pair.target, remote, compacted=True)
    report = verify_here(file)
    assert_same(report)
    assert all(each.compacted and each.records > 10 for each in report.partitions)
    # Newer on the source alone: lag, though a record of the target is out of date by it.
    produce(pair.source, topic, [{"key": b"key-20", "value": b"new", "partition": 0}])
    assert_same(verify_here(file))
    # Newer on the target alone, below the source's end: a difference.
    produce(pair.target, remote, [{"key": b"key-20", "value": b"foreign", "partition": 0}])
    report = verify_here(file)
    (found,) = report.partitions[0].found
    assert (report.exit_code, found.kind) == (1, "changed")


def test_merged_topics_are_told_apart_by_their_producers(pair: Pair, topic: str, tmp_path: Path) -> None:
    for name in ("one", "two"):
        create_topic(pair.source, f"{topic}-{name}", 2)
    file = write_flow(
        tmp_path, pair.source, pair.target, f"{topic}-.*", {"FLOW.topics.map": f"({topic})-.*:$1-all", "tasks.max": "2"}
    )
    with mirroring(file) as mirror:
        mirror.await_topics(4)
        for number in range(3):
            for name in ("one", "two"):
                rows = [{"value": b"%d %d" % (number, i), "partition": i % 2} for i in range(200)]
                produce(pair.source, f"{topic}-{name}", rows)
            mirror.catch_up(f"{topic}-one", f"{topic}-two")
    report = verify_here(file)
    assert_same(report, 1200)
    assert {each.remote for each in report.partitions} == {f"{topic}-all"}


def test_what_was_copied_and_cant_be_found_is_not_the_same(pair: Pair, topic: str, tmp_path: Path) -> None:
    """Nothing of it is compared: the map is lost, then the producer id, and of an equal one all is removed."""
    for name in ("one", "two"):
        create_topic(pair.source, f"{topic}-{name}", 1)
        produce(pair.source, f"{topic}-{name}", [{"value": b"%d" % i} for i in range(10)])
    merged = {"FLOW.topics.map": f"{topic}-.*:{topic}-all"}
    file = write_flow(tmp_path, pair.source, pair.target, f"{topic}-.*", merged)
    with mirroring(file) as mirror:
        mirror.await_topics(2)
        mirror.catch_up(f"{topic}-one", f"{topic}-two")
        storage = Storage.of(mirror.flow)
    assert_same(verify_here(file), 20)
    for lost, why in ((storage.offset_map, "nothing says where the target has"), (storage.claims, "which producer id")):
        delete_topic(pair.target, lost)
        await_condition(lambda name=lost: name not in topics(pair.target), "its end")  # type: ignore[misc]
        report = verify_here(file)
        assert (report.exit_code, report.problems) == (2, 2)
        assert all(why in each.problem for each in report.partitions)
    file = write_flow(tmp_path, pair.source, pair.target, f"{topic}-one")
    with mirroring(file) as mirror:
        mirror.await_topics(1)
        mirror.catch_up(f"{topic}-one")
    remove_records(pair.target, f"{mirror.flow.source.alias}.{topic}-one", 10)
    report = verify_here(file)
    assert (report.exit_code, report.problems) == (2, 1)
    assert "none of the 10 offsets that were copied" in report.partitions[0].problem
    assert_same(verify_here(file, since_ms=int(time.time() * 1000) + 60_000))  # nothing is asked for
    remove_records(pair.source, f"{topic}-one", 10)
    assert_same(verify_here(file))  # nothing is left to compare


def test_what_the_target_lost_is_missing_and_what_was_not_copied_is_lag(pair: Pair, topic: str, tmp_path: Path) -> None:
    create_topic(pair.source, topic)
    file = write_flow(tmp_path, pair.source, pair.target, topic)
    produce(pair.source, topic, [{"value": b"%d" % i} for i in range(100)])
    report = verify_here(file)
    assert (report.exit_code, report.partitions[0].lag) == (0, 100)
    with mirroring(file) as mirror:
        mirror.await_topics(1)
        mirror.catch_up(topic)
        remote = f"{mirror.flow.source.alias}.{topic}"
    produce(pair.source, topic, [{"value": b"later"}] * 5)
    report = verify_here(file)
    assert_same(report, 100)
    assert report.partitions[0].lag == 5
    # Others' records on the target stand where the source has some, or will have.
    produce(pair.target, remote, [{"value": b"foreign"}])
    (found,) = verify_here(file).partitions[0].found
    assert (found.kind, found.source, found.target) == ("changed", 100, 100)
    assert "'later' became 'foreign'" in str(found)


@pytest.mark.long
def test_the_command_says_what_differs_and_exits_by_it(pair: Pair, topic: str, tmp_path: Path) -> None:
    """With Spark; on a pipe there is no control character, whatever a record holds."""
    file = write_flow(tmp_path, pair.source, pair.target, topic)
    report = tmp_path / "report.json"
    create_topic(pair.source, topic, 2)
    produce(pair.source, topic, [{"value": b"v%d" % i, "partition": i % 2} for i in range(2000)])
    with mirroring(file) as mirror:
        mirror.await_topics(2)
        mirror.catch_up(topic)
        remote = f"{mirror.flow.source.alias}.{topic}"
    produce(pair.source, topic, [{"value": b"mine", "partition": 1}])
    write_markers(pair.target, remote, 1, 1)
    produce(pair.target, remote, [{"value": b"\x1b[31mred", "partition": 1}])
    done = run_command("verify", str(file), "--topics", f"{topic}.*", "--report", str(report), deadline_s=100)
    assert done.returncode == 1, done
    assert not any(ord(c) < 32 and c != "\n" for c in done.stdout + done.stderr)
    same, other = json.loads(report.read_text())["partitions"]
    assert (same["differences"], same["records"], same["found"]) == (0, 1000, [])
    assert [(one["kind"], one["source_offset"], one["target_offset"]) for one in other["found"]] == [
        ("missing", 1000, None),
        ("extra", None, 1001),
    ]
    assert f"{topic}-1 and {remote}-1: source offset 1000, target offset none: missing" in done.stdout
