"""The loop of plain traffic: it waits for brokers, reads, carries and sends, without the interpreter.

    source    |-- fetch --------------->| answer |-- fetch -----------...      one request under way
    target    |                                  |-- appends -->|              read with the next answer of a source

What a source sends is gathered in `arrived[source]`, what a target sends in `answers[target]`. Only what is whole and
plain is taken from there; all else stays there, for the copy to go on with. Nothing that was read is lost, and nothing
that was sent is forgotten: `flights` are the appends that were not answered yet.

Sockets with TLS are OpenSSL's, which the interpreter calls (`by_hand`): the loop ends where it would read or send, and
begins anew with what was read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparkmirror.batch.kernel import Bytes, copy_bytes, kernel
from sparkmirror.batch.scan import big_endian
from sparkmirror.copy.lane import system
from sparkmirror.copy.lane.answers import UNUSUAL, acknowledge
from sparkmirror.copy.lane.carry import (
    BUSY,
    MOST_TURNS,
    REQUEST_FROM,
    REQUEST_TARGET,
    REQUEST_TO,
    SENT_FROM,
    SENT_TO,
    Desk,
    carry,
    put,
    put_wishes,
)
from sparkmirror.copy.lane.gather import FLOOD_MS, note_answer, plan_fetch
from sparkmirror.copy.lane.table import Files, Keys, Table
from sparkmirror.copy.pace import FULL_SHARE
from sparkmirror.protocol import fetch, produce

# Why it came to an end.
OVER, OTHERS, STRANGE, GONE, UNSENT, READ = range(6)
#   OVER     its time is
#   OTHERS   something else is ready
#   STRANGE  an answer that is not plain lies there
#   GONE     a connection is
#   UNSENT   a socket did not take all of a request; by hand: something is to be sent
#   READ     by hand: something is to be read

# Of a source broker. ASKED_AT, WAITS_MS: of the request under way; IS_IDLE: there is none; AWAITED: bytes that wake us
# up; LOOK_AT: when less is read, too, or 0; HELD_AT: since when its answer waits for those of targets; FULL_BYTES: as
# large as it can be at most; WAS_FULL: it was about so large.
S_FILE, S_CORRELATION, S_SESSION, S_EPOCH, S_ASKED_AT, S_WAITS_MS, S_HERE, S_AWAITED, S_LOOK_AT = range(9)
S_MOST_BYTES, S_IS_IDLE, S_HELD_AT, S_FULL_BYTES, S_WAS_FULL = 9, 10, 11, 12, 13
SOURCE_COLUMNS = 14
# Of a target broker: of the appends under way the first and their number.
T_FILE, T_CORRELATION, T_FIRST, T_COUNT, T_HERE = range(5)
TARGET_COLUMNS = 5
F_CORRELATION, F_BATCHES, F_AT = range(3)
FLIGHT_COLUMNS = 3
MOST_FLIGHTS = 8  # more than there ever are

SIZE_BYTES = 4
FRONT_BYTES = 12  # size, api key, version, correlation; then the client's id
ANSWERS_WAIT_NS = 20_000_000  # of targets, for that of a source: then one wake-up takes both
REST_WAIT_NS = 5_000_000
LATE_NS = 1_000_000  # that an answer may come after its time
FIRST_BYTES = 128  # brokers send what stands before records, which is less, on its own
MOST_HELD_NS = 1_000_000_000
NO_FILE = -1
LEASE_ENDS, SCRATCH = 2, 3  # of `scratch`: what stands behind the room for a clock
_NS_PER_MS = 1_000_000
_FETCH, _PRODUCE = fetch.API_KEY, produce.API_KEY
_FETCH_HEAD = fetch.HEAD.size


class Setting(NamedTuple):
    """What stays as it is. `heads`: what follows the front of a request, to the source and to the target.

    `sealed_bytes`: so many may have come of an answer that nobody has seen yet.
    """

    by_hand: bool
    sealed_bytes: int

    by_id: tuple[bool, bool]
    versions: tuple[int, int]
    keys: tuple[Keys, Keys]
    heads: tuple[Bytes, Bytes]
    isolation: int
    partition_bytes: int
    timeout_ms: int
    known_ns: int


class State(NamedTuple):
    """`files`: of sources and targets, then one that is ready when others have something to do. `unsent`: requests that
    a socket did not take whole: the target (or -1 less the source), and where the rest stands in `out` or `wish`.
    Behind them is a row that begins at -1.
    """

    table: Table
    sources: Table
    targets: Table
    gathering: Table
    flights: NDArray[np.int64]
    batches: NDArray[np.int64]
    arrived: NDArray[np.uint8]
    answers: NDArray[np.uint8]
    files: Files
    unsent: Table
    scratch: Table


@kernel
def ride(until: int, setting: Setting, state: State, desk: Desk) -> int:
    """Until that time, or something is not plain. Why it ended."""
    state.unsent[:, 1] = -1
    ended = _go_on(until, setting, state, desk)
    if ended != OVER:
        return ended
    answers_at = 0
    while True:
        now = system.now_ns(state.scratch)
        if now >= until:
            return _take_answers(setting, state, now)
        is_awaited = False
        for target in range(len(state.targets)):
            is_awaited = is_awaited or state.targets[target, T_COUNT] > 0
        if is_awaited:
            if answers_at == 0:
                answers_at = now + ANSWERS_WAIT_NS
            if now >= answers_at:
                if setting.by_hand:
                    return READ
                ended = _take_answers(setting, state, now)
                for source in range(len(state.sources)):
                    if ended == OVER and state.sources[source, S_HELD_AT] > 0:
                        ended = _take_source(source, until, setting, state, desk)
                if ended != OVER:
                    return ended
                answers_at = 0
                continue
        else:
            answers_at = 0
        till = min(until, answers_at) if answers_at else until
        is_held = False
        for source in range(len(state.sources)):
            look_at = state.sources[source, S_LOOK_AT]
            till = min(till, look_at) if look_at else till
            held_at = state.sources[source, S_HELD_AT]
            is_held = is_held or held_at > 0
            if held_at and now - held_at > MOST_HELD_NS:
                return STRANGE  # others need not wait for the broker that holds it up
        targets = len(state.targets)
        wait_ms = max(0, (till - now + _NS_PER_MS - 1) // _NS_PER_MS)
        ready = system.wait(state.files, 0 if is_held else targets, wait_ms)
        if ready < 0 or system.state_of(state.files, len(state.files) - 1) != 0:
            return OTHERS
        for target in range(targets):
            if system.state_of(state.files, len(state.sources) + target) != 0:
                if not is_held or state.targets[target, T_COUNT] == 0:
                    return GONE
                answers_at = now
        for source in range(len(state.sources)):
            is_ready = system.state_of(state.files, source) != 0
            # Also while others are ready all the time.
            is_late = 0 < state.sources[source, S_LOOK_AT] <= (till if ready == 0 else now)
            if is_ready or is_late:
                if setting.by_hand:
                    return READ
                ended = _take_source(source, until, setting, state, desk)
                if ended != OVER:
                    return ended
                if state.sources[source, S_HERE] == 0:
                    answers_at = 0  # they were taken, too


@kernel
def _go_on(until: int, setting: Setting, state: State, desk: Desk) -> int:
    """With what is here already: of the last time, or read by hand. OVER: go on."""
    now = system.now_ns(state.scratch)
    if setting.by_hand:
        ended = _take_answers(setting, state, now)
        if ended != OVER:
            return ended
    for source in range(len(state.sources)):
        is_late = 0 < state.sources[source, S_LOOK_AT] <= now
        if state.sources[source, S_HERE] > 0 or is_late:
            ended = _take_source(source, until, setting, state, desk)
            if ended != OVER:
                return ended
    return OVER


@kernel
def _take_source(source: int, until: int, setting: Setting, state: State, desk: Desk) -> int:
    """What has arrived of an answer; OVER: go on."""
    row, data = state.sources[source], state.arrived[source]
    before = row[S_HERE]
    if not setting.by_hand and _missing(row, data) > 0:
        ended = _receive(row, data)
        if ended != OVER:
            return ended
    missing = _missing(row, data)
    if missing == UNUSUAL:
        return STRANGE
    now = system.now_ns(state.scratch)
    if missing > 0:
        if setting.by_hand:
            missing -= setting.sealed_bytes
        elif row[S_HERE] == before:
            missing = 1
        _await(row, max(1, missing), now + REST_WAIT_NS, state)
        return OVER
    row[S_LOOK_AT] = 0
    ended = _take_answers(setting, state, now)
    if ended != OVER:
        return ended
    return _carry_on(source, big_endian(data, 0, 4), until, setting, state, desk)


@kernel
def _missing(row: Table, data: Bytes) -> int:
    """How many bytes, as far as they are announced; `UNUSUAL` if no answer has as many."""
    if row[S_HERE] < SIZE_BYTES:
        return 1
    size = big_endian(data, 0, 4)
    return UNUSUAL if size < SIZE_BYTES or SIZE_BYTES + size > len(data) else max(0, SIZE_BYTES + size - row[S_HERE])


@kernel
def _receive(row: Table, data: Bytes) -> int:
    """All that is there of one answer; OVER: go on."""
    while True:
        wanted = len(data) - row[S_HERE]
        count = system.receive(row[S_FILE], data, row[S_HERE], wanted) if wanted else system.NOT_NOW
        if count == system.NOT_NOW:
            return OVER
        if count <= 0:
            return OTHERS if count == system.INTERRUPTED else GONE
        row[S_HERE] += count
        missing = _missing(row, data)
        if count < wanted or missing <= 0:
            return OVER


@kernel
def _await(row: Table, count: int, look_at: int, state: State) -> None:
    """Be woken up by so many bytes; at that time in any case, unless each byte does it."""
    if count != row[S_AWAITED]:
        system.wake_at(row[S_FILE], count, state.scratch)
    row[S_AWAITED], row[S_LOOK_AT] = count, look_at if count > 1 else 0


@kernel
def _carry_on(source: int, size: int, until: int, setting: Setting, state: State, desk: Desk) -> int:
    row, data = state.sources[source], state.arrived[source]
    body = SIZE_BYTES + 4 + setting.by_id[0]
    now = system.now_ns(state.scratch)
    took = now - row[S_ASKED_AT]
    free = MOST_TURNS
    for target in range(len(state.targets)):
        free = min(free, MOST_TURNS - state.targets[target, T_COUNT])
    is_ours = row[S_HERE] == SIZE_BYTES + size and big_endian(data, SIZE_BYTES, 4) == row[S_CORRELATION]
    if not is_ours or (setting.by_id[0] and data[body - 1] != 0):
        return STRANGE
    if now >= until:
        return OVER  # it is taken the next time, if there is one
    count = carry(
        data[body : SIZE_BYTES + size], setting.by_id, setting.keys, state.table, desk, source, row[S_SESSION],
        len(state.targets), free, now, setting.timeout_ms, FRONT_BYTES + len(setting.heads[1]),
    )  # fmt: skip
    if count == BUSY:
        row[S_HELD_AT] = row[S_HELD_AT] or now
        state.files[source, 0] = NO_FILE
        return OVER
    row[S_HELD_AT], state.files[source, 0] = 0, row[S_FILE]
    if count == UNUSUAL or (count == 0 and took < row[S_WAITS_MS] * _NS_PER_MS // 2):
        return STRANGE  # what comes at once and brings nothing is, too
    row[S_HERE], row[S_IS_IDLE] = 0, 1
    row[S_EPOCH] += 1
    row[S_WAS_FULL] = size > FULL_SHARE * row[S_FULL_BYTES]
    note_answer(state.gathering[source], size, count > 0, took, row[S_WAITS_MS], now)
    unsent = 0
    for i in range(count):
        unsent = _send_append(desk.requests[i], setting, state, desk, unsent)
    if unsent and not setting.by_hand:
        return UNSENT
    return _ask(source, until, setting, state, desk, unsent)


@kernel
def _send_append(request: Table, setting: Setting, state: State, desk: Desk, unsent: int) -> int:
    """How many requests are unsent by now: those behind one are, too, and all when the lease's time is over."""
    now = system.now_ns(state.scratch)
    target = request[REQUEST_TARGET]
    row, at, end = state.targets[target], request[REQUEST_FROM], request[REQUEST_TO]
    row[T_CORRELATION] = (row[T_CORRELATION] + 1) & 0x7FFFFFFF
    _put_front(desk.out, at, end, _PRODUCE, setting.versions[1], row[T_CORRELATION], setting.heads[1])
    slot = (row[T_FIRST] + row[T_COUNT]) % MOST_FLIGHTS
    count = request[SENT_TO] - request[SENT_FROM]
    flight = state.flights[target, slot]
    flight[F_CORRELATION], flight[F_BATCHES], flight[F_AT] = row[T_CORRELATION], count, now
    state.batches[target, slot, :count] = desk.sent[request[SENT_FROM] : request[SENT_TO]]
    row[T_COUNT] += 1
    must_wait = setting.by_hand or unsent > 0 or now >= state.scratch[LEASE_ENDS]
    sent = 0 if must_wait else max(0, system.send(row[T_FILE], desk.out, at, end - at))
    if at + sent < end:
        state.unsent[unsent, 0], state.unsent[unsent, 1], state.unsent[unsent, 2] = target, at + sent, end
        return unsent + 1
    return unsent


@kernel
def _ask(source: int, until: int, setting: Setting, state: State, desk: Desk, unsent: int) -> int:
    """The next fetch of the same partitions. `unsent`: requests that go before it."""
    row, out = state.sources[source], desk.wish
    room = FRONT_BYTES + len(setting.heads[0])
    end = put_wishes(
        desk.found, state.table, setting.by_id[0], setting.keys[0], setting.partition_bytes, desk.tail,
        out, room + _FETCH_HEAD,
    )  # fmt: skip
    now = system.now_ns(state.scratch)
    wait_ms, least_bytes = plan_fetch(state.gathering[source])
    wait_ms = min(wait_ms, max(0, (until - now) // _NS_PER_MS))
    row[S_CORRELATION] = (row[S_CORRELATION] + 1) & 0x7FFFFFFF
    _put_front(out, 0, end, _FETCH, setting.versions[0], row[S_CORRELATION], setting.heads[0])
    at = put(out, put(out, room, -1, 4), wait_ms, 4)
    at = put(out, put(out, at, min(least_bytes, row[S_MOST_BYTES]), 4), row[S_MOST_BYTES], 4)
    at = put(out, put(out, at, setting.isolation, 1), row[S_SESSION], 4)
    put(out, at, row[S_EPOCH], 4)
    row[S_ASKED_AT], row[S_WAITS_MS], row[S_IS_IDLE] = now, wait_ms, 0
    look_at = now + min(wait_ms, FLOOD_MS) * _NS_PER_MS + LATE_NS
    _await(row, max(FIRST_BYTES, min(least_bytes, row[S_MOST_BYTES])), look_at, state)
    sent = 0 if setting.by_hand else max(0, system.send(row[S_FILE], out, 0, end))
    if sent < end:
        state.unsent[unsent, 0], state.unsent[unsent, 1], state.unsent[unsent, 2] = -1 - source, sent, end
        return UNSENT
    return OVER


@kernel
def _put_front(out: Bytes, at: int, end: int, api_key: int, version: int, correlation: int, head: Bytes) -> None:
    put(out, at, end - at - SIZE_BYTES, 4)
    put(out, put(out, put(out, at + 4, api_key, 2), version, 2), correlation, 4)
    copy_bytes(out, at + FRONT_BYTES, head, 0, len(head))


@kernel
def _take_answers(setting: Setting, state: State, now: int) -> int:
    """All that target brokers have answered by now; OVER: go on."""
    for target in range(len(state.targets)):
        if state.targets[target, T_COUNT] > 0:
            ended = _take_target(target, setting, state, now)
            if ended != OVER:
                return ended
    return OVER


@kernel
def _take_target(target: int, setting: Setting, state: State, now: int) -> int:
    row, data = state.targets[target], state.answers[target]
    if not setting.by_hand:
        count = system.receive(row[T_FILE], data, row[T_HERE], len(data) - row[T_HERE])
        if count == system.NOT_NOW:
            return OVER
        if count <= 0:
            return OTHERS if count == system.INTERRUPTED else GONE
        row[T_HERE] += count
    while row[T_HERE] >= SIZE_BYTES:
        size = big_endian(data, 0, 4)
        if size < SIZE_BYTES or SIZE_BYTES + size > len(data) or row[T_COUNT] == 0:
            return STRANGE
        if row[T_HERE] < SIZE_BYTES + size:
            break
        flight = state.flights[target, row[T_FIRST]]
        body = SIZE_BYTES + 4 + setting.by_id[1]
        if big_endian(data, SIZE_BYTES, 4) != flight[F_CORRELATION] or (setting.by_id[1] and data[body - 1] != 0):
            return STRANGE
        taken = acknowledge(
            data[body : SIZE_BYTES + size], setting.by_id[1], setting.keys[1],
            state.batches[target, row[T_FIRST], : flight[F_BATCHES]], state.table, now + setting.known_ns,
        )  # fmt: skip
        if taken == UNUSUAL:
            return STRANGE
        row[T_FIRST] = (row[T_FIRST] + 1) % MOST_FLIGHTS
        row[T_COUNT] -= 1
        left = row[T_HERE] - SIZE_BYTES - size
        for i in range(left):
            data[i] = data[SIZE_BYTES + size + i]
        row[T_HERE] = left
    return OVER
