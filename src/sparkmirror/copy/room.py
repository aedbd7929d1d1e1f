"""Makes room for those that go on, when enough is held and some of it stands still.

What waits for a target broker that does not answer, or behind a hole that is not filled, is forgotten and fetched again
later. A broker that has most of the memory gets no more for a while. What still waits is moved out of buffers that it
needs only a small part of (`copy.held`).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from sparkmirror.copy.appender import STILL_S, Appender
from sparkmirror.copy.cursor import Cursor
from sparkmirror.copy.roster import Roster
from sparkmirror.net.cluster import group_by

REST_S = 5.0  # what was given back is not asked for again meanwhile, unless an answer comes
CROWDED_S = 0.1


def make_room(roster: Roster, appenders: Mapping[int, Appender], now: float) -> None:
    waiting = group_by([c for c in roster.cursors if c.held_bytes], lambda c: c.target_node)
    for node, cursors in waiting.items():
        stands_still = node in appenders and appenders[node].stands_still(now)
        is_crowded = len(appenders) > 1 and sum(c.held_bytes for c in cursors) > roster.most_bytes // 2
        for cursor in cursors:
            if stands_still or _waits_for_hole(cursor, now):
                roster.give_back(cursor)
                cursor.rests_until = now + REST_S
            elif is_crowded:
                cursor.rests_until = now + CROWDED_S
    _move_out(roster, appenders, now)


def _waits_for_hole(cursor: Cursor, now: float) -> bool:
    return bool(cursor.fill_began) and now - cursor.fill_began > STILL_S


def _move_out(roster: Roster, appenders: Mapping[int, Appender], now: float) -> None:
    queues = [cursor.queue for cursor in roster.cursors if cursor.queue]
    channels = [appender.channel for appender in appenders.values()]
    used: dict[int, int] = {}
    for batch in chain(*(queue.batches() for queue in queues), *(channel.unsent() for channel in channels)):
        used[id(batch.obj)] = used.get(id(batch.obj), 0) + len(batch)
    sparse = roster.held.find_sparse(used, now)
    if not sparse:
        return

    def move(batch: memoryview) -> memoryview:
        return roster.held.move(batch) if id(batch.obj) in sparse else batch

    for queue in queues:
        queue.move(move)
    for channel in channels:
        channel.move(move)
