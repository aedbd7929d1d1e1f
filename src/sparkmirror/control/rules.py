"""A flow's settings as its tasks need them. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from sparkmirror.config.model import FlowConfig
from sparkmirror.copy.lease import Bounds, Errors, Rules
from sparkmirror.net.client import Client
from sparkmirror.protocol.fetch import READ_COMMITTED, READ_UNCOMMITTED

SHORTEST_FLUSH_S = 1.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = Errors().first_pause_s, Errors().longest_pause_s


def build_rules(
    flow: FlowConfig, clients: Iterable[Client], *, fill_with: str, tasks: int, skip: tuple[int, ...]
) -> Rules:
    """`clients`: those of the source and of the target. `tasks` share what a flow may do in a second."""
    return Rules(
        isolation=READ_COMMITTED if flow.read_committed else READ_UNCOMMITTED,
        preserve=flow.offsets_preserve,
        max_hole=flow.max_hole,
        on_gap=flow.on_gap,
        on_recreate=flow.on_recreate,
        on_divergence=flow.on_divergence,
        fill_with=fill_with,
        bytes_per_second=flow.bytes_per_second and flow.bytes_per_second / tasks,
        rack=flow.consumer.client_rack or "",
        skip_producers=skip,
        begin=flow.consumer.auto_offset_reset,
        bounds=_build_bounds(flow),
        errors=_build_errors(flow, clients),
    )


def _build_bounds(flow: FlowConfig) -> Bounds:
    waits = (flow.consumer.fetch_max_wait_ms, flow.limits.poll_timeout_ms)
    return Bounds(
        held_bytes=flow.producer.buffer_memory,
        held_records=flow.limits.readahead_records,
        request_bytes=flow.producer.max_request_size,
        flush_timeout_s=flow.limits.flush_timeout_ms / 1000,
        fetch_bytes=flow.consumer.fetch_max_bytes,
        partition_bytes=flow.consumer.max_partition_fetch_bytes,
        fetch_min_bytes=flow.consumer.fetch_min_bytes,
        latency_ms=flow.latency_ms,
        fetch_wait_ms=min((wait for wait in waits if wait is not None), default=None),
    )


def _build_errors(flow: FlowConfig, clients: Iterable[Client]) -> Errors:
    errors, delay_ms = flow.errors, flow.errors.retry_delay_max_ms
    first_s, longest_s = plan_pauses(
        clients,
        first_s=FIRST_PAUSE_S,
        longest_s=LONGEST_PAUSE_S,
        most_s=None if delay_ms is None else delay_ms / 1000,
    )
    return Errors(
        first_pause_s=first_s,
        longest_pause_s=longest_s,
        retry_timeout_s=None if errors.retry_timeout_ms < 0 else errors.retry_timeout_ms / 1000,
        tolerate=errors.tolerate_all,
        log=errors.log,
        log_content=errors.log_messages,
    )


def plan_pauses(
    clients: Iterable[Client], *, first_s: float, longest_s: float, most_s: float | None = None
) -> tuple[float, float]:
    """The first and the longest pause between tries that ask several clients' brokers: no client is hurried.

    `first_s` and `longest_s` hold where no client says anything, `most_s` bounds whatever they say.
    """
    clients = tuple(clients)
    firsts = [client.retry_s for client in clients if client.retry_s is not None]
    mosts = [client.retry_max_s for client in clients if client.retry_max_s is not None]
    first_s = max(firsts, default=first_s)
    longest_s = max(mosts, default=max(first_s, longest_s))
    if most_s is not None:
        longest_s = min(longest_s, most_s) if mosts else most_s
    return min(first_s, longest_s), longest_s


def flush_seconds(flow: FlowConfig) -> float:
    """How often progress is written."""
    return max(SHORTEST_FLUSH_S, min(flow.lease_s, flow.limits.flush_interval_ms / 1000))
