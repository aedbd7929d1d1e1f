"""What we encode is byte for byte what kafka-python encodes from Kafka's schemas, and its responses are read."""

from __future__ import annotations

import uuid

import pytest
from kafka.protocol.consumer import ListOffsetsRequest, ListOffsetsResponse
from kafka.protocol.metadata import MetadataRequest, MetadataResponse
from kafka.protocol.producer import WriteTxnMarkersRequest, WriteTxnMarkersResponse

from sparkmirror.protocol import list_offsets, markers, metadata


@pytest.mark.parametrize("version", [metadata.BY_NAME, metadata.WITH_IDS])
@pytest.mark.parametrize("topics", [None, [], ["t", "ü"]])
def test_metadata_requests(version: int, topics: list[str] | None) -> None:
    wanted = None if topics is None else [MetadataRequest.MetadataRequestTopic(name=t) for t in topics]
    request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
    assert metadata.encode_metadata(version, topics) == bytes(request.encode(version=version))


@pytest.mark.parametrize("version", [metadata.BY_NAME, metadata.WITH_IDS])
def test_metadata_responses(version: int) -> None:
    kind = MetadataResponse.MetadataResponseTopic
    partition = kind.MetadataResponsePartition(
        error_code=5,
        partition_index=3,
        leader_id=-1,
        leader_epoch=7,
        replica_nodes=[1, 2],
        isr_nodes=[1],
        offline_replicas=[2],
    )
    topic_id = uuid.UUID(int=9)
    response = MetadataResponse(
        throttle_time_ms=0,
        brokers=[MetadataResponse.MetadataResponseBroker(node_id=1, host="h", port=9092, rack=None)],
        cluster_id="c",
        controller_id=1,
        topics=[kind(error_code=0, name="t", topic_id=topic_id, is_internal=True, partitions=[partition])],
    )
    answer = metadata.parse_metadata(version, memoryview(bytes(response.encode(version=version))))
    expected_id = topic_id.bytes if version == metadata.WITH_IDS else bytes(16)
    assert answer == metadata.MetadataAnswer(
        "c",
        1,
        [metadata.BrokerPlace(1, "h", 9092)],
        [metadata.TopicPlace(0, "t", expected_id, True, [metadata.PartitionPlace(5, 3, -1, 7, 2)])],
    )


def test_list_offsets() -> None:
    kind = ListOffsetsRequest.ListOffsetsTopic
    part = kind.ListOffsetsPartition
    request = ListOffsetsRequest(
        replica_id=-2,
        isolation_level=1,
        topics=[
            kind(
                name="t",
                partitions=[
                    part(partition_index=0, current_leader_epoch=4, timestamp=-1),
                    part(partition_index=2, current_leader_epoch=-1, timestamp=-1),
                ],
            )
        ],
    )
    body = list_offsets.encode_list_offsets(
        {("t", 0): 4, ("t", 2): -1}, list_offsets.LATEST, replica=list_offsets.DEBUGGER, isolation=1
    )
    assert body == bytes(request.encode(version=list_offsets.VERSION))
    answered = ListOffsetsResponse.ListOffsetsTopicResponse
    partition = answered.ListOffsetsPartitionResponse(
        partition_index=2, error_code=6, timestamp=-1, offset=42, leader_epoch=5, old_style_offsets=[]
    )
    response = ListOffsetsResponse(throttle_time_ms=0, topics=[answered(name="t", partitions=[partition])])
    frame = memoryview(bytes(response.encode(version=list_offsets.VERSION)))
    assert list_offsets.parse_list_offsets(frame) == {("t", 2): (6, 42)}


@pytest.mark.parametrize("version", [0, 1])
def test_as_many_markers_as_each_partition_wants(version: int) -> None:
    kind = WriteTxnMarkersRequest.WritableTxnMarker
    topic = kind.WritableTxnMarkerTopic

    def marker(*topics: tuple[str, list[int]]) -> object:
        return kind(
            producer_id=7,
            producer_epoch=0,
            transaction_result=False,
            topics=[topic(name=name, partition_indexes=indexes) for name, indexes in topics],
            coordinator_epoch=12,
        )

    both = marker(("t", [0]), ("u", [5]))
    request = WriteTxnMarkersRequest(markers=[both, both, marker(("u", [5]))])
    body = markers.encode_markers(
        version, {("t", 0): 2, ("u", 5): 3}, producer_id=7, producer_epoch=0, coordinator_epoch=12
    )
    assert b"".join(body) == bytes(request.encode(version=version))
    assert all(body), "an empty piece would never be sent"


@pytest.mark.parametrize("version", [0, 1])
def test_the_first_error_of_a_partitions_markers_counts(version: int) -> None:
    kind = WriteTxnMarkersResponse.WritableTxnMarkerResult
    topic = kind.WritableTxnMarkerTopicResult
    part = topic.WritableTxnMarkerPartitionResult
    results = [
        kind(producer_id=7, topics=[topic(name="t", partitions=[part(partition_index=0, error_code=code)])])
        for code in (0, 52, 6)
    ]
    frame = memoryview(bytes(WriteTxnMarkersResponse(markers=results).encode(version=version)))
    assert markers.parse_markers(version, frame) == {("t", 0): 52}
