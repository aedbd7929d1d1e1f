"""What a client is told about connecting does what it says, on real sockets."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Any

import pytest
from kafka.protocol.metadata import MetadataRequest

from sparkmirror.errors import ConnectionLostError
from sparkmirror.net.address import ClusterAddress, bootstrap_places
from sparkmirror.net.attempts import Attempts
from sparkmirror.net.channel import SOCKET_BUFFER_BYTES, Channel
from sparkmirror.net.client import SYSTEMS, Client
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.deadline import deadline
from tests.support.loopback import API_VERSIONS, METADATA, Loopback

PLACE = ("h", 1)
LONG_S = 3.0  # what is cut short must end well before it


def cluster_at(*brokers: Loopback, client: Client) -> Cluster:
    return Cluster(ClusterAddress(alias="A", bootstrap=tuple(b.server for b in brokers), client=client))


def seconds_to_fail(work: Callable[[], object], match: str) -> float:
    began = time.monotonic()
    with pytest.raises(ConnectionLostError, match=match):
        work()
    return time.monotonic() - began


def test_the_client_id_is_what_a_broker_hears() -> None:
    with Loopback() as broker, cluster_at(broker, client=Client(client_id="mine")) as cluster:
        cluster.fetch_metadata()
        assert {asked.client_id for asked in broker.asked} == {"mine"}


@pytest.mark.parametrize(
    ("option", "field"), [(socket.SO_RCVBUF, "receive_buffer_bytes"), (socket.SO_SNDBUF, "send_buffer_bytes")]
)
def test_buffers_are_the_clients_else_the_systems_else_ours(option: int, field: str) -> None:
    def size_with(size: int | None) -> int:
        fields: dict[str, Any] = {field: size}
        client = Client(**fields)
        channel = Channel("127.0.0.1", broker.port, client)
        try:
            assert isinstance(channel._socket, socket.socket)
            return channel._socket.getsockopt(socket.SOL_SOCKET, option)
        finally:
            channel.close()

    with Loopback() as broker, socket.create_connection(("127.0.0.1", broker.port)) as plain:
        assert size_with(70_000) == 140_000, "Linux counts its own needs, too"
        assert size_with(SYSTEMS) == plain.getsockopt(socket.SOL_SOCKET, option)
        plain.setsockopt(socket.SOL_SOCKET, option, SOCKET_BUFFER_BYTES)
        assert size_with(None) == plain.getsockopt(socket.SOL_SOCKET, option)


def test_a_connection_that_does_not_come_about_is_given_up_in_time() -> None:
    with Loopback(silent=[API_VERSIONS]) as broker:
        client = Client(setup_timeout_s=0.2, setup_timeout_max_s=LONG_S)
        with cluster_at(broker, client=client) as cluster:
            first = seconds_to_fail(cluster.fetch_metadata, "did not answer")
            second = seconds_to_fail(cluster.fetch_metadata, "did not answer")
    assert first >= 0.2 and 0.4 <= second < LONG_S, "a failure is given twice the time"


def test_a_request_that_is_not_answered_is_given_up_in_time() -> None:
    with Loopback(silent=[METADATA]) as broker, cluster_at(broker, client=Client(request_timeout_s=0.2)) as cluster:
        assert 0.2 <= seconds_to_fail(cluster.fetch_metadata, r"did not answer within 0\.2 s") < LONG_S


def test_a_question_with_all_its_tries_is_given_up_in_time() -> None:
    with Loopback(silent=[METADATA]) as one, Loopback(silent=[METADATA]) as two:
        client = Client(request_timeout_s=LONG_S, api_timeout_s=0.3)
        with cluster_at(one, two, client=client) as cluster:
            took = seconds_to_fail(cluster.fetch_metadata, r"within 0\.3 s \(default\.api\.timeout\.ms\)")
    assert 0.3 <= took < LONG_S


def test_a_step_of_several_questions_is_given_up_in_time_and_names_its_key() -> None:
    with Loopback(silent=[METADATA]) as broker, cluster_at(broker, client=Client()) as cluster:

        def step() -> None:
            with deadline(0.3, "admin.timeout.ms"), deadline(LONG_S, "another"):
                cluster.fetch_metadata()

        assert 0.3 <= seconds_to_fail(step, r"0\.3 s \(admin\.timeout\.ms\): look at the brokers") < LONG_S


def test_connections_that_are_not_used_are_closed() -> None:
    with Loopback() as broker, cluster_at(broker, client=Client(idle_s=0.2)) as cluster:
        cluster.fetch_metadata()
        cluster.close_idle()
        assert not broker.ended.acquire(timeout=0.05), "it was used just now"
        time.sleep(0.2)
        cluster.close_idle()
        assert broker.ended.acquire(timeout=LONG_S)
        cluster.fetch_metadata()
        assert len(broker.connections) == 2


def test_brokers_places_are_asked_again_when_they_are_old() -> None:
    def questions_with(client: Client) -> int:
        with Loopback() as broker, cluster_at(broker, client=client) as cluster:
            for _ in range(3):
                cluster.supports(1, METADATA)
            return broker.count(METADATA)

    assert questions_with(Client()) == questions_with(Client(metadata_age_s=60.0)) == 1
    assert questions_with(Client(metadata_age_s=0.0)) == 3


def test_a_broker_that_could_not_be_reached_is_left_alone_for_a_while() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        closed = f"127.0.0.1:{taken.getsockname()[1]}"
    client = Client(reconnect_s=0.2, reconnect_max_s=0.3)
    with Cluster(ClusterAddress(alias="A", bootstrap=(closed,), client=client)) as cluster:
        took = [seconds_to_fail(lambda: cluster.call_any(MetadataRequest()), "can't be reached") for _ in range(3)]
    assert took[0] < took[1] and took[1] >= 0.19 and took[2] >= 0.29


def test_pauses_and_timeouts_grow_up_to_their_bounds_and_begin_anew_after_a_success() -> None:
    attempts = Attempts(Client(reconnect_s=1.0, reconnect_max_s=3.0, setup_timeout_s=10.0, setup_timeout_max_s=15.0))
    seen = []
    for _ in range(3):
        attempts.note_failure(PLACE, 100.0)
        seen.append((attempts.pause_s(PLACE, 100.0), attempts.setup_timeout_s(PLACE, 5.0)))
    assert seen == [(1.0, 15.0), (2.0, 15.0), (3.0, 15.0)]
    assert attempts.pause_s(PLACE, 102.0) == 1.0 and attempts.pause_s(("other", 1), 100.0) == 0.0
    attempts.note_success(PLACE)
    assert (attempts.pause_s(PLACE, 100.0), attempts.setup_timeout_s(PLACE, 5.0)) == (0.0, 10.0)


def test_nothing_is_waited_for_where_nothing_is_said() -> None:
    attempts = Attempts(Client())
    attempts.note_failure(PLACE, 100.0)
    assert (attempts.pause_s(PLACE, 100.0), attempts.setup_timeout_s(PLACE, 5.0)) == (0.0, 5.0)


def test_bootstrap_servers_by_their_canonical_names() -> None:
    def places(canonical: bool) -> list[tuple[str, int]]:
        client = Client(canonical_names=canonical)
        return bootstrap_places(ClusterAddress(alias="A", bootstrap=("127.0.0.1:9", "SSL://[::1]:8"), client=client))

    assert places(False) == [("127.0.0.1", 9), ("::1", 8)]
    name = socket.gethostbyaddr("127.0.0.1")[0]
    assert name != "127.0.0.1" and (name, 9) in places(True)


def test_a_name_that_stands_for_nothing_is_said() -> None:
    address = ClusterAddress(alias="A", bootstrap=("no.such.host.invalid:1",), client=Client(canonical_names=True))
    with pytest.raises(ConnectionLostError, match=r"no\.such\.host\.invalid can't be resolved"):
        bootstrap_places(address)
