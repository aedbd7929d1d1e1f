"""Rounds where slots are lost, or no query comes: those before make room, and too large ones are given up."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from sparkmirror.control import rounds as rounds_module
from sparkmirror.control.demand import Demand
from sparkmirror.control.ledger import Ledger
from sparkmirror.control.rounds import Rounds
from sparkmirror.copy.lease import Lease, LeasePartition
from sparkmirror.net.address import ClusterAddress
from sparkmirror.pipeline.cord import Cord
from sparkmirror.pipeline.desk import Desk
from sparkmirror.pipeline.desk_keys import KEY_VARIABLE

TERM_S = 20.0


class World:
    """A desk with two tasks at work on a cluster that seems to have 8 slots."""

    def __init__(self) -> None:
        flow = SimpleNamespace(name="A->B", lease_s=TERM_S / 2, tasks_max=4, tasks_min=1, by_rows=False)
        keeper: Any = SimpleNamespace(flow=flow, view=SimpleNamespace(is_active=True), write_progress_soon=lambda: None)
        self.desk = Desk(lambda _: TERM_S)
        self.news = threading.Event()
        self.slots = 8
        self.rounds = Rounds(
            [keeper],
            Ledger(),
            self.desk,
            local_slots=0,
            count_slots=lambda: self.slots,
            has_groups=False,
            has_goal=False,
            tend=lambda: None,
            news=self.news,
        )
        self.rounds.look_at_slots()
        self.cords = [Cord(self.desk.address, self.desk.environment[KEY_VARIABLE]) for _ in range(4)]
        self.desk.publish([self.lease("0.a", 0), self.lease("0.b", 1, 2)])
        assert self.cords[0].next_round("a", -1) == 0
        for cord, lease_id in zip(self.cords[:2], ("0.a", "0.b"), strict=True):
            assert cord.wait_for_turn(lease_id, 1.0) is not None

    def lease(self, lease_id: str, *partitions: int) -> Lease:
        here = ClusterAddress(alias="A", bootstrap=("127.0.0.1:1",))
        return Lease(
            lease_id=lease_id,
            flow="A->B",
            source=here,
            target=here,
            producer_id=1,
            fence=1,
            seconds=TERM_S,
            partitions=tuple(LeasePartition(topic="t", partition=n, remote="A.t") for n in partitions),
        )

    def begin_next(self) -> threading.Thread:
        leases = [self.lease("1.a", 0), self.lease("1.b", 1)]
        thread = threading.Thread(target=lambda: self.rounds.run(leases), daemon=True)
        thread.start()
        assert self.desk.wait(lambda: self.desk.next_number == 2, 5)
        return thread

    def is_told_to_end(self, cord: Cord) -> bool:
        cord._socket.settimeout(5)
        cord.ask()
        return any(type(cord._receive()).__name__ == "End" for _ in range(2))


@pytest.fixture
def world() -> Iterator[World]:
    one = World()
    yield one
    one.news.set()
    one.desk.close()
    for cord in one.cords:
        cord.close()


def test_when_slots_are_lost_those_that_are_left_go_to_the_next_round(world: World) -> None:
    world.cords[0].close()
    running = world.begin_next()
    assert world.cords[2].next_round("b", -1) == 1
    world.slots = 2  # Spark has noticed
    assert world.is_told_to_end(world.cords[1]), "its slot is needed"
    world.cords[1].tell_done({})
    for cord, lease_id in zip(world.cords[2:], ("1.a", "1.b"), strict=True):
        assert cord.wait_for_turn(lease_id, 1.0) is not None
    assert running.is_alive(), "it goes on"


def test_a_round_with_more_tasks_than_slots_is_given_up_for_one_with_fewer(world: World) -> None:
    running = world.begin_next()
    world.slots = 1
    running.join(5)
    assert not running.is_alive()


def test_a_round_that_no_query_comes_for_ends_those_before_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds_module, "TAKE_S", 0.2)
    world.begin_next()
    assert world.is_told_to_end(world.cords[0])


def test_a_round_that_a_query_has_taken_leaves_those_before_it_alone_until_its_tasks_are_there(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds_module, "TAKE_S", 0.2)
    world.begin_next()
    assert world.cords[2].next_round("b", -1) == 1
    with pytest.raises(TimeoutError):
        world.cords[0]._socket.settimeout(1.5)
        world.cords[0]._receive()


@pytest.mark.parametrize(("load", "is_short"), [(0.1, False), (0.9, True)])
def test_a_round_whose_tasks_are_pressed_is_a_short_one(
    world: World, monkeypatch: pytest.MonkeyPatch, load: float, is_short: bool
) -> None:
    monkeypatch.setattr(rounds_module, "PRESSED_LEASES", 0.35)
    world.slots = 2  # as many leases as there may be
    world.rounds.look_at_slots()
    for cord in world.cords[:2]:
        cord.ask(load)
    assert world.desk.wait(lambda: world.desk.loads("A->B") == [load, load], 5)
    current = world.desk.table.round(0)
    assert current is not None
    assert not world.rounds._wants_next(current), "it has only begun"
    assert world.desk.wait(lambda: world.rounds._wants_next(current), 3) is is_short


def test_pressed_tasks_whose_partitions_can_not_be_shared_out_otherwise_are_left_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world.desk, "loads", lambda _: [0.9, 0.9])
    shared = {
        (2, 3): [world.lease("1.a", 0), world.lease("1.b", 1, 2)],
        (2, 2): [world.lease("2.a", 0), world.lease("2.b", 1)],
        (1, 2): [world.lease("3.a", 0, 1)],
    }
    pressed = [size for size, leases in shared.items() if world.rounds._is_pressed(world.desk.publish(leases), "A->B")]
    assert pressed == [(2, 3)]


def test_a_flow_without_partitions_for_more_leases_brings_no_round_forward_for_another(world: World) -> None:
    other: Any = SimpleNamespace(flow=SimpleNamespace(name="C->D", tasks_max=4, tasks_min=1))
    world.rounds._keepers = [*world.rounds._keepers, other]
    world.rounds._demands["C->D"] = Demand()
    world.rounds._planned = {"A->B": 1, "C->D": 1}
    current = world.desk.publish([replace(world.lease("1.a", 0, 1, 2), flow="C->D"), world.lease("1.b", 3)])
    world.rounds._demands["A->B"].leases = 2
    assert not world.rounds._is_outgrown(current)
    world.rounds._demands["C->D"].leases = 2
    assert world.rounds._is_outgrown(current)


def test_leases_that_were_never_there_do_not_have_to_go(world: World) -> None:
    current = world.desk.publish([world.lease("1.a", 0), world.lease("1.b", 1)])
    world.rounds._planned = {"A->B": 4}
    for wanted, has_shrunk in ((3, False), (2, False), (1, True)):
        world.rounds._demands["A->B"].leases = wanted
        assert world.rounds._has_shrunk(current) is has_shrunk
