"""Fetch and Produce against kafka-python's schemas: what one encodes, the other must understand."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer import FetchRequest, FetchResponse
from kafka.protocol.producer import ProduceRequest, ProduceResponse

from sparkmirror.errors import ProtocolError
from sparkmirror.protocol import fetch, produce

TOPIC_ID = uuid.uuid4()
VERSIONS = [(fetch.BY_NAME, "t"), (fetch.BY_ID, TOPIC_ID.bytes)]


@pytest.mark.parametrize(("version", "key"), VERSIONS)
def test_fetch_request_is_read_by_an_independent_decoder(version: int, key: fetch.TopicKey) -> None:
    body = fetch.encode_fetch(
        version,
        {key: [fetch.FetchPartition(3, 7, 1000, 4096), fetch.FetchPartition(4, -1, 0, 1)]},
        max_wait_ms=500,
        max_bytes=1 << 20,
        session_id=9,
        session_epoch=2,
        forgotten={key: [5, 6]},
        rack="r1",
    )
    request = FetchRequest.decode(body, version=version)
    assert (request.max_wait_ms, request.min_bytes, request.max_bytes) == (500, 1, 1 << 20)
    assert (request.session_id, request.session_epoch, request.isolation_level) == (9, 2, 1)
    partitions = [(p.partition, p.current_leader_epoch, p.fetch_offset) for p in request.topics[0].partitions]
    assert partitions == [(3, 7, 1000), (4, -1, 0)]
    assert list(request.forgotten_topics_data[0].partitions) == [5, 6]
    assert request.rack_id == "r1"
    assert topic_of(request.topics[0], version) == key


@pytest.mark.parametrize(("version", "key"), VERSIONS)
def test_fetch_response_of_an_independent_encoder_is_parsed(version: int, key: fetch.TopicKey) -> None:
    answer = fetch.parse_fetch(version, memoryview(fetch_response(version)))
    assert (answer.throttle_ms, answer.error, answer.session_id) == (5, 0, 77)
    one = answer.partitions[0]
    assert (one.topic, one.partition, one.error) == (key, 3, 0)
    assert (one.high_watermark, one.last_stable_offset, one.log_start) == (100, 90, 10)
    assert one.aborted == ((4711, 12),)
    assert bytes(one.records) == b"some records"
    assert len(answer.partitions[1].records) == 0


@pytest.mark.parametrize(("version", "key"), VERSIONS)
def test_fetch_response_cut_anywhere_is_a_protocol_error(version: int, key: fetch.TopicKey) -> None:
    whole = fetch_response(version)
    for cut in range(len(whole)):
        with pytest.raises(ProtocolError):
            fetch.parse_fetch(version, memoryview(whole[:cut]))


@given(st.binary(max_size=200), st.sampled_from(VERSIONS))
def test_hostile_bytes_never_crash_the_parsers(data: bytes, version: tuple[int, fetch.TopicKey]) -> None:
    for parse, number in ((fetch.parse_fetch, version[0]), (produce.parse_produce, (8, 13)[version[0] == 13])):
        try:
            parse(number, memoryview(data))
        except ProtocolError:
            continue


@pytest.mark.parametrize(("version", "key"), [(produce.BY_NAME, "t"), (produce.BY_ID, TOPIC_ID.bytes)])
def test_produce_request_is_read_by_an_independent_decoder(version: int, key: fetch.TopicKey) -> None:
    pieces = produce.encode_produce(version, {key: [(0, b"batch zero"), (7, memoryview(b"batch seven"))]}, timeout_ms=9)
    request = ProduceRequest.decode(b"".join(pieces), version=version)
    assert (request.acks, request.timeout_ms, request.transactional_id) == (-1, 9, None)
    assert topic_of(request.topic_data[0], version) == key
    sent = [(p.index, bytes(p.records)) for p in request.topic_data[0].partition_data]
    assert sent == [(0, b"batch zero"), (7, b"batch seven")]


@pytest.mark.parametrize(("version", "key"), [(produce.BY_NAME, "t"), (produce.BY_ID, TOPIC_ID.bytes)])
def test_produce_response_of_an_independent_encoder_is_parsed(version: int, key: fetch.TopicKey) -> None:
    topic = ProduceResponse.TopicProduceResponse
    partition = topic.PartitionProduceResponse
    faulty = partition.BatchIndexAndErrorMessage
    response = ProduceResponse(
        responses=[
            topic(
                name="t",
                topic_id=TOPIC_ID,
                partition_responses=[
                    partition(
                        index=3,
                        error_code=45,
                        base_offset=12,
                        log_append_time_ms=-1,
                        log_start_offset=4,
                        record_errors=[faulty(batch_index=i, batch_index_error_message="bad") for i in (2, 5)],
                        error_message="out of order",
                    )
                ],
            )
        ],
        throttle_time_ms=8,
    )
    throttle_ms, answers = produce.parse_produce(version, memoryview(bytes(response.encode(version=version))))
    assert throttle_ms == 8
    assert answers == [produce.ProducedPartition(key, 3, 45, 12, 4, "out of order", (2, 5))]


@pytest.mark.parametrize("said", [None, "late"])
def test_a_produce_response_of_many_partitions_is_parsed_whether_or_not_one_says_more(said: str | None) -> None:
    topic = ProduceResponse.TopicProduceResponse
    partition = topic.PartitionProduceResponse
    partitions = [
        partition(
            index=index, error_code=index % 3, base_offset=10 * index, log_append_time_ms=-1, log_start_offset=index,
            record_errors=[], error_message=said if index == 150 else None,
        )
        for index in range(200)
    ]  # fmt: skip
    response = ProduceResponse(
        responses=[topic(topic_id=TOPIC_ID, partition_responses=part) for part in (partitions, partitions[:1])],
        throttle_time_ms=0,
    )
    data = memoryview(bytes(response.encode(version=produce.BY_ID)))
    answers = produce.parse_produce(produce.BY_ID, data)[1]
    expected = [
        produce.ProducedPartition(
            TOPIC_ID.bytes, index, index % 3, 10 * index, index, said if index == 150 else None
        )
        for index in (*range(200), 0)
    ]  # fmt: skip
    assert answers == expected


def fetch_response(version: int) -> bytes:
    topic = FetchResponse.FetchableTopicResponse
    partition = topic.PartitionData
    common: dict[str, Any] = {"high_watermark": 100, "last_stable_offset": 90, "log_start_offset": 10}
    aborted = [partition.AbortedTransaction(producer_id=4711, first_offset=12)]
    response = FetchResponse(
        throttle_time_ms=5,
        error_code=0,
        session_id=77,
        responses=[
            topic(
                topic="t",
                topic_id=TOPIC_ID,
                partitions=[
                    partition(
                        partition_index=3,
                        error_code=0,
                        aborted_transactions=aborted,
                        preferred_read_replica=-1,
                        records=b"some records",
                        **common,
                    ),
                    partition(
                        partition_index=4,
                        error_code=6,
                        aborted_transactions=None,
                        preferred_read_replica=-1,
                        records=None,
                        **common,
                    ),
                ],
            )
        ],
    )
    return bytes(response.encode(version=version))


def topic_of(topic: Any, version: int) -> fetch.TopicKey:
    if version == 13:
        return bytes(topic.topic_id.bytes)
    return str(getattr(topic, "topic", None) or topic.name)
