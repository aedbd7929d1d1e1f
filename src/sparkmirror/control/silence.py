"""Whether somebody may still write for a flow: heard in its claim topic, not reckoned by the age of what stands there.

A driver that says nothing need not be gone: it may be cut off from the claim topic, or its clock may be behind. Its
leases last on for a while. So it counts as gone when nothing new was heard of it for longer than that.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.leadership import has_ended, silence_of_s
from sparkmirror.control.survey import find_leader, read_progress, runs
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.claims import Leadership

POLL_S = 0.5


class Silence:
    """Since a flow's leader was last heard. Blocking; listens when it is made, too."""

    def __init__(self, target: Cluster, flow: FlowConfig) -> None:
        self._target, self._flow = target, flow
        self.leader = self._read()
        self._heard_at = time.monotonic()

    def listen(self) -> bool:
        """Whether somebody leads who has said something new."""
        leader = self._read()
        if _generation(leader) == _generation(self.leader):
            return False
        self.leader, self._heard_at = leader, time.monotonic()
        return leader is not None and leader.leaves_leases

    @property
    def limit_s(self) -> float:
        return silence_of_s(self.leader, self._flow.lease_s)

    @property
    def is_over(self) -> bool:
        """It has lasted so long, or such was the leader's last word, that nobody can still write."""
        if self.leader is None and not self._has_copied():
            return True
        return has_ended(self.leader, time.monotonic() - self._heard_at, self._flow.lease_s)

    def _read(self) -> Leadership | None:
        return find_leader(self._target, self._target.fetch_metadata(), self._flow)[0]

    def _has_copied(self) -> bool:
        """Then somebody has led, though the claim topic does not say it. Positions alone may be a MirrorMaker 2's."""
        written = read_progress(self._target, self._target.fetch_metadata(), self._flow)
        return any(standing.target_end >= 0 for standing in written.values())


def find_writer(silence: Silence, flow: FlowConfig, tell: Callable[[str], None]) -> Leadership | None:
    """Who may still write for the flow. None: nobody any more, which is waited for where it is not said."""
    if runs(flow, silence.leader):
        return silence.leader
    if not silence.is_over:
        who = silence.leader or "a driver that led"
        tell(f"{who} has not said that it ended: waiting until it was silent for {silence.limit_s:g} s")
    while not silence.is_over:
        time.sleep(POLL_S)  # that nobody says anything is no event
        if silence.listen():
            return silence.leader
    return None


def await_newcomer(silence: Silence, seconds: float) -> Leadership | None:
    """Who comes forward within this time, if anybody does."""
    until = time.monotonic() + seconds
    while not silence.listen():
        if time.monotonic() > until:
            return None
        time.sleep(POLL_S)  # that nobody leads is no event
    return silence.leader


def _generation(leader: Leadership | None) -> int:
    return leader.generation if leader else -1
