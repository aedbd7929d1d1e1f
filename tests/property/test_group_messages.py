"""OffsetCommit and OffsetFetch, whatever is in them: written and read as kafka-python does from Kafka's schemas."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer import OffsetCommitRequest, OffsetFetchRequest

from sparkmirror.errors import ProtocolError
from sparkmirror.protocol import describe_consumer_groups as describe
from sparkmirror.protocol import offset_commit, offset_fetch
from sparkmirror.protocol.committed import Committed, Partition
from tests.support import group_messages as written

INT16, INT32 = st.integers(-(2**15), 2**15 - 1), st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
NAMES = st.text("abÄ€😀-", max_size=6) | st.sampled_from(("x" * 126, "x" * 127, "x" * 249))
METADATA = st.just("") | NAMES | st.sampled_from(("y" * 4096, "y" * 32767))
PARTITIONS = st.tuples(NAMES, INT32)
ERRORS = st.just(0) | INT16
VERSIONS = st.sampled_from(offset_fetch.VERSIONS)


def by_topic(places: Any) -> dict[str, list[Any]]:
    """As messages have it; topics in the order in which they come first."""
    topics: dict[str, list[Any]] = {}
    for topic, item in places:
        topics.setdefault(topic, []).append(item)
    return topics


@given(NAMES, st.dictionaries(PARTITIONS, st.builds(Committed, INT64, METADATA, INT32), max_size=8))
def test_commits_are_written(group: str, offsets: dict[Partition, Committed]) -> None:
    kind = OffsetCommitRequest.OffsetCommitRequestTopic
    one = kind.OffsetCommitRequestPartition
    topics = by_topic(
        (
            topic,
            one(
                partition_index=index,
                committed_offset=c.offset,
                committed_leader_epoch=c.leader_epoch,
                committed_metadata=c.metadata,
            ),
        )
        for (topic, index), c in offsets.items()
    )
    request = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=-1,
        member_id="",
        group_instance_id=None,
        topics=[kind(name=name, partitions=partitions) for name, partitions in topics.items()],
    )
    expected = bytes(request.encode(version=offset_commit.VERSION))
    assert offset_commit.encode_offset_commit(group, offsets) == expected


@given(st.dictionaries(PARTITIONS, ERRORS, max_size=8))
def test_answers_to_commits_are_read(errors: dict[Partition, int]) -> None:
    frame = written.offset_commit_response(offset_commit.VERSION, errors)
    assert offset_commit.parse_offset_commit(memoryview(frame)) == errors


@given(VERSIONS, st.lists(NAMES, min_size=1, max_size=200), st.booleans())
def test_fetches_are_written(version: int, groups: list[str], require_stable: bool) -> None:
    kind = OffsetFetchRequest.OffsetFetchRequestGroup
    request = OffsetFetchRequest(
        group_id=groups[0],
        topics=None,
        groups=[kind(group_id=group, topics=None) for group in groups],
        require_stable=require_stable if version >= offset_fetch.ONE_GROUP_STABLE else False,
    )
    body = offset_fetch.encode_offset_fetch(version, groups, require_stable=require_stable)
    assert body == bytes(request.encode(version=version))


ANSWERED = st.builds(written.Answered, INT64, INT32, st.none() | METADATA, ERRORS)
GROUPS = st.builds(written.AnsweredGroup, ERRORS, st.dictionaries(PARTITIONS, ANSWERED, max_size=8))


@given(VERSIONS, st.dictionaries(NAMES, GROUPS, min_size=1, max_size=4))
def test_answers_to_fetches_are_read(version: int, groups: dict[str, written.AnsweredGroup]) -> None:
    frame = memoryview(written.offset_fetch_response(version, groups))
    found = offset_fetch.parse_offset_fetch(version, frame, list(groups))
    assert list(found) == (list(groups) if version == offset_fetch.MANY_GROUPS else list(groups)[:1])
    for name, (error, offsets) in found.items():
        expected = groups[name]
        told = {p: a for p, a in expected.partitions.items() if not a.error and a.offset >= 0}
        assert offsets == {p: Committed(a.offset, a.metadata or "", a.leader_epoch) for p, a in told.items()}
        of_partitions = {a.error for a in expected.partitions.values()} - {0}
        assert error == expected.error if expected.error or not of_partitions else error in of_partitions


@given(st.lists(st.tuples(ERRORS, NAMES, NAMES, st.integers(0, 5)), max_size=5))
def test_described_consumer_groups_are_read(groups: list[tuple[int, str, str, int]]) -> None:
    frame = memoryview(written.consumer_group_describe_response(groups))
    assert describe.parse_describe_consumer_groups(frame) == groups


SMALL = {
    "g": written.AnsweredGroup(0, {("t", 0): written.Answered(5, 1, "", 0), ("t", 1): written.Answered(7, -1, "m", 0)})
}
WHOLE = [
    (
        written.offset_commit_response(offset_commit.VERSION, {("t", 0): 0, ("u", 3): 25}),
        offset_commit.parse_offset_commit,
    ),
    *(
        (written.offset_fetch_response(v, SMALL), lambda frame, v=v: offset_fetch.parse_offset_fetch(v, frame, ["g"]))
        for v in offset_fetch.VERSIONS
    ),
    (written.consumer_group_describe_response([(0, "g", "Stable", 2)]), describe.parse_describe_consumer_groups),
]


@pytest.mark.parametrize(("frame", "parse"), WHOLE, ids=range(len(WHOLE)))
def test_an_answer_that_is_cut_anywhere_is_refused(frame: bytes, parse: Any) -> None:
    parse(memoryview(frame))
    for size in range(len(frame)):
        with pytest.raises(ProtocolError):
            parse(memoryview(frame)[:size])


def test_a_text_that_is_longer_than_kafkas_may_be_is_refused() -> None:
    """A commit could not write it again."""
    group = written.AnsweredGroup(0, {("t", 0): written.Answered(1, 1, "m" * 32768, 0)})
    frame = memoryview(written.offset_fetch_response(offset_fetch.MANY_GROUPS, {"g": group}))
    with pytest.raises(ProtocolError, match="longer than"):
        offset_fetch.parse_offset_fetch(offset_fetch.MANY_GROUPS, frame, ["g"])
