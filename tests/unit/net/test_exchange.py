"""A broker that goes away, is silent or talks nonsense in the middle of many requests."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator

import pytest
from kafka.protocol.metadata import ApiVersionsResponse

from sparkmirror.errors import BrokerError, ProtocolError
from sparkmirror.net import exchange
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.group_offsets import commit_group_offsets
from sparkmirror.protocol import codes, offset_commit
from sparkmirror.protocol.committed import Committed, Partition
from sparkmirror.protocol.metadata import BrokerPlace
from tests.support.group_messages import offset_commit_response

PLACE: Partition = ("t", 0)
GROUPS = {f"g{i}": {PLACE: Committed(i)} for i in range(10)}
API_VERSIONS = 18
# What to answer to the n-th commit: the response's body, or nothing.
Answer = Callable[[int], bytes | None]


class GoneError(Exception):
    """Ends the connection."""


def serve(listener: socket.socket, answer: Answer) -> None:
    """The first connection; later ones are refused."""
    connection, _ = listener.accept()
    listener.close()
    commits = 0
    with contextlib.suppress(OSError), connection, connection.makefile("rb") as requests:
        while size := requests.read(4):
            request = requests.read(int.from_bytes(size))
            api_key, _, correlation = struct.unpack_from(">hhi", request)
            if api_key == API_VERSIONS:
                body: bytes | None = api_versions()
            else:
                commits += 1
                try:
                    body = answer(commits)
                except GoneError:
                    return
            if body is not None:
                connection.sendall(struct.pack(">ii", len(body) + 4, correlation) + body)


def api_versions() -> bytes:
    known = ApiVersionsResponse.ApiVersion(api_key=offset_commit.API_KEY, min_version=2, max_version=9)
    return bytes(ApiVersionsResponse(error_code=0, api_keys=[known], throttle_time_ms=0).encode(version=3))


@contextlib.contextmanager
def broker(answer: Answer) -> Iterator[Cluster]:
    """A cluster whose only broker coordinates all groups."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=serve, args=(listener, answer))
        server.start()
        cluster = Cluster(ClusterAddress(alias="A", bootstrap=()))
        cluster._brokers = {1: BrokerPlace(1, *listener.getsockname())}
        cluster.coordinators = dict.fromkeys(GROUPS, 1)
        try:
            yield cluster
        finally:
            server.join(10)


def fine(_: int) -> bytes:
    return offset_commit_response(offset_commit.VERSION, {PLACE: 0})


def test_answers_that_came_before_the_connection_was_lost_count() -> None:
    def answer(count: int) -> bytes:
        if count > 7:
            raise GoneError
        return fine(count)

    with broker(answer) as cluster:
        answers = commit_group_offsets(cluster, GROUPS, deadline_s=0)
    groups = list(GROUPS)
    assert [answers[group] for group in groups[:7]] == [{PLACE: 0}] * 7
    for group in groups[7:]:
        refused = answers[group]
        assert isinstance(refused, BrokerError)
        assert refused.code == codes.COORDINATOR_NOT_AVAILABLE
        assert group not in cluster.coordinators, "it is looked up the next time"


def test_a_broker_that_allows_one_connection_only_gets_all_over_that_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "WORTH_A_CONNECTION", 2)
    with broker(fine) as cluster:
        assert commit_group_offsets(cluster, GROUPS, deadline_s=0) == {group: {PLACE: 0} for group in GROUPS}


def test_silence_ends_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "REQUEST_TIMEOUT_S", 0.2)
    monkeypatch.setattr(exchange, "_LOOK_S", 0.05)
    with broker(lambda count: fine(count) if count == 1 else None) as cluster:
        answers = commit_group_offsets(cluster, GROUPS, deadline_s=0)
    assert answers["g0"] == {PLACE: 0}
    assert "did not answer in time" in str(answers["g1"])


@pytest.mark.parametrize(
    "body",
    [b"", fine(0)[:-1], offset_commit_response(offset_commit.VERSION, {("other", 0): 0})],
    ids=["empty", "cut", "of another topic"],
)
def test_nonsense_is_a_protocol_error(body: bytes) -> None:
    with broker(lambda _: body) as cluster, pytest.raises(ProtocolError):
        commit_group_offsets(cluster, GROUPS, deadline_s=0)
