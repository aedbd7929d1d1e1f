"""The lead of one flow: taken, kept alive, lost, rested for a halt and given up. And the fences that come with it.

The claim topic says who leads (see `offsets/claims.py`); what is found there goes into the flow's view. Who leads says
so again once a lease; who stands by takes over when that is not heard any more.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.halt_text import halt_text
from sparkmirror.control.leadership import is_vacant, longest_lease_s, next_fence, renewal_s, unguarded_s
from sparkmirror.control.view import View
from sparkmirror.errors import SparkmirrorError
from sparkmirror.offsets.claims import Claims

log = logging.getLogger("sparkmirror.flow")


class Lead:
    """Tended by the keeper's thread, which sleeps on `wake`. `changed` is called when the view is another."""

    def __init__(
        self, flow: FlowConfig, claims: Claims, view: View, wake: threading.Event, changed: Callable[[], None]
    ) -> None:
        self._flow = flow
        self._claims = claims
        self._view = view
        self._wake = wake
        self._changed = changed
        self._allowed = threading.Event()
        self._has_led = False
        self._said_leads: bool | None = None
        self._last_generation = -1
        self._last_change = self._confirmed_at = time.monotonic()
        self._unguarded_until = 0.0
        self._fence = 0

    def allow(self) -> None:
        """From now on it may be taken: until then another can copy."""
        self._allowed.set()
        self._wake.set()

    def tend(self, prepare: Callable[[], None]) -> None:
        """See who leads, and lead if that is due. `prepare` is called before the lead is taken."""
        asked_at = time.monotonic()
        self._claims.refresh()
        self._note()
        self._confirmed_at = asked_at
        silent_s = time.monotonic() - self._last_change
        if self._view.leads:
            if silent_s >= self._flow.lease_s or self._claims.has_rest_to_say:
                self._say()
        elif self._allowed.is_set() and (
            not self._has_led or is_vacant(self._claims.leader, silent_s, self._flow.lease_s)
        ):
            prepare()
            self._take()

    def release(self) -> None:
        """Leave it to whoever stands by."""
        if self._view.leads:
            try:
                self._claims.release()
            except SparkmirrorError as error:
                log.debug("flow %s: the lead was not released: %s", self._flow.name, error)

    def _take(self) -> None:
        """The newest generation leads. What an earlier driver's lease may still write is waited for if unguarded."""
        if left_s := unguarded_s(self._claims.leader, self._claims.driver, self._flow.lease_s):
            self._unguarded_until = time.monotonic() + left_s
        self._has_led = True
        self._say()

    def _say(self) -> None:
        self._view.generation = self._claims.lead(self.longest_s)
        self._note()

    def _note(self) -> None:
        self._note_halt()
        leader = self._claims.leader
        generation = leader.generation if leader else -1
        if generation != self._last_generation:
            self._last_generation, self._last_change = generation, time.monotonic()
        leads = self._claims.leads()
        if leads == self._said_leads or not self._has_led:
            return
        self._view.leads = self._said_leads = leads
        if leads:
            log.info("flow %s: leads, with producer id %d", self._flow.name, self._claims.claim_producer_id())
        else:
            log.warning("flow %s: another driver leads, standing by", self._flow.name)
        self._changed()

    # -- halts

    def _note_halt(self) -> None:
        halt = self._claims.halt
        if halt == self._view.halt:
            return
        self._view.halt = halt
        if halt:
            log.warning("flow %s: %s", self._flow.name, halt_text(self._flow.name, halt))
        else:
            log.info("flow %s: goes on, the halt was lifted", self._flow.name)
        self._changed()

    @property
    def owes_rest(self) -> bool:
        """Whether it leads a halted flow and `note_rest` was not called yet."""
        return self._view.leads and self._view.halt is not None and self._claims.rested != self._view.halt.number

    def note_rest(self) -> None:
        """Nothing of the halted flow is under way, and its progress is written: whoever halted it waits for this."""
        if self._view.halt is not None:
            self._claims.rested = self._view.halt.number
            self._wake.set()

    # -- what leases need to know of it

    def next_fence(self) -> int:
        """Higher than every fence before, also those of earlier drivers: generations only grow."""
        self._fence = next_fence(self._fence, self._view.generation)
        return self._fence

    @property
    def unguarded_wait_s(self) -> float:
        """How long leases of the driver before may still write."""
        return max(0.0, self._unguarded_until - time.monotonic())

    @property
    def longest_s(self) -> float:
        """How long a lease lasts from when it was given or renewed: leader records say it to who takes over."""
        return longest_lease_s(self._flow.lease_s)

    @property
    def renewal_s(self) -> float:
        """For how long leases are renewed, 0: not at all."""
        unconfirmed_s = time.monotonic() - self._confirmed_at
        return renewal_s(unconfirmed_s, self._flow.lease_s) if self._view.is_active else 0.0
