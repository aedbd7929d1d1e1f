"""The lead is kept whatever its keeper waits for, and one that was lost meanwhile is taken anew."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sparkmirror.config.model import FlowConfig
from sparkmirror.control import flow as flow_module
from sparkmirror.control import part
from sparkmirror.control.discovery import Landscape, Place
from sparkmirror.control.flow import FlowKeeper
from sparkmirror.control.leadership import is_vacant
from sparkmirror.control.ledger import Ledger
from sparkmirror.copy.receipt import SKIPPED, Receipt
from sparkmirror.errors import ConnectionLostError, SparkmirrorError
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.log import append_batch
from sparkmirror.offsets import internal_topic
from sparkmirror.offsets.claims import Claims, lift_halt, write_halt
from sparkmirror.offsets.facts_topic import FactsTopic
from sparkmirror.offsets.progress import ProgressTopic
from sparkmirror.topology.fact import WHOLE_FLOW
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage
from tests.conftest import Pair
from tests.support.flows import only_flow, write_flow
from tests.support.kafka_client import await_condition, create_topic, delete_topic, produce, total
from tests.support.keepers import keeping
from tests.support.leases import address
from tests.support.local_mirror import LocalMirror, await_looks, mirroring, no_looks
from tests.support.loopback import METADATA, Loopback
from tests.support.topic_admin import change_configs

NEW_ID = "00000000-0000-0000-0000-000000000001"  # of a topic

pytestmark = pytest.mark.timeout(60)


def in_another_thread(work: Callable[[], None]) -> None:
    """With what it raises."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()


def test_a_source_that_does_not_answer_costs_no_lead(pair: Pair, tmp_path: Path) -> None:
    with Loopback(silent={METADATA}) as source:
        flow = only_flow(write_flow(tmp_path, source.server, pair.target, "x", {"lease.seconds": "1"}))
        keeper = FlowKeeper(flow, Ledger(), lambda: None)
        keeper.start()
        keeper.lead.allow()
        try:
            await_condition(lambda: keeper.view.leads and source.count(METADATA) > 0, "the lead", 30)
            first, terms = keeper.view.generation, []

            def is_said_again() -> bool:
                terms.append(keeper.lead.term_s)
                return keeper.view.generation >= first + 4

            await_condition(is_said_again, "the lead to be said again, for more than a term", 30)
            assert keeper.view.landscape is None, "the keeper waits all the while"
            assert min(terms) > 0
        finally:
            keeper.stop()


def test_who_reads_but_can_not_write_that_it_leads_gives_no_lease_when_another_may_lead(
    pair: Pair, tmp_path: Path
) -> None:
    """As a driver does whose broker is cut off from the others: that one's log says for ever who led at last."""
    flow = only_flow(write_flow(tmp_path, pair.source, pair.target, "x", {"lease.seconds": "1"}))
    with keeping(flow) as (keeper, _), Cluster(keeper.target.address) as beside:
        storage = Storage.of(flow)
        other = Claims(beside, storage, 1)
        change_configs(pair.target, storage.claims, {"max.message.bytes": "1"})
        heard, heard_at = -1, 0.0

        def may_lead() -> bool:
            """As one who stands by looks at it."""
            nonlocal heard, heard_at
            other.refresh()
            assert other.leader is not None
            if other.leader.generation != heard:
                heard, heard_at = other.leader.generation, time.monotonic()
            return is_vacant(other.leader, time.monotonic() - heard_at, flow.lease_s)

        await_condition(may_lead, "the silence of the driver that leads", 20)
        assert keeper.view.leads, "it reads that nobody else does"
        assert (keeper.lead.term_s, keeper.lead.is_sure) == (0.0, False)
        change_configs(pair.target, storage.claims, {"max.message.bytes": None})
        await_condition(lambda: keeper.lead.term_s > 0, "a leader record that is acknowledged", 20)


def test_a_lead_that_another_had_between_two_records_is_taken_as_from_any_other(
    pair: Pair, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """This driver's second record was under way when the other led: progress and positions may be another's now."""
    caplog.set_level(logging.INFO, "sparkmirror")
    flow = only_flow(write_flow(tmp_path, pair.source, pair.target, "x"))
    with keeping(flow) as (keeper, _), Cluster(keeper.target.address) as beside:
        assert not keeper.lead.unguarded_wait_s
        mine, other = keeper._claims, Claims(beside, Storage.of(flow), 1)
        other.refresh()
        with mine._lock:
            other.lead(9.0)
            mine.lead(9.0)
        assert mine.leads(), "its record is the newest"
        await_condition(lambda: caplog.text.count(f"{flow.name}: leads, with") == 2, "the lead to be taken anew", 20)
        assert caplog.text.count(f"{flow.name}: another driver leads") == 1
        assert 9.0 < keeper.lead.unguarded_wait_s <= 11.0, "leases of the other may still write"


def test_what_a_lease_wants_known_is_refused_where_another_may_have_read_progress_before_it(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two drivers that start together: the second has taken the lead, and the first does not know it yet."""
    flow = only_flow(write_flow(tmp_path, pair.source, pair.target, "x", {"lease.seconds": "20"}))
    standing = Standing(5, target_end=5, translated="a hole")
    with keeping(flow) as (keeper, _), Cluster(keeper.target.address) as beside:
        keeper.write_standing(("x", 0), standing)
        monkeypatch.setattr(flow_module, "CONFIRM_S", 0.2)
        unseen = pytest.raises(ConnectionLostError, match="may have read progress before")
        with keeper._claims._lock, unseen:  # it can't look
            in_another_thread(lambda: keeper.write_standing(("x", 1), standing))
        monkeypatch.setattr(flow_module, "CONFIRM_S", 20.0)
        looked = keeper.lead._read_at
        keeper.lead.look_every_s = 60.0  # from its next look on
        await_condition(lambda: keeper.lead._read_at > looked, "that look", 30)
        other = Claims(beside, Storage.of(flow), 1)
        other.refresh()
        other.lead(9.0)
        assert keeper.lead.is_sure
        with pytest.raises(ConnectionLostError, match="may have read progress before"):
            keeper.write_standing(("x", 2), standing)


def test_who_ends_releases_no_lead_of_another(pair: Pair, tmp_path: Path) -> None:
    flow = only_flow(write_flow(tmp_path, pair.source, pair.target, "x"))
    with keeping(flow) as (keeper, _), Cluster(keeper.target.address) as beside:
        other = Claims(beside, Storage.of(flow), 1)
        with keeper._claims._lock:  # it can't look
            other.lead(9.0)
            keeper.lead._ended = True
        keeper.stop()
        other.refresh()
        assert other.leads()


def test_a_keeper_goes_on_after_an_error_that_nobody_expected(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Else its lead would be kept by another thread, and nobody would write progress or facts any more."""
    monkeypatch.setattr(part, "FIRST_PAUSE_S", 0.01)
    flow = only_flow(write_flow(tmp_path, pair.source, pair.target, "x", {"refresh.topics.interval.seconds": "0.2"}))
    with keeping(flow) as (keeper, ledger):
        real, failed = keeper._discovery.look, threading.Event()

        def look() -> Landscape:
            if not failed.is_set():
                failed.set()
                raise TypeError("nobody thought of this")
            return real()

        monkeypatch.setattr(keeper._discovery, "look", look)
        assert failed.wait(20)
        before = keeper.view.landscape
        await_condition(lambda: keeper.view.landscape is not before and not keeper.view.problem, "a later look", 20)
        assert keeper.view.leads
        assert [p.state for p in keeper.parts] == ["failing", "well", "well"]
        await_condition(lambda: ledger.facts(flow.name)[WHOLE_FLOW].name == "part-failing", "the fact", 20)
    assert "Traceback" in caplog.text


def test_who_has_ended_opens_no_connection_any_more(pair: Pair, tmp_path: Path) -> None:
    """Also threads that were waiting for an answer, and go on with the next question."""
    with Loopback(silent={METADATA}) as source:
        flow = only_flow(write_flow(tmp_path, source.server, pair.target, "x"))
        keeper = FlowKeeper(flow, Ledger(), lambda: None)
        keeper.start()
        keeper.lead.allow()
        await_condition(lambda: keeper.view.leads and source.count(METADATA) > 0, "the lead", 30)
        keeper.stop()
        clusters = (keeper.source, keeper.target, keeper._aside, keeper._probes._target)
        for cluster in clusters:
            with pytest.raises(ConnectionLostError, match="not asked any more"):
                cluster.fetch_metadata()
        await_condition(lambda: all(p.end(0.0) for p in keeper.parts), "the end of its threads", 20)
        assert not any(cluster._channels for cluster in clusters)
        assert [p.state for p in keeper.parts] == ["well", "well", "well"]


def lose(pair: Pair, topic: str) -> None:
    """Whoever runs may make it anew at once."""
    with Cluster(ClusterAddress(alias="B", bootstrap=(pair.target,))) as cluster:
        before = fetch_id(cluster, topic)
        delete_topic(pair.target, topic)
        await_condition(lambda: fetch_id(cluster, topic) != before, f"the end of {topic}")


def fetch_id(cluster: Cluster, topic: str) -> object:
    """None while there is no such topic."""
    info = cluster.fetch_metadata([topic]).topics.get(topic)
    return None if info is None or info.error else info.topic_id


def lose_claims(pair: Pair, flow: FlowConfig) -> None:
    lose(pair, Storage.of(flow).claims)


def write_some(pair: Pair, topic: str, count: int) -> None:
    produce(pair.source, topic, ({"value": b"%d" % i} for i in range(count)))


def flow_of_ten(pair: Pair, folder: Path, topic: str, extra: Mapping[str, str]) -> Path:
    """A flow whose only topic has ten records."""
    create_topic(pair.source, topic, 1)
    write_some(pair, topic, 10)
    return write_flow(folder, pair.source, pair.target, topic, dict(extra))


@contextlib.contextmanager
def caught_up(file: Path, topic: str) -> Iterator[LocalMirror]:
    """A mirror that has copied all of it."""
    with mirroring(file) as mirror:
        mirror.await_topics(1)
        mirror.catch_up(topic)
        yield mirror


@pytest.mark.parametrize("has_ids", [True, False])
def test_a_claim_topic_that_is_made_anew_says_the_same_and_nobody_leads_by_the_old_one(
    pair: Pair,
    tmp_path: Path,
    topic: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    has_ids: bool,
) -> None:
    with caught_up(flow_of_ten(pair, tmp_path, topic, {"lease.seconds": "2"}), topic) as mirror:
        keeper, claims = mirror.keeper, mirror.keeper._claims
        if not has_ids:  # as before 3.1
            read_on = claims._topic.read_on
            monkeypatch.setattr(claims, "_topic_id", "")
            monkeypatch.setattr(claims._topic, "read_on", lambda *place: ("", *read_on(*place)[1:]))
        producer_id, memory, fence = keeper._producer_id, claims.memory, keeper.lead.next_fence()
        takes = claims.takes
        write_halt(keeper.target, Storage.of(mirror.flow), 1, by="me", why="a test")
        await_condition(lambda: keeper.view.halt is not None, "the halt", 20)
        lose_claims(pair, mirror.flow)
        await_condition(lambda: claims.takes > takes and keeper.view.leads, "the lead to be taken anew", 30)
        assert claims.times_anew == 1
        assert keeper.view.halt is not None, "whoever moves consumers relies on it"
        lift_halt(keeper.target, Storage.of(mirror.flow))
        write_some(pair, topic, 10)
        mirror.catch_up(topic)
        assert (keeper._producer_id, claims.memory) == (producer_id, memory)
        later = keeper.lead.next_fence()
        assert fence is not None and later is not None and later > fence
        assert not mirror.facts()
        assert total(pair.target, f"{mirror.flow.source.alias}.{topic}") == 20
    assert "its claim topic was deleted and made anew" in caplog.text


def test_progress_and_facts_that_are_lost_are_written_anew_also_where_nothing_is_copied(
    pair: Pair, tmp_path: Path, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sparkmirror.control.fact_writer.LOOK_EVERY_S", 0.5)
    idle, stopped = f"{topic}-idle", f"{topic}-stopped"
    for name in (idle, stopped):
        create_topic(pair.source, name, 1)
        write_some(pair, name, 10)
    with mirroring(write_flow(tmp_path, pair.source, pair.target, f"{topic}.*", {"lease.seconds": "1"})) as mirror:
        mirror.await_topics(2)
        mirror.catch_up(idle)
        produce(pair.target, f"{mirror.flow.source.alias}.{stopped}", [{"value": b"another's"}])
        write_some(pair, stopped, 10)
        mirror.round()
        assert mirror.facts()[stopped, 0].kind == "stopped"
        storage = Storage.of(mirror.flow)
        progress, facts = ProgressTopic(mirror.keeper.target, storage), FactsTopic(mirror.keeper.target, storage)
        known = progress.read()
        assert known[idle, 0].next_offset == 10
        await_condition(lambda: (stopped, 0) in facts.read(), "the fact")
        lose(pair, storage.progress)
        lose(pair, storage.status)
        await_condition(lambda: stands(progress.read, known) and stands(facts.read, {(stopped, 0)}), "all of it", 30)


def stands(read: Callable[[], Collection[Place]], wanted: Collection[Place]) -> bool:
    """Not while the topic is made."""
    try:
        return set(wanted) <= set(read())
    except SparkmirrorError:
        return False


def test_who_leads_again_writes_no_old_progress_into_a_topic_that_another_made_anew(
    pair: Pair, tmp_path: Path, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    often = {"refresh.topics.interval.seconds": "0.2", "offset.flush.interval.ms": "1", "lease.seconds": "2"}
    with caught_up(flow_of_ten(pair, tmp_path, topic, often), topic) as mirror:
        keeper, storage, place = mirror.keeper, Storage.of(mirror.flow), (topic, 0)
        with no_looks(mirror, monkeypatch), Cluster(keeper.target.address) as beside:
            other = Claims(beside, storage, 1)
            other.refresh()
            other.lead(1.0)
            await_condition(lambda: not keeper.view.leads, "the other's lead", 20)
            lose(pair, storage.progress)
            progress = ProgressTopic(beside, storage, 1)
            progress.ensure()
            newer = keeper.progress.written[place]._replace(next_offset=7, source_id=NEW_ID)
            progress.write({place: newer})
            other.release()
        await_condition(lambda: keeper.view.leads and not keeper._is_stale.is_set(), "the lead", 20)
        await_looks(mirror)
        assert ProgressTopic(keeper.target, storage).read()[place] == newer
        assert keeper.progress.written[place] == newer


def test_a_claim_is_the_last_thing_that_a_topic_made_anew_says(
    pair: Pair, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else whoever reads it half-way draws new producer ids for what it does not say yet."""
    storage, places = Storage.named(topic), [("x", number) for number in range(3)]
    with Cluster(address(pair.target)) as cluster, Cluster(address(pair.target)) as beside:
        led, other = Claims(cluster, storage, 1), Claims(beside, storage, 1)
        claimed = led.claim_producer_id(), led.claim_origins(places)
        led.lead(9.0)
        other.refresh()
        lose(pair, storage.claims)
        monkeypatch.setattr(internal_topic, "BATCH_BYTES", 1)  # a batch for each record
        appended: list[tuple[Any, ...]] = []

        def append(*args: Any) -> int:
            if len(appended) == 4:
                raise ConnectionLostError("this one is lost")
            appended.append(args)
            return append_batch(*args)

        monkeypatch.setattr(internal_topic, "append_batch", append)
        with pytest.raises(ConnectionLostError, match="this one is lost"):
            led.refresh()
        other.refresh()
        assert not other.is_claimed
        monkeypatch.setattr(internal_topic, "append_batch", append_batch)
        led.refresh()
        other.refresh()
        for claims in (led, other):
            assert claims.claimed == claimed
            assert (claims.claim_producer_id(), claims.claim_origins(places)) == claimed


def test_two_drivers_go_on_under_one_producer_id_when_the_claim_topic_is_lost(
    pair: Pair, tmp_path: Path, topic: str
) -> None:
    """The second one makes the topic, and must not claim an id of its own while the first may still write."""
    file = flow_of_ten(pair, tmp_path, topic, {"lease.seconds": "2"})
    with caught_up(file, topic) as first:
        producer_id, generation = first.keeper._producer_id, first.keeper.view.generation
        lose_claims(pair, first.flow)
        with mirroring(file) as second:
            keepers = first.keeper, second.keeper
            await_condition(lambda: all(k._producer_id is not None for k in keepers), "both claims", 30)
            assert {k._producer_id for k in keepers} == {producer_id}
            await_condition(lambda: sum(k.lead.term_s > 0 for k in keepers) == 1, "one leader", 30)
            leader = next(mirror for mirror in (first, second) if mirror.keeper.lead.term_s)
            assert leader.keeper.view.generation > generation
            write_some(pair, topic, 10)
            leader.catch_up(topic)
            assert total(pair.target, f"{first.flow.source.alias}.{topic}") == 20


@pytest.mark.parametrize("leader_is_late", [False, pytest.param(True, marks=pytest.mark.long)])
def test_progress_and_facts_outlive_all_internal_topics_also_where_another_takes_the_lead(
    pair: Pair, tmp_path: Path, topic: str, leader_is_late: bool
) -> None:
    file = flow_of_ten(pair, tmp_path, topic, {"lease.seconds": "2"})
    with contextlib.ExitStack() as stack:
        other = stack.enter_context(mirroring(file))
        other.await_topics(1)
        leader = stack.enter_context(mirroring(file))  # who comes takes the lead
        leader.await_topics(1)
        await_condition(lambda: not other.keeper.view.leads, "one leader", 20)
        leader.catch_up(topic)
        skipped = Receipt(flow=leader.flow.name, topic=topic, partition=0, kind=SKIPPED, error="one record")
        leader.ledger.take([skipped])
        leader.keeper.write_facts()
        known, claims = dict(leader.keeper.progress.written), leader.keeper._claims
        leader.keeper.lead._allowed.clear()  # the other is the first to take the lead
        storage = Storage.of(leader.flow)
        with claims._lock if leader_is_late else contextlib.nullcontext():
            for name in (storage.progress, storage.status, storage.claims):
                lose(pair, name)
            if leader_is_late:
                await_condition(lambda: other.keeper._claims.times_anew == 1, "the other to notice", 20)
        await_condition(lambda: other.keeper.view.leads and not other.keeper._is_stale.is_set(), "its lead", 30)
        assert other.keeper.progress.written == known
        assert other.keeper._producer_id == leader.keeper._producer_id
        assert other.facts()[topic, 0].name == "record-skipped"


def test_a_driver_that_leads_on_keeps_its_facts_when_claims_and_facts_are_lost(
    pair: Pair, tmp_path: Path, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with caught_up(flow_of_ten(pair, tmp_path, topic, {"lease.seconds": "2"}), topic) as mirror:
        skipped = Receipt(flow=mirror.flow.name, topic=topic, partition=0, kind=SKIPPED, error="one record")
        mirror.ledger.take([skipped])
        mirror.keeper.write_facts()
        facts = FactsTopic(mirror.keeper.target, Storage.of(mirror.flow))
        takes = mirror.keeper._claims.takes
        monkeypatch.setattr(mirror.keeper._facts, "write", lambda *_, **__: None)  # the status topic is away just then
        lose(pair, Storage.of(mirror.flow).status)
        lose_claims(pair, mirror.flow)
        await_condition(lambda: mirror.keeper._claims.takes > takes and mirror.keeper.view.leads, "the lead", 30)
        monkeypatch.undo()
        assert mirror.facts()[topic, 0].name == "record-skipped"
        await_condition(lambda: (topic, 0) in facts.read(), "the fact", 20)


def test_who_finds_progress_and_no_claim_waits_for_a_driver_that_may_still_lead(
    pair: Pair, tmp_path: Path, topic: str
) -> None:
    file = flow_of_ten(pair, tmp_path, topic, {"lease.seconds": "1"})
    with caught_up(file, topic) as first:
        pass
    lose_claims(pair, first.flow)
    with mirroring(file) as second:
        await_condition(lambda: "for a driver that still leads" in second.keeper.view.problem, "the wait", 20)
        assert second.keeper._producer_id is None
        second.await_topics(1)
        write_some(pair, topic, 10)
        second.round()
        assert second.facts()[topic, 0].kind == "stopped", "what another id wrote is not taken for its own"
        assert total(pair.target, f"{first.flow.source.alias}.{topic}") == 10


def test_who_takes_the_lead_of_a_halted_flow_rests_when_leases_of_the_driver_before_are_over(
    pair: Pair, tmp_path: Path
) -> None:
    """That one may be cut off, and not know of the halt."""
    flow = only_flow(write_flow(tmp_path, pair.source, pair.target, "x", {"lease.seconds": "1"}))
    storage = Storage.of(flow)
    with Cluster(address(pair.target)) as beside:
        other = Claims(beside, storage, 1)
        other.claim_producer_id()
        other.lead(0.5)
        write_halt(beside, storage, 1, by="me", why="a test")
        keeper = FlowKeeper(flow, Ledger(), lambda: None)
        keeper.start()
        keeper.lead.allow()
        try:
            await_condition(lambda: keeper.view.leads and keeper._halted_for >= 0, "the lead", 30)
            before = []

            def owes_rest() -> bool:
                before.append(keeper.lead.unguarded_wait_s)
                return keeper.owes_rest

            await_condition(owes_rest, "the end of the other's leases", 20)
            assert before[0] > 1 and before[-1] == 0
        finally:
            keeper.stop()


def test_a_halted_flow_rests_when_what_its_keeper_had_begun_is_done(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    often = {"lease.seconds": "1", "refresh.topics.interval.seconds": "0.2"}
    flow = only_flow(write_flow(tmp_path, pair.source, pair.target, "x", often))
    with keeping(flow) as (keeper, _):
        tend, tending, may_go_on = keeper._upkeep.tend, threading.Event(), threading.Event()

        def wait_and_tend(*args: Any) -> dict[str, str]:
            tending.set()
            assert may_go_on.wait(30)
            return tend(*args)

        monkeypatch.setattr(keeper._upkeep, "tend", wait_and_tend)
        assert tending.wait(20)
        write_halt(keeper.target, Storage.of(flow), 1, by="me", why="a test")
        await_condition(lambda: keeper.lead.owes_rest, "the halt", 20)
        assert not keeper.owes_rest, "configurations may still be written"
        may_go_on.set()
        await_condition(lambda: keeper.owes_rest, "the end of it", 20)


@pytest.mark.long
def test_a_halted_flow_of_rows_rests_when_no_task_can_have_time_left(pair: Pair, tmp_path: Path) -> None:
    """The desk does not know of such tasks: one that Spark has given up may go on for a while."""
    rows = {"lease.seconds": "1", "pipeline.path": "records"}
    flow = only_flow(write_flow(tmp_path, pair.source, pair.target, "x", rows))
    with keeping(flow) as (keeper, _):
        write_halt(keeper.target, Storage.of(flow), 1, by="me", why="a test")
        await_condition(lambda: keeper.view.halt is not None, "the halt", 20)
        began = time.monotonic()
        await_condition(lambda: keeper.owes_rest, "the end of every lease", 20)
        assert time.monotonic() - began > 1.5, "two leases, but for the time until the halt was looked for"
