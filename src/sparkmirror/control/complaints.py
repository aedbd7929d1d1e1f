"""When a flow's problem is worth a line of the log: a new one at once, one that stays once a minute. Pure."""

from __future__ import annotations

import re

AGAIN_S = 60.0
FLAPS_S = 5.0  # what comes and goes faster than that is said no more often

_CLUSTER = re.compile(r"cluster (\S+?):")


class Complaints:
    """A problem is known by its state and the cluster that it names: its words change while it stays the same."""

    def __init__(self) -> None:
        self._last: tuple[str, str] | None = None
        self._said_at = 0.0
        self._is_well = True

    def is_to_say(self, state: str, problem: str, now: float) -> bool:
        named = _CLUSTER.search(problem)
        key = state, named[1] if named else ""
        wait_s = FLAPS_S if self._is_well else AGAIN_S
        if key == self._last and now - self._said_at < wait_s:
            return False
        self._last, self._said_at, self._is_well = key, now, False
        return True

    def end(self) -> bool:
        """All is well: whether that is to be said."""
        was_well, self._is_well = self._is_well, True
        return not was_well
