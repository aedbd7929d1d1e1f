"""A part of the driver that has a thread of its own, and is begun again if an error that nobody expected ends it.

    well      ----- an error -----> failing: said with its traceback, begun again after a pause that grows
    failing   -- WELL_S without --> well
    failing   -- for GIVE_UP_S ---> broken: the supervisor ends the mirror, so that another driver can lead

A thread that ends unnoticed is worse than a mirror that ends: leases would go on under a lead that nobody tends.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

log = logging.getLogger("sparkmirror.part")

FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 30.0
WELL, FAILING, BROKEN = "well", "failing", "broken"
WELL_S = 60.0
GIVE_UP_S = 60.0


class Part:
    """`work` returns when it is told to end, by whatever means its owner has; `failed` is told what went wrong."""

    def __init__(self, name: str, work: Callable[[], None], failed: Callable[[str], None] = lambda _: None) -> None:
        self.name = name
        self.trouble = ""  # why it was begun again, until it has been well for a while
        self.is_broken = False
        self._work = work
        self._failed = failed
        self._ends = threading.Event()
        self._failing_since = 0.0
        self._failed_at = 0.0
        self._said: set[str] = set()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self, timeout_s: float) -> bool:
        """Begin it no more, and wait for its thread. Whether that has ended, or never began."""
        self._ends.set()
        if self._thread.ident is not None:
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    @property
    def state(self) -> str:
        if self.is_broken:
            return BROKEN
        return FAILING if self.trouble and time.monotonic() - self._failed_at < WELL_S else WELL

    def _run(self) -> None:
        pause_s = FIRST_PAUSE_S
        while not self._ends.is_set():
            began = time.monotonic()
            try:
                self._work()
                return
            except Exception as error:  # whatever it is, the part must go on or be seen to have ended
                was_well = time.monotonic() - began >= WELL_S
                self._note(error, was_well=was_well)
                pause_s = FIRST_PAUSE_S if was_well else pause_s
            if self.is_broken:
                return
            self._ends.wait(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _note(self, error: Exception, *, was_well: bool) -> None:
        now = self._failed_at = time.monotonic()
        if was_well or not self.trouble:
            self._failing_since = now
        self.trouble = f"{type(error).__name__}: {error}"
        self.is_broken = now - self._failing_since >= GIVE_UP_S
        is_news = self.trouble not in self._said
        self._said.add(self.trouble)
        outcome = "is given up" if self.is_broken else "is begun again"
        log.error("%s failed and %s: %s", self.name, outcome, self.trouble, exc_info=error if is_news else None)
        self._failed(self.trouble)
