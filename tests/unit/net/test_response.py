"""Whatever a broker sends in place of a control response is a message or a ProtocolError."""

from __future__ import annotations

import pytest
from kafka.protocol.metadata import ApiVersionsResponse, MetadataResponse

from sparkmirror.errors import ProtocolError
from sparkmirror.net.response import decode_response, only_answer

BROKER = MetadataResponse.MetadataResponseBroker(node_id=1, host="h", port=9092, rack=None)


def encoded(response: object, version: int) -> memoryview:
    return memoryview(bytes(response.encode(version=version)))  # type: ignore[attr-defined]


@pytest.mark.parametrize("version", [1, 8, 12])
def test_a_whole_response_is_decoded(version: int) -> None:
    frame = encoded(MetadataResponse(brokers=[BROKER], controller_id=1, topics=[]), version)
    response = decode_response(MetadataResponse, frame, version, "b:9092")
    assert [(b.node_id, b.host, b.rack) for b in response.brokers] == [(1, "h", None)]


def test_a_cut_response_is_a_protocol_error_that_names_the_broker() -> None:
    frame = encoded(MetadataResponse(brokers=[BROKER], controller_id=1, topics=[]), 8)
    with pytest.raises(ProtocolError, match="b:9092 sent a MetadataResponse"):
        decode_response(MetadataResponse, frame[:-1], 8, "b:9092")


def test_a_null_list_that_must_not_be_null_is_a_protocol_error() -> None:
    frame = encoded(MetadataResponse(brokers=None, controller_id=1, topics=[]), 8)
    with pytest.raises(ProtocolError, match="without brokers"):
        decode_response(MetadataResponse, frame, 8, "b:9092")


def test_a_null_text_inside_a_list_is_a_protocol_error() -> None:
    nameless = MetadataResponse.MetadataResponseBroker(node_id=1, host=None, port=9092, rack=None)
    frame = encoded(MetadataResponse(brokers=[BROKER, nameless], controller_id=1, topics=[]), 12)
    with pytest.raises(ProtocolError, match=r"without brokers\.host"):
        decode_response(MetadataResponse, frame, 12, "b:9092")


def test_tagged_fields_where_kafka_python_expects_none_are_a_protocol_error() -> None:
    """It asserts that there are none; a newer broker could send some."""
    feature = ApiVersionsResponse.SupportedFeatureKey(name="f", min_version=1, max_version=2)
    frame = bytearray(encoded(ApiVersionsResponse(error_code=0, api_keys=[], supported_features=[feature]), 3))
    frame[-1] = 1
    with pytest.raises(ProtocolError):
        decode_response(ApiVersionsResponse, memoryview(frame + b"\0\0"), 3, "b:9092")


@pytest.mark.parametrize("answers", [[], [1, 2]])
def test_other_than_one_answer_is_a_protocol_error(answers: list[int]) -> None:
    with pytest.raises(ProtocolError, match="creation of t: one answer"):
        only_answer(answers, "creation of t")
    assert only_answer([1], "creation of t") == 1
