"""A task that is not heard of any more: whoever follows goes on from the newest that is known of its partitions.

Desk, cords and copies are the mirror's own; the tasks are threads.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparkmirror.copy.copy import Copy
from sparkmirror.copy.lease import Lease
from sparkmirror.copy.receipt import Receipt
from sparkmirror.pipeline.cord import Cord
from sparkmirror.pipeline.desk import Desk
from sparkmirror.pipeline.desk_keys import KEY_VARIABLE
from tests.conftest import Pair
from tests.support.flows import write_flow
from tests.support.kafka_client import await_condition, create_topic, delete_topic, produce, read_all, topics, total
from tests.support.local_mirror import LocalMirror, mirroring
from tests.support.proxy import Proxy

pytestmark = pytest.mark.timeout(120)

TERM_S = 2.0
FIRST_TERM_S = 30.0  # kernels are loaded, which may take long
ASK_S = 0.1
RECORDS = 100


class Task(threading.Thread):
    """What a Python worker does with a lease."""

    def __init__(self, lease: Lease, desk: Desk, address: str) -> None:
        super().__init__(daemon=True)
        self._lease = lease
        self.cord = Cord(address, desk.environment[KEY_VARIABLE])
        self.start()

    def run(self) -> None:
        copy = Copy(self._lease, self.cord, functools.partial(self.cord.note, self._lease.lease_id))
        with contextlib.closing(self.cord), contextlib.closing(copy):
            if turn := self.cord.wait_for_turn(self._lease.lease_id, ASK_S):
                for _ in copy.run(turn):
                    pass


class Office:
    """A mirror's keeper and the desk that gives its leases."""

    def __init__(self, mirror: LocalMirror) -> None:
        self._mirror = mirror
        self.term_s = FIRST_TERM_S
        self.keeper = mirror.keeper
        write = self.keeper.write_standing
        self.desk = Desk(
            lambda _: self.term_s, on_receipts=self._take, on_note=lambda _, place, standing: write(place, standing)
        )

    def _take(self, receipts: list[Receipt]) -> None:
        moved = self._mirror.ledger.take(receipts)
        self.keeper.note_progress(moved.get(self._mirror.flow.name, {}), receipts)

    def publish(self) -> Lease:
        """A round of one lease, planned by what the desk knows."""
        self._mirror.hints = {key[1:]: standing for key, standing in self.desk.hints().items()}
        lease = self._mirror.plan(self.term_s)
        self.desk.publish([lease])
        return lease

    def end(self, task: Task) -> None:
        self.desk.recall()
        task.join(20)
        assert not task.is_alive()
        assert self.desk.wait(lambda: not self.desk.holds(self._mirror.flow.name), 10)


@contextlib.contextmanager
def office_of(file: Path) -> Iterator[Office]:
    with mirroring(file) as mirror:
        mirror.await_topics(1)
        office = Office(mirror)
        try:
            yield office
        finally:
            office.desk.close()


def write_numbers(servers: str, topic: str, first: int, end: int) -> None:
    produce(servers, topic, ({"value": b"%d" % number} for number in range(first, end)))


def test_a_successor_goes_on_in_the_way_that_a_silent_task_began_and_its_late_receipts_undo_nothing(
    pair: Pair, topic: str, tmp_path: Path
) -> None:
    create_topic(pair.source, topic, 1)
    write_numbers(pair.source, topic, 0, RECORDS)
    file = write_flow(
        tmp_path, pair.source, pair.target, topic,
        {"FLOW.on.recreate": "continue", "heartbeats.replication.enabled": "false"},
    )  # fmt: skip
    with office_of(file) as office:
        desk, place = office.desk, (topic, 0)
        remote = next(p.remote for p in office.keeper.view.landscape.partitions)  # type: ignore[union-attr]

        def await_copied(count: int) -> None:
            await_condition(lambda: total(pair.target, remote) >= count, f"{count} records", 20)

        task = Task(office.publish(), desk, desk.address)
        await_copied(RECORDS)
        office.end(task)
        office.term_s = TERM_S
        delete_topic(pair.source, topic)
        await_condition(lambda: topic not in topics(pair.source), "its end")
        create_topic(pair.source, topic, 1)
        write_numbers(pair.source, topic, RECORDS, 2 * RECORDS)
        with Proxy(desk.address) as proxy:
            lease = office.publish()
            silent = desk.table.find(lease.lease_id)
            assert silent is not None
            task = Task(lease, desk, proxy.address)
            await_copied(2 * RECORDS)
            proxy.hold()
            successor = Task(office.publish(), desk, desk.address)
            assert desk.wait(lambda: silent.lost, 10)
            write_numbers(pair.source, topic, 2 * RECORDS, 2 * RECORDS + 10)
            await_copied(2 * RECORDS + 10)
            office.end(successor)
            copied = read_all(pair.target, remote)[0]
            assert [record.value for record in copied] == [b"%d" % number for number in range(2 * RECORDS + 10)]
            office.keeper.write_progress()
            stood = office.keeper.progress.written[place]
            assert stood.translated and stood.next_offset == RECORDS + 10
            task.join(20)
            proxy.let_go()
            assert desk.wait(lambda: silent.heard == task.cord._told, 10)
            office.keeper.write_progress()
            assert office.keeper.progress.written[place] == stood
            assert desk.hints()[office.keeper.flow.name, *place] == stood
