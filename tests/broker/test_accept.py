"""An operator's word on what stands still: it goes on past that, once, while the mirror runs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest

from sparkmirror.cli.accept import outcome_text
from sparkmirror.control.accept import Acceptor, Lost, Outcome
from sparkmirror.errors import ConfigError
from sparkmirror.offsets.claims import read_claims
from sparkmirror.topology.storage import Storage
from tests.conftest import Pair
from tests.support.command import run_command
from tests.support.flows import write_flow
from tests.support.kafka_client import await_condition, create_topic, delete_topic, produce, read_all, topics
from tests.support.local_mirror import LocalMirror, mirroring
from tests.support.source_logs.log_start import remove_records

SETTINGS = {"heartbeats.replication.enabled": "false", "lease.seconds": "2"}
WAIT_S = 30.0

Found = TypeVar("Found")


@contextlib.contextmanager
def mirrored(pair: Pair, topic: str, folder: Path) -> Iterator[LocalMirror]:
    """Two topics of ten records that were copied; topics are looked for once an hour."""
    for name in (topic, f"{topic}-beside"):
        create_topic(pair.source, name, 1)
        write(pair, name, 0, 10)
    file = write_flow(folder, pair.source, pair.target, f"{topic}.*", SETTINGS)
    with mirroring(file) as mirror:
        mirror.await_topics(2)
        mirror.catch_up(topic, f"{topic}-beside")
        yield mirror


def write(pair: Pair, topic: str, first: int, end: int) -> None:
    produce(pair.source, topic, ({"value": b"%d" % i} for i in range(first, end)))


def values(servers: str, topic: str) -> list[bytes | None]:
    return [record.value for record in read_all(servers, topic)[0]]


def numbers(*ranges: range) -> list[bytes]:
    return [b"%d" % i for each in ranges for i in each]


def told(mirror: LocalMirror, order: Callable[[Acceptor], Found]) -> Found:
    """An order that waits for the mirror, which goes on meanwhile."""
    with ThreadPoolExecutor(1) as pool, Acceptor(mirror.flow) as acceptor:
        given = pool.submit(order, acceptor)
        while not given.done():
            mirror.round(0.5)
        return given.result()


def accept(mirror: LocalMirror, text: str) -> list[str]:
    return said(told(mirror, lambda acceptor: acceptor.accept(acceptor.find([text]), WAIT_S, lambda _: None)))


def remirror(mirror: LocalMirror, topic: str) -> list[str]:
    return said(told(mirror, lambda a: a.remirror(a.find_copy(topic), WAIT_S, lambda _: None)))


def said(outcomes: list[Outcome]) -> list[str]:
    return [outcome_text(outcome) for outcome in outcomes]


def test_a_partition_goes_on_past_a_gap_once(pair: Pair, topic: str, tmp_path: Path) -> None:
    with mirrored(pair, topic, tmp_path) as mirror:
        remote = f"{mirror.flow.source.alias}.{topic}"
        for first in (10, 30):
            write(pair, topic, first, first + 20)
            remove_records(pair.source, topic, first + 10)
            mirror.round()
            assert mirror.facts()[topic, 0].name == "gap", "what was accepted is over"
            assert accept(mirror, f"{topic}:0") == [f"{topic}-0: goes on"]
            mirror.catch_up(topic)
            assert not mirror.facts()
            assert not read_claims(mirror.keeper.target, Storage.of(mirror.flow)).accepted
        assert values(pair.target, remote) == numbers(range(10), range(20, 30), range(40, 50))


def test_a_topic_is_mirrored_anew_and_others_run_on(pair: Pair, topic: str, tmp_path: Path) -> None:
    beside = f"{topic}-beside"
    with mirrored(pair, topic, tmp_path) as mirror:
        alias = mirror.flow.source.alias
        produce(pair.target, f"{alias}.{topic}", [{"value": b"foreign"}])
        write(pair, topic, 10, 20)
        write(pair, beside, 10, 20)
        mirror.round()
        assert mirror.facts()[topic, 0].name == "foreign-writer"
        assert remirror(mirror, topic) == [f"{topic}-0: goes on"]
        mirror.catch_up(topic, beside)
        assert not mirror.facts().get((beside, 0))
        assert values(pair.target, f"{alias}.{topic}") == numbers(range(20))
        assert values(pair.target, f"{alias}.{beside}") == numbers(range(20))
        delete_topic(pair.target, f"{alias}.{topic}")
        mirror.round()
        assert remirror(mirror, beside) == [f"{beside}-0: goes on"], "one that is well, too"


@pytest.mark.long
def test_a_topic_that_somebody_else_makes_anew_with_fewer_partitions_is_mirrored_all_the_same(
    pair: Pair, topic: str, tmp_path: Path
) -> None:
    """As an application does, where brokers make topics by themselves."""
    create_topic(pair.source, topic, 3)
    produce(pair.source, topic, ({"value": b"%d" % i, "partition": i % 2} for i in range(20)))
    file = write_flow(tmp_path, pair.source, pair.target, topic, SETTINGS)
    with mirroring(file) as mirror, Acceptor(mirror.flow) as acceptor:
        mirror.await_topics(3)
        mirror.catch_up(topic)
        copy, remote = acceptor.find_copy(topic), f"{mirror.flow.source.alias}.{topic}"
        delete_topic(pair.target, remote)
        await_condition(lambda: remote not in topics(pair.target), "its end")
        create_topic(pair.target, remote, 1)
        outcomes = told(mirror, lambda each: each.remirror(copy, WAIT_S, lambda _: None))
        assert said(outcomes) == [f"{topic}-0: goes on", f"{topic}-1: goes on"], "of the third nothing was known"
        mirror.catch_up(topic)
        assert {p: len(records) for p, records in read_all(pair.target, remote).items()} == {0: 10, 1: 10, 2: 0}


def test_records_that_the_target_alone_has_are_named_before_they_are_lost(
    pair: Pair, topic: str, tmp_path: Path
) -> None:
    with mirrored(pair, topic, tmp_path) as mirror, Acceptor(mirror.flow) as acceptor:
        assert acceptor.find_lost(acceptor.find_copy(topic)) == []
        remove_records(pair.source, topic, 4)
        produce(pair.target, f"{mirror.flow.source.alias}.{topic}", [{"value": b"foreign"}])
        assert acceptor.find_lost(acceptor.find_copy(topic)) == [Lost((topic, 0), 0, 4), Lost((topic, 0), 10, 11)]
        delete_topic(pair.source, topic)
        create_topic(pair.source, topic, 1)
        assert acceptor.find_lost(acceptor.find_copy(topic)) == [Lost((topic, 0), 0, 11)]


def test_what_cannot_be_ordered_is_refused(pair: Pair, topic: str, tmp_path: Path) -> None:
    with mirrored(pair, topic, tmp_path) as mirror, Acceptor(mirror.flow) as acceptor:
        with pytest.raises(ConfigError, match="no partition stands still"):
            acceptor.find([topic])
        with pytest.raises(ConfigError, match=f"mirrors no topic nothing of .*: {topic}"):
            acceptor.find_copy("nothing")
        remote = f"{mirror.flow.source.alias}.{topic}"
        delete_topic(pair.target, remote)
        create_topic(pair.target, remote, 1)
        with pytest.raises(ConfigError, match=f"not known that the mirror made {remote}, so it does not"):
            acceptor.find_copy(topic)
        lines = run_command("accept", str(mirror.file), topic, "--yes")
        assert (lines.returncode, "no partition stands still" in lines.stderr) == (2, True)
        asked = run_command("remirror", str(mirror.file), topic)
        assert (asked.returncode, "expected --yes" in asked.stderr) == (2, True)
