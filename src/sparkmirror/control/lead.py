"""The lead of one flow: taken, kept alive, lost, rested for a halt and given up. And the fences that come with it.

The claim topic says who leads (see `offsets/claims.py`); what is found there goes into the flow's view. Who leads says
so again once a lease; who stands by takes over when that is not heard any more. A driver that can't read the topic, or
can't write to it, may have been followed by another, so its leases end before that one writes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.halt_text import halt_text
from sparkmirror.control.leadership import (
    SKEW_MARGIN_S,
    is_vacant,
    leases_end_s,
    longest_lease_s,
    longest_left_s,
    next_fence,
    term_s,
    unguarded_s,
)
from sparkmirror.control.part import Part
from sparkmirror.control.view import View
from sparkmirror.errors import ConnectionLostError, SparkmirrorError
from sparkmirror.offsets.claims import Claims

log = logging.getLogger("sparkmirror.flow")

LOOK_EVERY_S = 2.0


class Lead:
    """Taken on the keeper's thread, which sleeps on `wake`, and kept on one of its own, which waits for nothing else.

    `changed` is called when the view is another.
    """

    def __init__(
        self, flow: FlowConfig, claims: Claims, view: View, wake: threading.Event, changed: Callable[[], None]
    ) -> None:
        self._flow = flow
        self._claims = claims
        self._view = view
        self._wake = wake
        self._changed = changed
        self._allowed = threading.Event()
        self.look_every_s = min(LOOK_EVERY_S, flow.lease_s / 2)
        self._has_led = False
        self.takes = -1  # how often the lead was taken when it was taken here
        self._times_anew = 0
        self._said_leads: bool | None = None
        self._last_generation = -1
        self._last_change = self._read_at = self._said_at = time.monotonic()
        self._unguarded_until = 0.0
        self._halted_at = 0.0
        self._fence = 0
        self._is_out_of_fences = False
        self._why_unconfirmed = ""
        self._ended = False
        self._due = threading.Event()
        self._looked = threading.Condition()
        self.part = Part(f"lead {flow.name}", self._keep)

    @property
    def is_confirmed(self) -> bool:
        """Whether the claim topic answered when it was last asked."""
        return not self._why_unconfirmed

    def allow(self) -> None:
        """From now on it may be taken: until then another can copy."""
        self._allowed.set()
        self._wake.set()
        self.part.start()

    def tend(self, prepare: Callable[[], None]) -> None:
        """While another leads: see whether it still does, and take the lead if not, after a call of `prepare`."""
        if self._view.leads:
            if self._why_unconfirmed and not self.is_sure:
                raise ConnectionLostError(self._why_unconfirmed)
            return
        self._look()
        if not self._claims.is_claimed:
            raise ConnectionLostError("the claim topic was made anew, and does not say yet what it said before")
        silent_s = time.monotonic() - self._last_change
        is_free = self._claims.leads() or is_vacant(self._claims.leader, silent_s, self._flow.lease_s)
        if self._allowed.is_set() and (is_free or not self._has_led):
            prepare()
            self._take()

    def end(self, *, release: bool) -> None:
        """Keep it no more. `release`: leave it to whoever stands by, at once."""
        self._ended = True
        self._due.set()
        has_ended = self.part.end(1.0)
        if not release or not self._view.leads or not has_ended:  # it waits for the target, and so would this
            return
        try:
            self._look()
            if self._view.leads and not self.unguarded_wait_s:  # else who follows must wait, too
                self._claims.release()
        except SparkmirrorError as error:
            log.debug("flow %s: the lead was not released: %s", self._flow.name, error)

    def _keep(self) -> None:
        """Confirm it, again and again, while it is this driver's."""
        while not self._ended:
            self._due.wait(self.look_every_s)
            self._due.clear()
            if self._ended or not self._view.leads:
                continue
            try:
                self._confirm()
                self._why_unconfirmed = ""
            except Exception as error:  # whatever it is: without this thread nothing would be copied any more
                log.debug("flow %s: the lead was not confirmed", self._flow.name, exc_info=error)
                self._why_unconfirmed = str(error) or type(error).__name__

    def _confirm(self) -> None:
        self._look()
        is_old = time.monotonic() - self._said_at >= self._flow.lease_s
        if self._view.leads and (is_old or self._claims.has_rest_to_say or self._is_out_of_fences):
            self._say()

    def _look(self) -> None:
        asked_at = time.monotonic()
        self._claims.refresh()
        self._note(asked_at)

    def _take(self) -> None:
        """The newest generation leads. What an earlier driver's lease may still write is waited for if unguarded."""
        self._has_led = True
        asked_at = time.monotonic()
        self._claims.lead(longest_left_s(self._claims.leader, self._flow.lease_s))
        self.takes = self._claims.takes
        left_s = unguarded_s(self._claims.before, self._flow.lease_s)
        self._unguarded_until = max(self._unguarded_until, time.monotonic() + left_s)
        self._note(asked_at, said=True)

    def _say(self) -> None:
        asked_at = time.monotonic()
        self._claims.lead(max(leases_end_s(self._flow.lease_s), self.unguarded_wait_s - SKEW_MARGIN_S))
        self._note(asked_at, said=True)

    def _note(self, asked_at: float, *, said: bool = False) -> None:
        """Another that led between two records of this driver has written: then it must be taken as from any other."""
        had_lapsed = self._view.is_active and not self.term_s
        leader = self._claims.leader
        generation = leader.generation if leader else -1
        if generation != self._last_generation:
            self._last_generation, self._last_change = generation, time.monotonic()
        leads = self._claims.leads() and self._claims.takes == self.takes
        is_news = self._has_led and leads != self._said_leads
        if is_news:
            self._view.leads = self._said_leads = leads
        has_fences = leads and self._is_out_of_fences and generation > self._view.generation
        if leads:
            self._view.generation = generation
        self._read_at = asked_at
        self._said_at = asked_at if said else self._said_at
        self._note_halt()
        self._note_accepted()
        if is_news and leads:
            log.info("flow %s: leads, with producer id %d", self._flow.name, self._claims.claim_producer_id())
        elif is_news and self._claims.times_anew != self._times_anew:
            log.error(
                "flow %s: its claim topic was deleted and made anew: who leads is found out again", self._flow.name
            )
        elif is_news:
            log.warning("flow %s: another driver leads, standing by", self._flow.name)
        self._times_anew = self._claims.times_anew
        if has_fences:
            self._is_out_of_fences = False
        with self._looked:
            self._looked.notify_all()
        if is_news or has_fences or (had_lapsed and self.term_s):
            self._changed()

    # -- what others want

    def _note_accepted(self) -> None:
        """The next round tries it."""
        if self._claims.accepted != self._view.accepted:
            for (topic, partition), one in self._claims.accepted.items() - self._view.accepted.items():
                log.info("flow %s: %s-%d: %s accepts %s", self._flow.name, topic, partition, one.by, one.fact)
            self._view.accepted = self._claims.accepted
            self._wake.set()
            self._changed()

    def _note_halt(self) -> None:
        halt = self._claims.halt
        if halt == self._view.halt:
            return
        self._view.halt, self._halted_at = halt, time.monotonic()
        self._wake.set()
        if halt:
            log.warning("flow %s: %s", self._flow.name, halt_text(self._flow.name, halt))
        else:
            log.info("flow %s: goes on, the halt was lifted", self._flow.name)
        self._changed()

    @property
    def owes_rest(self) -> bool:
        """Whether it leads a halted flow, no lease of the driver before can still write and `note_rest` was not called
        yet. Tasks that write rows may do so for the time that they were last given, and nobody knows which are left.
        """
        halt = self._view.halt
        if not self._view.leads or halt is None or self._claims.rested == halt.number or self.unguarded_wait_s:
            return False
        return not self._flow.by_rows or time.monotonic() - self._halted_at > self.longest_s

    def note_rest(self) -> None:
        """Nothing of the halted flow is under way, and its progress is written: whoever halted it waits for this."""
        if halt := self._view.halt:
            self._claims.rested = halt.number
            self._due.set()

    # -- what leases need to know of it

    def next_fence(self) -> int | None:
        """Higher than every fence before, also those of earlier drivers, and lower than those of later ones.

        None: the next leader record has more of them, and it is written soon.
        """
        fence = next_fence(self._fence, self._view.generation, by_rows=self._flow.by_rows)
        self._is_out_of_fences = fence is None
        if fence is None:
            self._due.set()
        else:
            self._fence = fence
        return fence

    @property
    def unguarded_wait_s(self) -> float:
        """How long leases of the driver before may still write."""
        return max(0.0, self._unguarded_until - time.monotonic())

    @property
    def longest_s(self) -> float:
        """How long a lease lasts after its driver last read that it leads."""
        return longest_lease_s(self._flow.lease_s)

    @property
    def term_s(self) -> float:
        """How long leases may last from now on, 0: none may."""
        return self._left_s if self._view.is_active else 0.0

    @property
    def is_sure(self) -> bool:
        """Whether it is known that this driver leads, also if the flow is halted."""
        return self._view.leads and self._left_s > 0

    def led_after_now(self, timeout_s: float) -> bool:
        """Whether this driver leads by a look that begins after the call. Whoever takes the lead later says so first,
        and then reads what was written before the call.
        """
        began = time.monotonic()
        self._due.set()
        with self._looked:
            self._looked.wait_for(lambda: self._read_at >= began or self._ended or not self._view.leads, timeout_s)
        return self._view.leads and self._read_at >= began

    @property
    def _left_s(self) -> float:
        now = time.monotonic()
        return term_s(now - self._read_at, now - self._said_at, self._flow.lease_s)
