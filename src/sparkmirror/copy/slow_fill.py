"""Fills holes with empty transactions: the slow way, where markers may not be written."""

from __future__ import annotations

import time

from sparkmirror.copy.appender import Filled, Fills
from sparkmirror.errors import BrokerError, SparkmirrorError
from sparkmirror.net.cluster import Cluster, Leader
from sparkmirror.net.offsets import LATEST, list_offsets
from sparkmirror.net.transactions import EmptyTransactions
from sparkmirror.protocol import codes

AT_A_TIME = 50
DEADLINE_S = 5.0


def fill_slowly(target: Cluster, transactions: EmptyTransactions, fills: Fills) -> list[Filled]:
    """A few at a time, so that a lease can end in between; the log ends must be the expected ones then."""
    try:
        return _write_markers(target, transactions, fills)
    except SparkmirrorError as error:
        code = error.code if isinstance(error, BrokerError) else codes.REQUEST_TIMED_OUT
        return [Filled(cursor, term, 0, code) for cursor, term, _ in fills.values()]


def _write_markers(target: Cluster, transactions: EmptyTransactions, fills: Fills) -> list[Filled]:
    wanted = {partition: min(number, AT_A_TIME) for partition, (_, _, number) in fills.items()}
    expected = {p: cursor.target_next + wanted[p] for p, (cursor, _, _) in fills.items()}
    transactions.write_markers(wanted)
    leaders = {p: Leader(cursor.target_node, -1) for p, (cursor, _, _) in fills.items()}
    deadline = time.monotonic() + DEADLINE_S
    while True:
        ends = list_offsets(target, leaders, LATEST, log_end=True)
        late = [p for p, end in expected.items() if ends.get(p, -1) < end]
        if not late or time.monotonic() > deadline:
            break
        time.sleep(0.005)  # the coordinator writes a marker after it has answered
    return [
        Filled(cursor, term, wanted[p], codes.NONE if ends.get(p) == expected[p] else codes.REQUEST_TIMED_OUT, True)
        for p, (cursor, term, _) in fills.items()
    ]
