"""A file's words about clients, bounds and errors, as tasks and the driver get them."""

from __future__ import annotations

import pytest

from sparkmirror.control.address import flow_address, reader_address, writer_address
from sparkmirror.control.rules import build_rules, flush_seconds, plan_pauses
from sparkmirror.copy.lease import MARKERS, Bounds, Errors, Rules
from sparkmirror.net.client import Client
from tests.support.flow_text import flow_of

# Each key of a connection, a value, and what a client is told by it.
CONNECTION: tuple[tuple[str, str, dict[str, object]], ...] = (
    ("client.id", "mine", {"client_id": "mine"}),
    ("client.dns.lookup", "resolve_canonical_bootstrap_servers_only", {"canonical_names": True}),
    ("client.dns.lookup", "use_all_dns_ips", {}),
    ("request.timeout.ms", "1500", {"request_timeout_s": 1.5}),
    ("default.api.timeout.ms", "1500", {"api_timeout_s": 1.5}),
    ("connections.max.idle.ms", "1500", {"idle_s": 1.5}),
    ("connections.max.idle.ms", "-1", {}),
    ("metadata.max.age.ms", "1500", {"metadata_age_s": 1.5}),
    ("receive.buffer.bytes", "1500", {"receive_buffer_bytes": 1500}),
    ("send.buffer.bytes", "-1", {"send_buffer_bytes": -1}),
    ("reconnect.backoff.ms", "1500", {"reconnect_s": 1.5}),
    ("reconnect.backoff.max.ms", "1500", {"reconnect_max_s": 1.5}),
    ("retry.backoff.ms", "1500", {"retry_s": 1.5}),
    ("retry.backoff.max.ms", "1500", {"retry_max_s": 1.5}),
    ("socket.connection.setup.timeout.ms", "1500", {"setup_timeout_s": 1.5}),
    ("socket.connection.setup.timeout.max.ms", "1500", {"setup_timeout_max_s": 1.5}),
)


def rules(more: str = "") -> Rules:
    built = flow_of(more)
    clients = (reader_address(built).client, writer_address(built).client)
    return build_rules(built, clients, fill_with=MARKERS, tasks=2, skip=())


@pytest.mark.parametrize(("bare", "value", "told"), CONNECTION, ids=str)
def test_each_client_is_told_what_the_file_says_of_it(bare: str, value: str, told: dict[str, object]) -> None:
    def clients(line: str) -> list[dict[str, object]]:
        built = flow_of(line)
        addresses = (
            reader_address(built),
            writer_address(built),
            flow_address(built.source, built),
            flow_address(built.target, built),
        )
        plain = Client(client_id="a->b|sparkmirror")
        names = Client.__dataclass_fields__
        return [
            {name: getattr(each.client, name) for name in names if getattr(each.client, name) != getattr(plain, name)}
            for each in addresses
        ]

    assert clients("") == [{}, {}, {}, {}]
    assert clients(f"a.consumer.{bare} = {value}") == [told, {}, {}, {}]
    assert clients(f"a.admin.{bare} = {value}") == [{}, {}, told, {}]
    assert clients(f"b.admin.{bare} = {value}") == [{}, {}, {}, told]
    if bare != "default.api.timeout.ms":
        assert clients(f"b.producer.{bare} = {value}") == [{}, told, {}, {}]


def test_what_nobody_says_is_left_to_the_copy() -> None:
    assert (rules().bounds, rules().errors, rules().begin) == (Bounds(), Errors(), "earliest")


@pytest.mark.parametrize(
    ("line", "bounds"),
    [
        ("readahead.queue.capacity = 500", Bounds(held_records=500)),
        ("b.producer.buffer.memory = 1000", Bounds(held_bytes=1000)),
        ("b.producer.max.request.size = 1000", Bounds(request_bytes=1000)),
        ("b.offset.flush.timeout.ms = 1500", Bounds(flush_timeout_s=1.5)),
        ("a.consumer.fetch.min.bytes = 1000", Bounds(fetch_min_bytes=1000)),
        ("a.consumer.fetch.max.bytes = 1000", Bounds(fetch_bytes=1000)),
        ("a.consumer.max.partition.fetch.bytes = 1000", Bounds(partition_bytes=1000)),
        ("a.consumer.fetch.max.wait.ms = 700", Bounds(fetch_wait_ms=700)),
        ("consumer.poll.timeout.ms = 600", Bounds(fetch_wait_ms=600)),
        ("a.consumer.fetch.max.wait.ms = 700\nconsumer.poll.timeout.ms = 600", Bounds(fetch_wait_ms=600)),
    ],
)
def test_bounds(line: str, bounds: Bounds) -> None:
    assert rules(line).bounds == bounds


@pytest.mark.parametrize(
    ("line", "errors"),
    [
        ("errors.retry.timeout = 1500", Errors(retry_timeout_s=1.5)),
        ("errors.retry.timeout = 0", Errors(retry_timeout_s=0.0)),
        ("errors.retry.timeout = -1", Errors()),
        ("errors.retry.delay.max.ms = 5000", Errors(longest_pause_s=5.0)),
        ("errors.retry.delay.max.ms = 20", Errors(first_pause_s=0.02, longest_pause_s=0.02)),
        ("errors.tolerance = all", Errors(tolerate=True)),
        ("errors.log.enable = true\nerrors.log.include.messages = true", Errors(log=True, log_content=True)),
        ("a.consumer.retry.backoff.ms = 300", Errors(first_pause_s=0.3)),
        ("b.producer.retry.backoff.ms = 3000", Errors(first_pause_s=3.0, longest_pause_s=3.0)),
        ("b.producer.retry.backoff.max.ms = 4000", Errors(longest_pause_s=4.0)),
    ],
)
def test_errors(line: str, errors: Errors) -> None:
    assert rules(line).errors == errors


def test_where_to_begin() -> None:
    assert rules("a.consumer.auto.offset.reset = latest").begin == "latest"
    assert rules("a.consumer.auto.offset.reset = by_duration:PT1H30M").begin == 5400.0


def test_no_client_is_hurried_and_no_pause_goes_beyond_what_all_permit() -> None:
    slow, quick = Client(retry_s=2.0, retry_max_s=8.0), Client(retry_s=0.1, retry_max_s=0.2)
    assert plan_pauses((slow, quick), first_s=1.0, longest_s=5.0) == (2.0, 8.0)
    assert plan_pauses((slow, quick), first_s=1.0, longest_s=5.0, most_s=3.0) == (2.0, 3.0)
    assert plan_pauses((Client(), Client()), first_s=1.0, longest_s=5.0) == (1.0, 5.0)


def test_progress_is_written_once_a_lease_or_as_often_as_the_file_says() -> None:
    assert flush_seconds(flow_of("lease.seconds = 8")) == 8.0
    assert flush_seconds(flow_of("lease.seconds = 8\nb.offset.flush.interval.ms = 3000")) == 3.0
    assert flush_seconds(flow_of("lease.seconds = 8\nb.offset.flush.interval.ms = 90000")) == 8.0
    assert flush_seconds(flow_of("b.offset.flush.interval.ms = 5")) == 1.0
