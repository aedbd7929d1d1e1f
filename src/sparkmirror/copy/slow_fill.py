"""Fills holes with empty transactions: the slow way, where markers may not be written.

Each partition of the target has a transactional id of its own. A task that fills a hole there takes it over first,
whichever task wrote before, so no other marker can come any more. Then the log must end where the hole begins; if not,
a marker of an earlier task has come meanwhile, or one of a fill whose cursor was lost and found while it was under way,
and the partition is looked at anew.

    take the id over      InitProducerId   shuts out who had it; ends his open transaction, with a marker; once a lease
    see to the log's end  ListOffsets
    a marker at a time    AddPartitionsToTxn, EndTxn, while the cursor is not lost
    see to the log's end  ListOffsets
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from sparkmirror.copy.appender import Filled, Fills, Partition
from sparkmirror.errors import BrokerError, SparkmirrorError
from sparkmirror.net.cluster import Cluster, Leader
from sparkmirror.net.offsets import LATEST, list_offsets
from sparkmirror.net.transactions import EmptyTransactions
from sparkmirror.protocol import codes

AT_A_TIME = 50
AT_ONCE_S = 1.0  # then the lease may end, or other partitions' holes have their turn
DEADLINE_S = 5.0
LOOK_AGAIN_S, LONGEST_LOOK_AGAIN_S = 0.005, 0.1


class SlowFill:
    """One lease's. Blocking; one user at a time. `may_write`: asked before each marker."""

    def __init__(self, target: Cluster, name: Callable[[Partition], str], may_write: Callable[[], bool]) -> None:
        self._target = target
        self._name = name
        self._may_write = may_write
        self._transactions: dict[Partition, EmptyTransactions] = {}
        self._is_cut_off = False  # a broker did not answer in this pass: it is not asked for each partition

    def fill(self, fills: Fills) -> list[Filled]:
        """Some markers for each partition; as many as its log then shows."""
        errors: dict[Partition, int] = {}
        begins = {p: cursor.target_next for p, (cursor, _, _) in fills.items()}
        self._is_cut_off = False
        self._take_over([p for p in fills if p not in self._transactions], errors)
        self._check_ends(fills, begins, errors)
        written = self._write_markers(fills, errors)
        expected = {p: begins[p] + count for p, count in written.items() if p not in errors}
        ends = self._await_ends(fills, expected)
        for partition, end in expected.items():
            if ends.get(partition) != end:
                errors[partition] = codes.REQUEST_TIMED_OUT
        for partition in errors:  # what was asked last may still be done, unless the id is taken over again
            self._transactions.pop(partition, None)
        return [
            Filled(cursor, term, written.get(p, 0), errors.get(p, codes.NONE), is_checked=True)
            for p, (cursor, term, _) in fills.items()
        ]

    def _take_over(self, partitions: Iterable[Partition], errors: dict[Partition, int]) -> None:
        for partition in partitions:
            transactions = EmptyTransactions(self._target, self._name(partition))
            if self._try(transactions.begin, partition, errors):
                self._transactions[partition] = transactions

    def _check_ends(self, fills: Fills, begins: dict[Partition, int], errors: dict[Partition, int]) -> None:
        """No marker of anybody else's can come any more, and none is under way: each log ends where its hole begins."""
        ready = {p: begin for p, begin in begins.items() if p not in errors}
        ends = self._ask_ends(fills, ready)
        errors |= {p: codes.REQUEST_TIMED_OUT for p, end in ready.items() if ends.get(p) != end}

    def _write_markers(self, fills: Fills, errors: dict[Partition, int]) -> dict[Partition, int]:
        """In turns: while one partition's marker is on its way, those of the others are sent."""
        written = dict.fromkeys(fills, 0)
        until = time.monotonic() + AT_ONCE_S
        for index in range(AT_A_TIME):
            turn = [
                p
                for p, (cursor, term, number) in fills.items()
                if number > index and p not in errors and term == cursor.term
            ]
            if not turn or not self._may_write() or (index and time.monotonic() > until):
                break
            opened = [p for p in turn if self._try(lambda p=p: self._transactions[p].open(p), p, errors)]  # type: ignore[misc]
            for partition in opened:
                if self._try(self._transactions[partition].end, partition, errors):
                    written[partition] += 1
        return written

    def _try(self, work: Callable[[], None], partition: Partition, errors: dict[Partition, int]) -> bool:
        errors[partition] = codes.REQUEST_TIMED_OUT
        if self._is_cut_off:
            return False
        try:
            work()
        except BrokerError as error:
            if error.code not in codes.TAKEN_OVER:
                errors[partition] = error.code
            return False
        except SparkmirrorError:
            self._is_cut_off = True
            return False
        del errors[partition]
        return True

    def _await_ends(self, fills: Fills, expected: dict[Partition, int]) -> dict[Partition, int]:
        deadline = time.monotonic() + DEADLINE_S
        pause_s = LOOK_AGAIN_S
        while True:
            ends = self._ask_ends(fills, expected)
            late = [p for p, end in expected.items() if ends.get(p, -1) < end]
            if not late or time.monotonic() > deadline:
                return ends
            time.sleep(pause_s)  # the coordinator writes a marker after it has answered
            pause_s = min(2 * pause_s, LONGEST_LOOK_AGAIN_S)

    def _ask_ends(self, fills: Fills, partitions: Iterable[Partition]) -> dict[Partition, int]:
        leaders = {p: Leader(fills[p][0].target_node, -1) for p in partitions}
        try:
            return list_offsets(self._target, leaders, LATEST, log_end=True) if leaders else {}
        except SparkmirrorError:
            return {}
