"""Whoever halts a flow waits until nobody writes for it any more: its leader says so, or nobody can be left."""

from __future__ import annotations

import time
from collections.abc import Callable

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.silence import POLL_S, Silence
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.halts import Halt

REST_S = 30.0  # for a running mirror to end its leases, once those of a driver before it are over


def await_rest(target: Cluster, flow: FlowConfig, halt: Halt, tell: Callable[[str], None]) -> str:
    """Empty when nobody writes any more; else who has not said so."""
    silence, began = Silence(target, flow), time.monotonic()
    while True:
        leader = silence.leader
        if (leader and leader.rests_for(halt)) or silence.is_over:
            return ""
        who, waited_s = leader or "a driver that led", time.monotonic() - began
        if waited_s >= REST_S + silence.limit_s:
            return f"{who} has not ended its work within {waited_s:.0f} s"
        tell(f"waiting for {who} to end its work, or to be silent for {silence.limit_s:g} s")
        time.sleep(POLL_S)
        silence.listen()
