"""Whoever halts a flow waits until nobody writes for it any more: its leader says so, or nobody can be left.

A driver that says nothing need not be gone: it may be cut off from the claim topic, or its clock may be wrong. Its
leases last on for a while. So it counts as gone when this command has heard nothing new of it for longer than that.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.leadership import has_ended, silence_of_s
from sparkmirror.control.survey import read_progress
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.claims import Leadership, read_leader
from sparkmirror.offsets.halts import Halt
from sparkmirror.topology.storage import Storage

REST_S = 30.0  # for a running mirror to end its leases, once those of a driver before it are over
POLL_S = 0.5


def await_rest(target: Cluster, flow: FlowConfig, halt: Halt, tell: Callable[[str], None]) -> str:
    """Empty when nobody writes any more; else who has not said so."""
    storage = Storage.of(flow)
    began = heard_at = time.monotonic()
    heard: Leadership | None = None
    while True:
        leader, _ = read_leader(target, storage)
        now = time.monotonic()
        if _generation(leader) != _generation(heard):
            heard, heard_at = leader, now
        if leader and leader.rests_for(halt):
            return ""
        if has_ended(leader, now - heard_at, flow.lease_s) or not (leader or _has_copied(target, flow)):
            return ""
        who, silence_s = leader or "a driver that led", silence_of_s(leader, flow.lease_s)
        if now - began >= REST_S + silence_s:
            return f"{who} has not ended its work within {now - began:.0f} s"
        tell(f"waiting for {who} to end its work, or to be silent for {silence_s:g} s")
        time.sleep(POLL_S)


def _generation(leader: Leadership | None) -> int:
    return leader.generation if leader else -1


def _has_copied(target: Cluster, flow: FlowConfig) -> bool:
    """Then somebody has led, though the claim topic does not say it."""
    return bool(read_progress(target, target.fetch_metadata(), flow))
