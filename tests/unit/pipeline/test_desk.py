"""The desk: rounds take turns, a task goes when its predecessors are done, and a dead connection is noticed."""

from __future__ import annotations

import json
import select
import threading
import time
from collections.abc import Iterator, Sequence
from queue import SimpleQueue
from types import SimpleNamespace

import pyarrow as pa
import pytest
from pyspark import TaskContext

from sparkmirror.copy.grantor import Word
from sparkmirror.copy.lease import Lease, LeasePartition
from sparkmirror.copy.receipt import COPIED, MAPPED, SKIPPED, STOPPED, WAITING, Receipt
from sparkmirror.errors import ConnectionLostError, SetupError
from sparkmirror.net.address import ClusterAddress
from sparkmirror.pipeline import cord as cord_module
from sparkmirror.pipeline import desk as desk_module
from sparkmirror.pipeline import desk_server as server_module
from sparkmirror.pipeline.copy_stage import copy_leases
from sparkmirror.pipeline.cord import Cord
from sparkmirror.pipeline.desk import Desk
from sparkmirror.pipeline.desk_keys import ADDRESS_VARIABLE, KEY_VARIABLE, make_keys
from sparkmirror.pipeline.lease_source import LeasePartition as PlannedLease
from sparkmirror.pipeline.lease_source import LeaseReader
from sparkmirror.pipeline.lease_table import MARGIN_S, Phase
from sparkmirror.pipeline.messages import Told
from sparkmirror.topology.standing import Standing
from tests.support.proxy import Proxy

TERM_S = 5.0
ASK_S = 0.1


def lease(lease_id: str, flow: str = "A->B", partitions: Sequence[int] = (0,)) -> Lease:
    here = ClusterAddress(alias="A", bootstrap=("127.0.0.1:1",))
    return Lease(
        lease_id=lease_id,
        flow=flow,
        source=here,
        target=here,
        producer_id=1,
        fence=1,
        seconds=2 * TERM_S,
        partitions=tuple(LeasePartition(topic="t", partition=p, remote="A.t") for p in partitions),
    )


@pytest.fixture
def desk() -> Iterator[Desk]:
    one = Desk(lambda _: TERM_S)
    yield one
    one.close()


@pytest.fixture
def cords(desk: Desk) -> Iterator[list[Cord]]:
    made = [cord_to(desk) for _ in range(4)]
    yield made
    for cord in made:
        cord.close()


def cord_to(desk: Desk) -> Cord:
    return Cord(desk.address, desk.environment[KEY_VARIABLE])


def hints_of(cord: Cord, lease_id: str) -> object:
    """None if it gets no turn."""
    turn = cord.wait_for_turn(lease_id, ASK_S)
    return turn and {place: hint for place, hint in turn.added.items() if hint}


def is_there(desk: Desk, lease_id: str) -> bool:
    state = desk.table.find(lease_id)
    return state is not None and state.phase is Phase.THERE


def is_ended(cord: Cord) -> bool:
    """What it hears next is that it must end."""
    word = cord.hear() if is_readable(cord, 5) else None
    return word is not None and word.ends


class Waiting(threading.Thread):
    """A call that may have to wait, on a thread of its own."""

    def __init__(self, call: object) -> None:
        super().__init__(daemon=True)
        self._call = call
        self.result: object = None
        self.start()

    def run(self) -> None:
        self.result = self._call()  # type: ignore[operator]

    def get(self) -> object:
        self.join(5)
        assert not self.is_alive()
        return self.result


def test_a_round_is_given_to_one_query_and_the_next_to_the_other_that_waits(desk: Desk, cords: list[Cord]) -> None:
    given: SimpleQueue[int] = SimpleQueue()
    for cord in cords[:2]:
        Waiting(lambda asks=cord: given.put(asks.next_round("a", -1)))
    desk.publish([lease("0.a")])
    assert given.get(timeout=5) == 0
    desk.publish([lease("1.a")])
    assert given.get(timeout=5) == 1
    assert [Lease.from_json(text).lease_id for text in cords[0].leases(1) or ()] == ["1.a"]


def test_a_second_attempt_takes_the_lease_that_the_first_did_not_live_to_ask_for(
    desk: Desk, cords: list[Cord], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in desk.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(TaskContext, "get", lambda: SimpleNamespace(attemptNumber=lambda: 1))
    first = desk.publish([lease("0.a")])
    batch = pa.record_batch({"lease": [lease("0.a").to_json()]})
    task = Waiting(lambda: list(copy_leases([batch])))
    assert desk.wait(first.going, 5), "else its partitions wait until the round's start is given up"
    assert hints_of(cords[0], "0.a") is None, "a third attempt finds it taken"
    desk.recall()
    task.get()


def test_a_task_waits_until_its_predecessor_is_done_and_gets_its_positions(desk: Desk, cords: list[Cord]) -> None:
    first = desk.publish([lease("0.a")])
    assert hints_of(cords[0], "0.a") == {}
    assert first.going()
    desk.publish([lease("1.a")])
    second = Waiting(lambda: hints_of(cords[1], "1.a"))
    assert desk.wait(lambda: is_there(desk, "1.a"), 5)
    assert second.is_alive()
    cords[0].tell_done({("t", 0): Standing(5, 4, 5)})
    assert second.get() == {("t", 0): Standing(5, 4, 5)}
    assert desk.hints() == {("A->B", "t", 0): Standing(5, 4, 5)}


def test_a_task_is_relieved_only_when_all_its_successors_are_there(desk: Desk, cords: list[Cord]) -> None:
    desk.publish([lease("0.a")])
    assert hints_of(cords[0], "0.a") == {}
    desk.publish([lease("1.a"), lease("1.b", partitions=[1])])
    first = Waiting(lambda: hints_of(cords[1], "1.a"))
    assert desk.wait(lambda: is_there(desk, "1.a"), 5)
    assert not is_readable(cords[0], 0.1)
    second = Waiting(lambda: hints_of(cords[2], "1.b"))
    assert is_readable(cords[0], 5)
    cords[0].tell_done({})
    assert (first.get(), second.get()) == ({}, {})


def test_where_slots_are_short_nobody_waits_in_one(desk: Desk, cords: list[Cord]) -> None:
    desk.publish([lease("0.a")])
    assert hints_of(cords[0], "0.a") == {}
    desk.publish([lease("1.a"), lease("1.b", partitions=[1])], at_once=True)
    assert is_readable(cords[0], 5), "before any successor is there"
    cords[0].tell_done({})
    assert (hints_of(cords[1], "1.a"), hints_of(cords[2], "1.b")) == ({}, {})


def test_a_flow_that_has_no_lease_in_a_round_ends(desk: Desk, cords: list[Cord]) -> None:
    desk.publish([lease("0.a"), lease("0.b", flow="B->A")])
    assert hints_of(cords[0], "0.a") == {}
    assert hints_of(cords[1], "0.b") == {}
    desk.publish([lease("1.a")])
    assert is_readable(cords[1], 5)
    assert not is_readable(cords[0], 0.1)


def is_readable(cord: Cord, timeout_s: float) -> bool:
    return bool(select.select([cord], [], [], timeout_s)[0])


def test_other_flows_are_not_waited_for(desk: Desk, cords: list[Cord]) -> None:
    desk.publish([lease("0.a")])
    assert hints_of(cords[0], "0.a") == {}
    desk.publish([lease("1.b", flow="B->A")])
    assert hints_of(cords[1], "1.b") == {}


def test_a_task_that_dies_is_noticed_and_its_successor_goes(desk: Desk, cords: list[Cord]) -> None:
    first = desk.publish([lease("0.a")])
    assert hints_of(cords[0], "0.a") == {}
    desk.publish([lease("1.a")])
    second = Waiting(lambda: hints_of(cords[1], "1.a"))
    cords[0].close()
    assert second.get() == {}
    assert first.states["0.a"].lost


def test_what_a_task_that_died_has_sent_may_come_before_its_successor_looks(desk: Desk, cords: list[Cord]) -> None:
    """Its requests lie in buffers when it is killed, and markers have no sequence."""
    desk.publish([lease("0.a")])
    assert hints_of(cords[0], "0.a") == {}
    desk.publish([lease("1.a")])
    second = Waiting(lambda: hints_of(cords[1], "1.a"))
    assert desk.wait(lambda: is_there(desk, "1.a"), 5)
    died_at = time.monotonic()
    cords[0].close()
    assert second.get() == {}
    assert time.monotonic() - died_at >= MARGIN_S


def test_where_a_task_had_no_answer_nobody_goes_on_before_its_time_is_over(desk: Desk, cords: list[Cord]) -> None:
    desk.table.term_of = lambda _: 1.0
    desk.publish([lease("0.a", partitions=[0, 1])])
    assert hints_of(cords[0], "0.a") == {}
    desk.publish([lease("1.a", partitions=[0]), lease("1.b", partitions=[1])])
    waits, goes = Waiting(lambda: hints_of(cords[1], "1.a")), Waiting(lambda: hints_of(cords[2], "1.b"))
    assert is_readable(cords[0], 5)
    cords[0].tell_done({("t", 0): Standing(5), ("t", 1): Standing(7)}, {("t", 0)})
    cords[0].close()
    assert goes.get() == {("t", 1): Standing(7)}
    state = desk.table.find("0.a")
    assert state is not None and time.monotonic() < state.until and waits.is_alive()
    waits.join(2 * state.lease.seconds)
    assert waits.result == {("t", 0): Standing(5)}
    assert time.monotonic() >= state.until + MARGIN_S


def test_leases_that_never_began_are_void_after_the_next_round(desk: Desk, cords: list[Cord]) -> None:
    desk.publish([lease("0.a")])
    desk.publish([lease("1.a")])
    assert hints_of(cords[0], "0.a") is None
    assert hints_of(cords[1], "1.a") == {}
    assert hints_of(cords[2], "1.a") is None, "a lease is given once"


def test_after_a_recall_nothing_begins_any_more(desk: Desk, cords: list[Cord]) -> None:
    desk.publish([lease("0.a"), lease("0.b", flow="B->A")])
    assert hints_of(cords[0], "0.a") == {}
    desk.publish([lease("1.a")])
    second = Waiting(lambda: hints_of(cords[1], "1.a"))
    assert desk.wait(lambda: is_there(desk, "1.a"), 5)
    desk.recall()
    assert second.get() is None
    assert desk.holds("A->B") and not desk.holds("B->A")
    cords[0].tell_done({})
    assert desk.wait(lambda: not desk.holds("A->B"), 5)


def test_a_recall_makes_the_cord_readable(desk: Desk, cords: list[Cord]) -> None:
    desk.publish([lease("0.a")])
    assert hints_of(cords[0], "0.a") == {}
    assert cords[0].hear() is None
    desk.recall()
    assert is_ended(cords[0])
    cords[0].ask()
    assert not is_readable(cords[0], 0.1), "it is not renewed"


def test_a_lease_is_renewed_from_when_its_task_asked_and_not_once_its_successor_is_there(
    desk: Desk, cords: list[Cord]
) -> None:
    desk.publish([lease("0.a")])
    assert hints_of(cords[0], "0.a") == {}
    before = time.monotonic()
    cords[0].ask()
    asked = time.monotonic()
    assert is_readable(cords[0], 5)
    time.sleep(0.1)
    word = cords[0].hear()
    assert word is not None and before + TERM_S <= word.until <= asked + TERM_S
    desk.publish([lease("1.a")])
    second = Waiting(lambda: hints_of(cords[2], "1.a"))
    assert is_ended(cords[0])
    cords[0].tell_done({})
    assert second.get() == {}


def test_a_lease_lasts_as_long_as_is_known_when_its_turn_comes_and_gets_none_if_nothing_is(
    desk: Desk, cords: list[Cord]
) -> None:
    terms = {"A->B": 3.5, "B->A": 0.0}
    desk.table.term_of = terms.__getitem__
    current = desk.publish([lease("0.a"), lease("0.b", flow="B->A")])
    began = time.monotonic()
    turn = cords[0].wait_for_turn("0.a", ASK_S)
    assert turn is not None and began + 3.5 <= turn.until <= time.monotonic() + 3.5
    assert cords[1].wait_for_turn("0.b", ASK_S) is None
    assert desk.wait(current.frays, 5) and not any(state.lost for state in current.states.values())
    terms["A->B"] = 0.0
    cords[0].ask()
    assert not is_readable(cords[0], 0.1), "it is not renewed"


def test_a_task_that_is_not_heard_of_is_waited_for_only_until_its_lease_is_over(desk: Desk, cords: list[Cord]) -> None:
    desk.table.term_of = lambda _: 0.5
    first = desk.publish([lease("0.a")])
    assert hints_of(cords[0], "0.a") == {}
    began = time.monotonic()
    desk.publish([lease("1.a")])
    assert hints_of(cords[1], "1.a") == {}
    assert 0.5 <= time.monotonic() - began + 0.05 < 3
    assert first.states["0.a"].lost
    cords[0].tell_done({("t", 0): Standing(5)})
    cords[1].tell_done({})
    assert desk.wait(lambda: not desk.holds("A->B"), 5)
    assert not desk.hints(), "what it says after its time is not believed"


def test_a_task_whose_machine_vanishes_is_waited_for_only_until_its_lease_is_over(
    desk: Desk, cords: list[Cord]
) -> None:
    desk.table.term_of = lambda _: 0.7
    first = desk.publish([lease("0.a")])
    with Proxy(desk.address) as proxy:
        far = Cord(proxy.address, desk.environment[KEY_VARIABLE])
        turn = far.wait_for_turn("0.a", ASK_S)
        assert turn is not None
        proxy.swallow()
        far.ask()
        desk.publish([lease("1.a")])
        assert hints_of(cords[1], "1.a") == {}
        assert time.monotonic() >= turn.until, "its task may have written until then"
        assert first.states["0.a"].lost
        assert far.hear() is None, "and does not know"
        far.close()


def test_a_task_that_hears_of_its_turn_too_late_knows_that_it_is_over(desk: Desk) -> None:
    desk.table.term_of = lambda _: 0.3
    desk.publish([lease("0.a")])
    with Proxy(desk.address) as proxy:
        far = Cord(proxy.address, desk.environment[KEY_VARIABLE])
        proxy.hold()
        turn = Waiting(lambda: far.wait_for_turn("0.a", 60))
        time.sleep(0.5)
        proxy.let_go()
        word = turn.get()
        assert isinstance(word, Word) and word.until <= time.monotonic(), "it counts from when it asked"
        far.close()


def test_what_nobody_copies_begins_at_once_and_the_rest_when_it_is_free(desk: Desk, cords: list[Cord]) -> None:
    desk.publish([lease("0.a", partitions=[0]), lease("0.b", partitions=[1])])
    assert (hints_of(cords[0], "0.a"), hints_of(cords[1], "0.b")) == ({}, {})
    desk.publish([lease("1.a", partitions=[0, 1]), lease("1.b", partitions=[2])])
    cords[0].close()
    turn = cords[2].wait_for_turn("1.a", ASK_S)
    assert turn is not None and set(turn.added) == {("t", 0)}, "its predecessor died, and others are not waited for"
    assert not turn.as_left, "and may have written what it did not tell"
    other = cords[3].wait_for_turn("1.b", ASK_S)
    assert other is not None and set(other.added) == {("t", 2)}
    assert is_ended(cords[1]), "all its successors are there"
    cords[1].tell_done({("t", 1): Standing(7)})
    assert is_readable(cords[2], 5)
    word = cords[2].hear()
    assert word is not None and word.added == {("t", 1): Standing(7)} and word.as_left == {("t", 1)}


def test_what_was_said_before_another_driver_led_is_void(desk: Desk, cords: list[Cord]) -> None:
    lead = 0
    desk.table.lead_of = lambda _: lead
    expected: list[Standing | None] = [None, Standing(10), None]
    for number, known in enumerate(expected):
        desk.publish([lease(f"{number}.a", partitions=[0])])
        turn = cords[number].wait_for_turn(f"{number}.a", ASK_S)
        assert turn is not None and turn.added == {("t", 0): known}
        assert bool(turn.as_left) == bool(known)
        lead = number  # when the second lease ends, another driver has led since it began
        cords[number].tell_done({("t", 0): Standing(10)})


def test_a_query_whose_round_is_over_and_that_does_not_come_back_is_said_once(
    desk: Desk, cords: list[Cord], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk_module, "STUCK_S", 0.0)
    desk.publish([lease("0.a")])
    assert cords[0].next_round("a", -1) == 0
    assert desk.take_stuck() == []
    desk.publish([lease("1.a")])
    assert desk.take_stuck() == ["a"], "its task has not come for its lease, which is void"
    assert desk.take_stuck() == []


def test_a_planner_whose_connection_breaks_connects_anew_and_goes_on(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = LeaseReader("a")
    with Proxy(desk.address) as proxy:
        monkeypatch.setenv(ADDRESS_VARIABLE, proxy.address)
        monkeypatch.setenv(KEY_VARIABLE, desk.environment[KEY_VARIABLE])
        waiting = Waiting(lambda: reader.latestOffset({"round": -1}, None))
        assert desk.wait(lambda: bool(desk._planners), 5)
        proxy.cut()
        assert desk.wait(lambda: not desk._planners, 5) and desk.wait(lambda: bool(desk._planners), 5)
        desk.publish([lease("0.a")])
        assert waiting.get() == {"round": 0}
        proxy.cut()
        (given,) = reader.partitions({"round": -1}, {"round": 0})
        assert isinstance(given, PlannedLease) and Lease.from_json(given.lease).lease_id == "0.a"
        reader.stop()


def test_a_planner_whose_desk_is_gone_says_that_nothing_is_new_and_does_not_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = Desk(lambda _: TERM_S)
    for name, value in desk.environment.items():
        monkeypatch.setenv(name, value)
    reader = LeaseReader("a")
    desk.publish([lease("0.a")])
    assert reader.latestOffset({"round": -1}, None) == {"round": 0}
    desk.close()
    began = time.monotonic()
    assert reader.latestOffset({"round": 0}, None) == {"round": 0}
    assert list(reader.partitions({"round": -1}, {"round": 0})) == []
    assert time.monotonic() - began < 2
    reader.stop()


def test_a_planner_that_is_gone_takes_no_round(desk: Desk, cords: list[Cord]) -> None:
    Waiting(lambda: cords[0].next_round("a", -1))
    assert desk.wait(lambda: bool(desk._planners), 5)
    cords[0].close()
    assert desk.wait(lambda: not desk._planners, 5)
    desk.publish([lease("0.a")])
    assert cords[1].next_round("a", -1) == 0


def test_who_writes_rows_asks_for_how_long_it_may(desk: Desk, cords: list[Cord]) -> None:
    assert cords[0].term("A->B") == TERM_S
    assert not is_readable(cords[0], 0.1), "nothing is said unasked"
    desk.table.term_of = lambda _: 0.0
    assert cords[0].term("A->B") == 0


def test_a_cord_whose_desk_is_gone_ends_the_lease() -> None:
    desk = Desk(lambda _: TERM_S)
    cord = cord_to(desk)
    desk.publish([lease("0.a")])
    assert hints_of(cord, "0.a") == {}
    desk.close()
    assert is_ended(cord)
    cord.close()


def test_receipts_are_heard_before_the_end_of_their_lease(cords: list[Cord], desk: Desk) -> None:
    told: list[Receipt] = []
    desk.on_receipts = told.extend
    desk.publish([lease("0.a")])
    assert hints_of(cords[0], "0.a") == {}
    receipts = [Receipt(flow="A->B", topic="t", partition=p, kind="copied", records=p, error="ä") for p in range(3)]
    cords[0].tell_receipts(receipts[:2])
    cords[0].tell_receipts(receipts[2:])
    cords[0].tell_done({})
    assert desk.wait(lambda: not desk.holds("A->B"), 5)
    assert told == receipts


def test_what_must_be_known_is_written_behind_all_that_was_told(cords: list[Cord], desk: Desk) -> None:
    log: list[object] = []
    may_go_on = threading.Event()

    def take_slowly(receipts: list[Receipt]) -> None:
        may_go_on.wait(5)
        log.extend(receipts)

    desk.on_receipts = take_slowly
    desk.on_note = lambda *note: log.append(note)
    desk.publish([lease("0.a")])
    assert hints_of(cords[0], "0.a") == {}
    receipt = Receipt(flow="A->B", topic="t", partition=0, kind="copied")
    cords[0].tell_receipts([receipt])
    noting = Waiting(lambda: cords[0].note("0.a", ("t", 0), Standing(5)))
    noting.join(0.2)
    assert noting.is_alive() and not log
    may_go_on.set()
    noting.get()
    assert log == [receipt, ("A->B", ("t", 0), Standing(5))]


def test_nothing_is_written_for_a_lease_that_is_over_and_what_fails_is_told(cords: list[Cord], desk: Desk) -> None:
    def refuse(*_: object) -> None:
        raise ConnectionLostError("nobody is there")

    desk.on_note = refuse
    desk.publish([lease("0.a")])
    assert hints_of(cords[0], "0.a") == {}
    with pytest.raises(ConnectionLostError, match="nobody is there"):
        cords[0].note("0.a", ("t", 0), Standing(5))
    cords[0].tell_done({})
    assert desk.wait(lambda: not desk.holds("A->B"), 5)
    with pytest.raises(ConnectionLostError, match="the lease is over"):
        cords[0].note("0.a", ("t", 0), Standing(5))


def test_a_note_that_is_being_written_when_its_lease_ends_is_waited_for_and_known_to_the_successor(
    cords: list[Cord], desk: Desk
) -> None:
    begun, may_go_on = threading.Event(), threading.Event()

    def write_slowly(*_: object) -> None:
        begun.set()
        may_go_on.wait(5)

    desk.on_note = write_slowly
    desk.publish([lease("0.a")])
    assert hints_of(cords[0], "0.a") == {}
    noting = Waiting(lambda: cords[0].note("0.a", ("t", 0), Standing(9)))
    assert begun.wait(5)
    cords[0].tell_done({("t", 0): Standing(5)})
    assert not desk.wait(lambda: not desk.holds("A->B"), 0.2)
    may_go_on.set()
    noting.get()
    assert desk.wait(lambda: not desk.holds("A->B"), 5)
    assert desk.hints() == {("A->B", "t", 0): Standing(9)}


def test_where_a_partition_stands_is_what_its_lease_has_told_or_noted_last_also_if_it_is_lost(
    cords: list[Cord], desk: Desk
) -> None:
    desk.publish([lease("0.a", partitions=[0, 1, 2])])
    assert hints_of(cords[0], "0.a") == {}
    cords[0].tell_receipts([copied(0, Standing(5)), copied(1, Standing(7))])
    cords[0].note("0.a", ("t", 0), Standing(3, translated="why"))
    desk.publish([lease("1.a", partitions=[0, 1, 2])])
    cords[0].close()
    stood = {("t", 0): Standing(3, translated="why"), ("t", 1): Standing(7)}
    assert hints_of(cords[1], "1.a") == stood
    cords[1].tell_done({})
    assert desk.wait(lambda: not desk.holds("A->B"), 5)
    assert desk.hints() == {("A->B", *place): standing for place, standing in stood.items()}


def copied(partition: int, standing: Standing, kind: str = COPIED) -> Receipt:
    return Receipt(
        flow="A->B", topic="t", partition=partition, kind=kind, source_first=0, source_end=4, target_first=0,
        target_end=4, records=4, stands=json.dumps(standing), error="" if kind == COPIED else "said",
    )  # fmt: skip


def test_receipts_of_a_lease_that_is_over_are_counted_and_say_nothing_of_where_its_partitions_stand(
    cords: list[Cord], desk: Desk
) -> None:
    told: list[Receipt] = []
    desk.on_receipts = told.extend
    desk.table.term_of = lambda _: 0.5
    first = desk.publish([lease("0.a")])
    assert hints_of(cords[0], "0.a") == {}
    desk.publish([lease("1.a")])
    assert hints_of(cords[1], "1.a") == {} and first.states["0.a"].lost
    cords[1].note("1.a", ("t", 0), Standing(3, translated="why"))
    cords[0].tell_receipts([copied(0, Standing(5), kind) for kind in (COPIED, MAPPED, SKIPPED, STOPPED, WAITING)])
    assert desk.wait(lambda: first.states["0.a"].heard == 1, 5)
    assert [(receipt.kind, receipt.records) for receipt in told] == [(COPIED, 4), (SKIPPED, 4)]
    assert not any(receipt.run or receipt.standing for receipt in told)
    assert desk.hints() == {("A->B", "t", 0): Standing(3, translated="why")}


def test_what_is_noted_of_a_partition_comes_behind_what_its_last_lease_is_being_heard_of(
    cords: list[Cord], desk: Desk
) -> None:
    log: list[object] = []
    begun, may_go_on = threading.Event(), threading.Event()

    def take_slowly(receipts: list[Receipt]) -> None:
        begun.set()
        may_go_on.wait(5)
        log.extend(receipts)

    desk.on_receipts = take_slowly
    desk.on_note = lambda *note: log.append(note)
    desk.table.term_of = lambda _: 0.5
    desk.publish([lease("0.a")])
    assert hints_of(cords[0], "0.a") == {}
    cords[0].tell_receipts([copied(0, Standing(5))])
    assert begun.wait(5)
    desk.publish([lease("1.a")])
    assert hints_of(cords[1], "1.a") == {}, "its time is over"
    desk.table.term_of = lambda _: TERM_S
    cords[1].ask()
    noting = Waiting(lambda: cords[1].note("1.a", ("t", 0), Standing(9)))
    noting.join(0.2)
    assert noting.is_alive() and not log
    may_go_on.set()
    noting.get()
    assert log == [copied(0, Standing(5)), ("A->B", ("t", 0), Standing(9))]


def test_a_connection_that_cannot_be_served_does_not_silence_the_desk(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[object] = []

    def refuse(connection: object) -> server_module.Line:
        if refused:
            return line(connection)  # type: ignore[arg-type]
        refused.append(connection)
        raise OSError("no file is left")

    line = server_module.Line
    monkeypatch.setattr(server_module, "Line", refuse)
    desk.publish([lease("0.a")])
    cord = cord_to(desk)
    assert hints_of(cord, "0.a") == {}
    assert refused, "it has tried again"
    cord.close()


def test_who_notes_again_after_a_broken_connection_gets_a_new_one(cords: list[Cord], desk: Desk) -> None:
    desk.publish([lease("0.a")])
    assert hints_of(cords[0], "0.a") == {}
    cords[0].note("0.a", ("t", 0), Standing(5))
    assert cords[0]._notes is not None
    cords[0]._notes.close()
    with pytest.raises(ConnectionLostError, match="does not answer"):
        cords[0].note("0.a", ("t", 0), Standing(5))
    cords[0].note("0.a", ("t", 0), Standing(5))
    cords[0].close()
    with pytest.raises(ConnectionLostError, match="does not answer"):
        cords[0].note("0.a", ("t", 0), Standing(5))


def test_many_receipts_are_told_in_several_lines(
    cords: list[Cord], desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cord_module, "MOST_RECEIPTS", 2)
    told: list[list[Receipt]] = []
    desk.on_receipts = told.append
    desk.publish([lease("0.a")])
    assert hints_of(cords[0], "0.a") == {}
    cords[0].tell_receipts([Receipt(flow="A->B", topic="t", partition=p, kind="copied") for p in range(5)])
    cords[0].tell_done({})
    assert desk.wait(lambda: not desk.holds("A->B"), 5)
    assert [len(some) for some in told] == [2, 2, 1]


def test_a_task_that_cannot_be_understood_is_cut_off_and_its_partitions_wait_until_its_time_is_over(desk: Desk) -> None:
    desk.table.term_of = lambda _: 1.0
    first = desk.publish([lease("0.a")])
    cord = cord_to(desk)
    assert hints_of(cord, "0.a") == {}
    cord._send(Told([["too", "few"]]))
    assert is_ended(cord)
    assert not first.ended(), "it may not have heard that, and write"
    assert desk.wait(first.ended, 5) and first.states["0.a"].lost
    cord.close()


def test_where_a_flow_stood_is_forgotten_when_another_driver_leads(desk: Desk, cords: list[Cord]) -> None:
    desk.publish([lease("0.a")])
    assert hints_of(cords[0], "0.a") == {}
    cords[0].tell_done({("t", 0): Standing(5)})
    assert desk.wait(lambda: bool(desk.hints()), 5)
    desk.forget("B->A")
    assert desk.hints()
    desk.forget("A->B")
    assert not desk.hints()


def test_it_listens_where_the_driver_binds_and_says_where_tasks_find_it() -> None:
    desk = Desk(lambda _: TERM_S, host="driver.example", bind="127.0.0.2")
    assert desk.address == f"driver.example:{desk.address.rpartition(':')[2]}"
    near = Cord(desk.address.replace("driver.example", "127.0.0.2"), desk.environment[KEY_VARIABLE])
    assert near.term("A->B") == TERM_S
    near.close()
    desk.close()
    with pytest.raises(SetupError, match=r"the driver can't listen at 203\.0\.113\.1: .*spark\.driver\.bindAddress"):
        Desk(lambda _: TERM_S, bind="203.0.113.1")


def test_closing_the_desk_frees_planners_and_tasks(desk: Desk, cords: list[Cord]) -> None:
    desk.publish([lease("0.a")])
    assert cords[0].next_round("a", -1) == 0
    assert hints_of(cords[2], "0.a") == {}
    planner = Waiting(lambda: cords[1].next_round("b", 0))
    desk.close()
    assert planner.get() in (0, None)  # nothing new, or no answer at all


def test_a_stranger_gets_no_connection_and_a_false_desk_no_task(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cord_module, "CONNECT_TIMEOUT_S", 0.3)
    _, others = make_keys()
    with pytest.raises(OSError, match=r"certificate|closed|reset|EOF"):
        Cord(desk.address, others.to_text())
