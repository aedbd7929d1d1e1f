"""One flow under supervision: its clusters, its claim, its partitions and how far they are.

A keeper runs on a thread of its own, so that a cluster that does not answer holds up only its own flow. The
supervisor reads its findings and is told when they change.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.address import flow_address, lead_address, reader_address, writer_address
from sparkmirror.control.complaints import Complaints
from sparkmirror.control.discovery import Discovery, Landscape, Place, pick_leaders
from sparkmirror.control.evident import find_evident, has_shrunk
from sparkmirror.control.fact_writer import FactWriter
from sparkmirror.control.hole_watch import HoleWatch
from sparkmirror.control.incarnation_guard import IncarnationGuard
from sparkmirror.control.lag import Ends, count_missing, merge_ends, move_sources
from sparkmirror.control.lag_watch import LagWatch
from sparkmirror.control.lead import Lead
from sparkmirror.control.leadership import silence_limit_s
from sparkmirror.control.ledger import Ledger
from sparkmirror.control.log_starts import LogStarts
from sparkmirror.control.offset_sync_writer import OffsetSyncWriter
from sparkmirror.control.open_transactions import TransactionWatch
from sparkmirror.control.other_way import OtherWay
from sparkmirror.control.part import WELL, Part
from sparkmirror.control.probes import Probes
from sparkmirror.control.progress_keeper import ProgressKeeper
from sparkmirror.control.rival import RivalError, RivalWatch
from sparkmirror.control.rules import build_rules, flush_seconds, plan_pauses
from sparkmirror.control.step import admin_step
from sparkmirror.control.storage import refuse_impossible_factors
from sparkmirror.control.times_watch import TimesWatch
from sparkmirror.control.topic_facts import all_places, find_part_facts
from sparkmirror.control.upkeep import Upkeep
from sparkmirror.control.view import View
from sparkmirror.copy.lease import Heartbeat, Lease
from sparkmirror.copy.receipt import STOPPED, Receipt
from sparkmirror.errors import BrokerError, ConnectionLostError, SparkmirrorError
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.ends_watch import EndsWatch
from sparkmirror.offsets.claims import Claims
from sparkmirror.offsets.seen import Seen
from sparkmirror.topology.choose import choose_policy
from sparkmirror.topology.fact import Fact
from sparkmirror.topology.leases import plan_leases
from sparkmirror.topology.policy import looks_like_heartbeats
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage

log = logging.getLogger("sparkmirror.flow")

CALM_ENDS_S = 30.0  # how often logs' ends are asked for while nothing happens
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 2.0  # a cluster that is back is not kept waiting
PRUNE_EVERY_S = 300.0
MEASURE_EVERY_S = 5.0
ACCEPTED_EVERY_S = 1.0
CONFIRM_S = 5.0


class FlowKeeper:
    def __init__(self, flow: FlowConfig, ledger: Ledger, changed: Callable[[], None]) -> None:
        self.flow = flow
        self.view = View()
        self.source = Cluster(flow_address(flow.source, flow))
        self.target = Cluster(flow_address(flow.target, flow))
        self._reader, self._writer = reader_address(flow), writer_address(flow)
        self._storage = Storage.of(flow)
        self._ledger = ledger
        self._changed = changed
        self._aside = Cluster(lead_address(flow))  # the lead is kept whatever others wait for
        self._claims = Claims(self._aside, self._storage, flow.internal_replication_factor, self._say_again)
        self.progress = ProgressKeeper(
            flow.name,
            self.target,
            self._storage,
            flow.internal_replication_factor,
            may_write=lambda: self.lead.is_sure,
            tries_again=not flow.by_rows,
        )
        self._syncs = OffsetSyncWriter(flow, self.source, self.target, choose_policy(flow))
        self._unwritten = ""  # why offset syncs are not
        self._facts = FactWriter(flow, self.target)
        self._transactions = TransactionWatch(self.source, flow.open_transaction_warn_s)
        self._holes = HoleWatch()
        self._producer_id: int | None = None
        self._begun: set[Place] = set()  # partitions that something was ever known of
        self._times_anew = 0
        self._led_last = False
        self._halted_for = -1  # the number of the halt since which this one's thread has left both clusters alone
        self._unclaimed_since = 0.0
        self._new_id = (-1, 0.0)  # one that the flow back may not know yet, and since when it could
        self._known_id: int | None = None  # one that it knows
        self._heeded = self.view.accepted
        self.is_calm = False  # nothing has happened for a while
        self._rivals = RivalWatch(flow, self.source, self.target)
        self._watches = EndsWatch(self.source), EndsWatch(self.target)
        self._fresh: dict[Place, Ends] = {}  # what the last look at both logs' ends found
        self._stopped: set[Place] = set()  # partitions that had stopped when last looked
        self._evident: set[Place] = set()  # partitions that tasks were begun anew for
        self._probes = Probes(flow, self._writer)
        self._times = TimesWatch(self.target)
        self._ends_at = self._written_at = self._next_prune = 0.0  # logs' ends, progress, maps
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._is_stale = threading.Event()
        self.lead = Lead(flow, self._claims, self.view, self._wake, changed)
        self.guard = IncarnationGuard(
            self.source,
            self.target,
            self.lead,
            lambda: self.progress.written,
            lambda: ledger.facts(flow.name),
            self._begun_anew,
        )
        self._discovery = Discovery(flow, self.source, self.target, self._claims, self.guard.find_unlike)
        self._upkeep = Upkeep(flow, self.source, self.target, self._claims, self._discovery.selector, self.guard)
        self._log_starts = LogStarts(flow.name, self.source, self.target, self.guard)
        self._complaints = Complaints()
        self._part = Part(f"flow {flow.name}", self._run, self._note_failure)
        self._lag_watch = LagWatch(flow, self.view, self._take_source_ends)
        self.parts = [
            self._part,
            self.lead.part,
            self._lag_watch.part,
        ]  # all that has a thread of its own for this flow
        self._other_way: OtherWay | None = None
        if flow.naming.is_mutual:
            self._other_way = OtherWay(flow, self._claims, self.lead.look_every_s, changed)
            self.parts.append(self._other_way.part)

    def start(self) -> None:
        """Get to know the clusters. The lead is taken when `lead.allow` was called."""
        self._part.start()
        self._lag_watch.start()

    def stop(self, *, is_done: bool = True) -> None:
        """Write the last facts and leave the lead to whoever stands by, unless a task may still write."""
        self._stop.set()
        self._wake.set()
        has_ended = self._part.end(1.0)
        if has_ended and self._part.state == WELL:  # else this would wait for the target, or fail as that one did
            self.write_facts()
        self.lead.end(release=is_done)
        self._lag_watch.end()
        if self._other_way:
            self._other_way.end()
        for cluster in (self.source, self.target, self._aside):
            cluster.end()
        self._probes.close()

    def plan(
        self,
        tasks: int,
        round_number: int,
        *,
        hints: Mapping[Place, Standing],
        weights: Mapping[Place, float],
        troubled: Collection[Place],
        stop_at: Mapping[Place, int] | None,
    ) -> list[Lease]:
        """Leases for the next round; none while there is nothing to do or it is not known that this driver leads."""
        view, accepted = self.view, self._heeded_words()
        if not self.term_s or view.landscape is None or self._producer_id is None or self._is_stale.is_set():
            return []
        wanted = {(p.topic, p.partition): p for p in view.landscape.partitions}
        if stop_at is not None:
            wanted = {k: replace(p, stop_at=stop_at[k]) for k, p in wanted.items() if k in stop_at}
        fence = self.lead.next_fence() if wanted else None
        if fence is None:
            return []
        failing = self._ledger.failing(self.flow.name)
        nodes = {place: leader.node for place, leader in view.landscape.leaders.items()}
        groups = plan_leases(list(wanted), max(1, tasks), nodes, weights)
        known = {k: self.progress.believe(hints.get(k)) or self.progress.written.get(k) for k in wanted}
        self._begun |= {k for k, hint in known.items() if hint}
        return [
            Lease(
                lease_id=f"{round_number}.{self.flow.name}.{index}",
                flow=self.flow.name,
                source=self._reader,
                target=self._writer,
                producer_id=self._producer_id,
                fence=fence,
                seconds=self.lead.longest_s,
                partitions=tuple(
                    replace(
                        wanted[k],
                        hint=known[k],
                        troubled=k in troubled,
                        failing_s=failing.get(k, 0.0),
                        is_new=k not in self._begun and wanted[k].producer_id in self._claims.drawn,
                        accepts=accepted.get(k, ""),
                    )
                    for k in group
                ),
                unguarded_wait_s=self.lead.unguarded_wait_s,
                is_calm=self.is_calm,
                rules=build_rules(
                    self.flow,
                    (self._reader.client, self._writer.client),
                    fill_with=self._probes.fill_with,
                    tasks=len(groups),
                    skip=self._skip,
                ),
                storage=self._storage,
            )
            for index, group in enumerate(groups)
        ]

    @property
    def term_s(self) -> float:
        """How long leases may last from now on, 0: none may."""
        return min(self.lead.term_s, self._other_way.term_s) if self._other_way else self.lead.term_s

    def is_current(self, lease: Lease) -> bool:
        """Whether it leaves out all that is known to have come from the target. To be asked after `term_s`: who has
        looked since then knows more.
        """
        return not lease.partitions or lease.rules.skip_producers == self._skip

    @property
    def _skip(self) -> tuple[int, ...]:
        return self._other_way.skip if self._other_way else ()

    @property
    def owes_rest(self) -> bool:
        """Whether a halt was not answered yet, and nothing that this keeper looks after is under way."""
        halt = self.view.halt
        return self.lead.owes_rest and halt is not None and self._halted_for == halt.number

    def plan_heartbeat(self) -> Heartbeat | None:
        """The heartbeat that a task shall emit for this flow, if it is to and can."""
        interval_s = self.flow.heartbeats.interval_s
        if interval_s is None or not self.view.is_active or not self._upkeep.has_heartbeats:
            return None
        topic = self._discovery.selector.policy.heartbeats_topic()
        return Heartbeat(source=self.flow.source.alias, target=self._writer, topic=topic, interval_s=interval_s)

    def plan_empty(self, round_number: int) -> Lease | None:
        """A lease that copies nothing, for what else a task may have to do."""
        if not self.lead.term_s or self._producer_id is None:
            return None
        return Lease(
            lease_id=f"{round_number}.{self.flow.name}.0",
            flow=self.flow.name,
            source=self._reader,
            target=self._writer,
            producer_id=self._producer_id,
            fence=0,  # it writes no marker
            seconds=self.lead.longest_s,
            partitions=(),
            is_calm=True,
        )

    def note_progress(self, positions: Mapping[Place, Standing], receipts: Iterable[Receipt]) -> None:
        """What tasks have told, of this flow and others. It is written soon."""
        mine = [receipt for receipt in receipts if receipt.flow == self.flow.name]
        self._syncs.take(mine)
        self.progress.note(positions, mine)
        if any(receipt.kind == STOPPED for receipt in mine):
            self._wake.set()

    def write_progress_soon(self) -> None:
        self._written_at = 0.0
        self._wake.set()

    def write_progress(self) -> None:
        """Who stands by leaves it to the leader, and so does who may have been followed by one."""
        self._written_at = time.monotonic()
        if self.lead.is_sure:
            self.progress.write()
        elif self.flow.by_rows:  # tasks may write newer ones themselves before it is sure again
            self.progress.drop()

    def write_standing(self, place: Place, standing: Standing) -> None:
        """A task wants it known before it appends anything, also to a driver that has taken the lead meanwhile."""
        if not self.lead.is_sure:
            raise ConnectionLostError("another driver may lead: nothing is written for this one's leases")
        self.progress.write_now(place, standing)
        if not self.lead.led_after_now(CONFIRM_S):
            raise ConnectionLostError("another driver may have read progress before this was written")

    def write_facts(self) -> None:
        """Bring the status topic up to the ledger. Who stands by leaves it to the leader.

        The keeper's own thread does it, every few seconds: when the target is away there is news of all its
        partitions, and writing that must hold up no other flow.
        """
        if self.view.leads:
            self._facts.write(self._ledger.facts(self.flow.name))

    def _write_syncs(self) -> None:
        """Nothing of ours depends on them. What passes is no news, and is written later."""
        if not self.view.is_active:
            return
        try:
            self._syncs.write()
            self._unwritten = ""
        except SparkmirrorError as error:
            is_news = str(error) != self._unwritten and isinstance(error, BrokerError)
            log.log(
                logging.WARNING if is_news else logging.DEBUG,
                "flow %s: offset syncs were not written: %s", self.flow.name, error,
            )  # fmt: skip
            self._unwritten = str(error)

    # -- the keeper's thread

    def _run(self) -> None:
        clients = (self.source.address.client, self.target.address.client)
        first_s, longest_s = plan_pauses(clients, first_s=FIRST_PAUSE_S, longest_s=LONGEST_PAUSE_S)
        pause_s, next_look, next_measure = first_s, 0.0, 0.0
        flush_s = flush_seconds(self.flow)
        while not self._stop.is_set():
            try:
                self._begin()
                led = self.view.leads
                self.lead.tend(self._prepare_lead)
                if self._other_way and self.view.leads and not led:
                    self._other_way.look_soon()
                if time.monotonic() - self._written_at >= flush_s:
                    self.write_progress()
                if self.view.halt is None:  # a halted flow comes to rest whoever else runs
                    self._heed_rival()
                self._refresh_progress()  # after it has written its last
                if halt := self.view.halt:
                    next_look = 0.0  # as soon as it goes on
                    self._halted_for = halt.number
                elif (
                    self._has_news()
                    or not self.lead.is_confirmed
                    or time.monotonic() >= next_look
                    or (self.view.leads and not led)
                ):
                    self._look()
                    next_look = time.monotonic() + self._until_next_look_s()
                    next_measure = time.monotonic() + MEASURE_EVERY_S
                elif self._has_moved() or time.monotonic() >= next_measure:
                    self._measure()
                    next_measure = time.monotonic() + MEASURE_EVERY_S
                self.write_facts()
                self._spend_accepted()
                self.source.close_idle()
                self._write_syncs()
                if self._other_way and self.view.leads:
                    self._other_way.complain()
                self._note_well()
                pause_s = first_s
                wait_s = min(self.lead.look_every_s, self.flow.refresh_topics_interval_s, flush_s)
            except SparkmirrorError as error:
                self.view.silent = error.alias if isinstance(error, ConnectionLostError) else ""
                self._complain(str(error), _problem_state(error))
                next_look = 0.0  # it asks whichever broker answers, and says of which cluster none does
                wait_s, pause_s = pause_s, min(2 * pause_s, longest_s)
            self._wake.wait(wait_s)
            self._wake.clear()

    def _heed_rival(self) -> None:
        """Beside a MirrorMaker 2 nothing is copied: what both write is there twice."""
        before, self.view.rival = self.view.rival, self._rivals.tend()
        if before != self.view.rival:
            self._changed()
        if self.view.rival:
            raise RivalError(f"{self.view.rival}: it is waited for")

    def _begin(self) -> None:
        """Claim the producer id, and read what an earlier driver knew: once. Progress is read by who leads.

        Again where the claim topic was made anew.
        """
        if self._producer_id is not None and self._times_anew == self._claims.times_anew:
            return
        self._producer_id, self._times_anew = None, self._claims.times_anew
        with admin_step(self.flow):
            self._claim()

    def _claim(self) -> None:
        refuse_impossible_factors(self.flow, self.target.fetch_metadata())
        self._await_claim()
        producer_id = self._claims.claim_producer_id()
        self._probes.look_at_filling(producer_id)
        self.progress.ensure()
        self._await_other_way(producer_id)
        self._transactions.believe(self._read_facts())
        self._producer_id = producer_id
        self._unclaimed_since = 0.0

    def _await_claim(self) -> None:
        """Progress without a claim: that was lost, and a driver that leads by the lost one says it anew. It may still
        write, and under another id nothing would keep it from writing what this one does.
        """
        if self._claims.has_claim() or not (self._claims.has_lost or self.progress.has_copied()):
            return
        now = time.monotonic()
        self._unclaimed_since = self._unclaimed_since or now
        left_s = self._unclaimed_since + silence_limit_s(self.flow.lease_s) - now
        if left_s > 0:
            raise ConnectionLostError(
                f"the claim topic is new and progress is not: waiting {left_s:.0f} s for a driver that still leads"
            )

    def _await_other_way(self, producer_id: int) -> None:
        """Where names stay both ways: leases of the flow back that do not know the id would copy its records back."""
        if self._other_way is None:
            return
        self._other_way.begin()
        if self._claims.has_led or producer_id == self._known_id:
            return
        if self._new_id[0] != producer_id:
            self._new_id = producer_id, time.monotonic()
        left_s = self._new_id[1] + self._other_way.unknowing_s - time.monotonic()
        if left_s > 0:
            raise ConnectionLostError(
                f"producer id {producer_id} is new: waiting {left_s:.0f} s, until the flow back knows it"
            )
        self._known_id = producer_id

    def _refresh_progress(self) -> None:
        if self._is_stale.is_set() and self.view.leads:
            self.progress.read(keep=self._led_last)
            self._discovery.expect(topic for topic, _ in self.progress.written)
            self._is_stale.clear()
            self._changed()

    def _read_facts(self) -> Mapping[Place, Fact]:
        """The ledger goes on from what the driver before has written; if that was this one, from what it knows."""
        found = self._facts.read()
        if not self._claims.led_last:
            self._ledger.begin_with(self.flow.name, found)
        return self._ledger.facts(self.flow.name)

    def _say_again(self) -> bool:
        """The claim topic was made anew, perhaps progress and facts as well. Whoever takes the lead next reads them."""
        if not self.lead.is_sure or self._is_stale.is_set():
            return False
        if not self.progress.write():
            raise ConnectionLostError("progress can't be written, and whoever takes the lead next reads it")
        self._facts.write(self._ledger.facts(self.flow.name), looks=True)
        return True

    def _prepare_lead(self) -> None:
        """Another driver may have written since. Progress is read before the first lease."""
        self._read_facts()
        self._led_last = self._claims.led_last
        self.progress.take_lead()
        self._is_stale.set()

    def _look(self) -> None:
        landscape = self._discovery.look()
        with admin_step(self.flow):
            assert self._producer_id is not None
            self._probes.look_at_filling(self._producer_id)
            self._probes.look_at_reading(landscape.pairs)
            self._times.look(landscape.pairs)
        before = self.view.landscape
        self.view.landscape = landscape
        self._measure()
        self._prune_maps(landscape)
        if self.flow.sync_log_start and self.lead.term_s:
            equal = [p for p in landscape.partitions if self.progress.is_equal(p.place)]
            self._log_starts.sync(equal, self._discovery.last_seen(), self.progress.written)
        could_beat = self._upkeep.has_heartbeats
        if self.view.leads:
            self.progress.forget(self._upkeep.tend(landscape, self._discovery.last_seen(), self.progress.written.get))
        is_new = before is None or before.partitions != landscape.partitions
        self._watch_ends(landscape)
        if is_new and (fresh := _new_topics(before, landscape)):
            log.info("flow %s: mirrors %s", self.flow.name, ", ".join(fresh))
        if is_new or could_beat != self._upkeep.has_heartbeats:
            self._changed()

    def _has_news(self) -> bool:
        """Whether since the last time something was accepted: a topic may be gone that is to be made anew. Or something
        stopped: both sides may be others than were seen last, and how much is missing there is to be told.
        """
        accepted, self._heeded = self._heeded, self.view.accepted
        stopped, self._stopped = self._stopped, self._ledger.stopped(self.flow.name)
        return self._heeded != accepted or not self._stopped <= stopped

    def _heeded_words(self) -> dict[Place, str]:
        """The facts that partitions may go past, by those that stop them now."""
        facts, written = self._ledger.facts(self.flow.name), self.progress.written
        accepted = self.view.accepted.items()
        return {place: one.fact for place, one in accepted if one.holds(facts.get(place), written.get(place))}

    def _begun_anew(self) -> set[Place]:
        """Partitions whose target topic was deleted to be mirrored anew, and that have not begun there yet."""
        written, accepted = self.progress.written, self.view.accepted.items()
        return {place for place, one in accepted if one.target_id and one.holds(None, written.get(place))}

    def _spend_accepted(self) -> None:
        """What went on is accepted no more."""
        passed, heeded = self._ledger.take_passed(self.flow.name), self._heeded_words()
        spent = [place for place in self.view.accepted if place in passed or place not in heeded]
        if spent and self.lead.is_sure:
            self.write_progress()  # a driver that follows must not meet it again
            self._claims.note_spent(spent)

    def _prune_maps(self, landscape: Landscape) -> None:
        """Now and then: what the target removed needs no place in the offset map."""
        translated = [p for p in landscape.partitions if self.progress.is_translated(p.place)]
        if not self.lead.term_s or not translated or time.monotonic() < self._next_prune:
            return
        self._next_prune = time.monotonic() + PRUNE_EVERY_S
        starts = self._discovery.fetch_target_starts(translated)
        others = self.guard.find_others({p.topic: p.remote for p in translated})
        self.progress.prune({place: start for place, start in starts.items() if place[0] not in others})

    def _measure(self) -> None:
        landscape = self.view.landscape
        assert landscape is not None
        with admin_step(self.flow):
            if self._is_to_measure():
                self._fresh = self._discovery.fetch_ends(landscape.partitions, self.progress.written)
                self._ends_at = self.view.heard_at = time.monotonic()
                places = {(p.topic, p.partition) for p in landscape.partitions}
                known = {place: end for place, end in (self.view.ends or {}).items() if place in places}
                self.view.ends = merge_ends(known, self._fresh)
                facts = self._ledger.facts(self.flow.name)
                missing = count_missing(self.view.ends, self.progress.written, facts)
                self._claims.seen = Seen.of(int(time.time() * 1000), missing)
                self._have_looked_at(landscape, facts)
            self.view.measured_at = time.monotonic()
            self._note_facts(landscape, self._fresh)

    def _watch_ends(self, landscape: Landscape) -> None:
        """Of both sides' logs. Heartbeats come every second, also where nothing else happens."""
        watched = [p for p in landscape.partitions if not looks_like_heartbeats(p.topic)]
        places = [p.place for p in watched], [(p.remote, p.target_partition) for p in watched]
        for watch, metadata, side in zip(self._watches, self._discovery.last_seen(), places, strict=True):
            watch.look_at(pick_leaders(metadata, side))

    def _has_moved(self) -> bool:
        """While nothing happens only a stranger moves the target's ends: then those of both sides are measured. While
        much happens a cluster that goes away is known all the same.
        """
        if self.view.ends is None:
            return False
        with admin_step(self.flow):
            moved = [watch.have_moved() for watch in self._watches]
        has_moved = self.is_calm and any(moved)
        if has_moved:
            self._ends_at = 0.0
        return has_moved

    def _have_looked_at(self, landscape: Landscape, facts: Mapping[Place, Fact]) -> None:
        """Tasks look at a target's log when they begin. Where its end shows that somebody else wrote, or that it was
        cut, let others begin: before the next record comes, and is appended behind that.
        """
        evident = {
            place
            for p in landscape.partitions
            if (place := (p.topic, p.partition)) in self._fresh
            and place not in facts
            and p.producer_id is None
            and (
                find_evident((p.topic, p.remote), *self._fresh[place].highs, self.progress.written.get(place))
                or has_shrunk(self._fresh[place].target, self.progress.written.get(place))
            )
        }
        if evident - self._evident:
            self._changed()
        self._evident = evident

    def _is_to_measure(self) -> bool:
        """While nothing happens it is not asked so often, unless something stands still: its lag grows."""
        if self.view.ends is None or not self.is_calm or self._ledger.troubled(self.flow.name):
            return True
        return time.monotonic() - self._ends_at >= CALM_ENDS_S

    def _take_source_ends(self, stable: Mapping[Place, int], high: Mapping[Place, int]) -> None:
        """The source was heard by itself."""
        self.view.heard_at = time.monotonic()
        self.view.ends = move_sources(self.view.ends or {}, stable, high)

    def _until_next_look_s(self) -> float:
        """New topics have the file's time; what waits to be made, or is due beside the copy, does not wait for it."""
        refresh_s = self.flow.refresh_topics_interval_s
        landscape = self.view.landscape
        if landscape is None or landscape.pending or landscape.facts:
            refresh_s = min(refresh_s, MEASURE_EVERY_S)
        if self.view.accepted:
            refresh_s = min(refresh_s, ACCEPTED_EVERY_S)
        return min(refresh_s, self._upkeep.due_in_s()) if self.view.leads else refresh_s

    def _note_facts(self, landscape: Landscape, ends: Mapping[Place, Ends]) -> None:
        found = self._holes.look(ends, self._ledger.filled(self.flow.name))
        found |= self._times.facts(landscape.pairs) | self._probes.facts(landscape.pairs) | landscape.facts
        found |= find_part_facts({part.name: part.trouble for part in self.parts if part.state != WELL})
        if self.flow.read_committed:
            found |= self._transactions.look(ends, landscape.leaders, time.time())
        kept = self._find_kept(landscape)
        self._ledger.note_found(self.flow.name, found, {*all_places(landscape.pairs), *found, *kept})

    def _find_kept(self, landscape: Landscape) -> Iterable[Place]:
        """Where deletions are synced: of topics that are gone, what says why their remote topics stay."""
        if not self.flow.sync.deletes:
            return
        remotes = self._discovery.last_seen()[1].topics
        remote_name = self._discovery.selector.remote_name
        for place, fact in self._ledger.facts(self.flow.name).items():
            is_gone = fact.kind == STOPPED and place[0] and place[0] not in landscape.source_topics
            if is_gone and remote_name(place[0]) in remotes:
                yield place

    def _note_failure(self, trouble: str) -> None:
        self.view.problem, self.view.problem_state = f"the flow's keeper failed: {trouble}", "failing"

    def _complain(self, problem: str, state: str) -> None:
        self.view.problem, self.view.problem_state = problem, state
        if self._complaints.is_to_say(state, problem, time.monotonic()):
            log.warning("flow %s: %s; trying again", self.flow.name, problem)

    def _note_well(self) -> None:
        self.view.problem = ""
        if self._complaints.end():
            log.info("flow %s: goes on", self.flow.name)


def _problem_state(error: SparkmirrorError) -> str:
    if isinstance(error, RivalError):
        return "waiting"
    return "unreachable" if isinstance(error, ConnectionLostError) else "failing"


def _new_topics(before: Landscape | None, now: Landscape) -> Iterable[str]:
    known = {(p.topic, p.partition) for p in before.partitions} if before else set()
    added: dict[str, int] = {}
    for p in now.partitions:
        if (p.topic, p.partition) not in known:
            added[p.topic] = added.get(p.topic, 0) + 1
    return [f"{topic} ({count} partition{'s' * (count > 1)})" for topic, count in added.items()]
