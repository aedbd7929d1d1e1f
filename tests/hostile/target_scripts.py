"""Lies of a target. What it holds in truth is a real broker's."""

from __future__ import annotations

from typing import Any

from sparkmirror.copy.lease import TRANSACTIONS, Rules
from tests.hostile import lies
from tests.hostile.lies import MOST_I32, MOST_I64, edited, fetched, offsets, produced, setting
from tests.hostile.proxy import (
    ADD_PARTITIONS,
    API_VERSIONS,
    COORDINATOR,
    END_TXN,
    FETCH,
    LIST_OFFSETS,
    MARKERS,
    METADATA,
    PRODUCE,
    PRODUCER_ID,
    PRODUCERS,
    Close,
    Hang,
    Lie,
)
from tests.hostile.stage import TARGET, Script

_HUGE_COMPACT = b"\xff\xff\xff\xff\x0f"
_BY_TRANSACTIONS = Rules(fill_with=TRANSACTIONS)


def _script(name: str, lie: Any, api_key: int = PRODUCE, **more: Any) -> Script:
    return Script(name=name, side=TARGET, lies={api_key: lie}, **more)


def _other_partition(said: Any) -> None:
    for topic in said.responses:
        for partition in topic.partition_responses:
            partition.index += 4711


def _twice_the_first(said: Any) -> None:
    """As many answers as batches, but one of them twice."""
    for topic in said.responses:
        first = topic.partition_responses[0]
        topic.partition_responses = [first] * max(2, len(topic.partition_responses))


def _more_answers(said: Any) -> None:
    for topic in said.responses:
        topic.partition_responses *= 3


def _faulty_records(partition: Any) -> None:
    kind = type(partition).BatchIndexAndErrorMessage
    partition.error_code = 87
    partition.record_errors = [
        kind(batch_index=index, batch_index_error_message="x" * 30_000) for index in (-1, MOST_I32, 10**6)
    ]


def _producers(change: Any) -> Lie:
    def change_all(said: Any) -> None:
        for topic in said.topics:
            for partition in topic.partitions:
                change(partition)

    return edited(change_all)


def _absurd_producer(partition: Any) -> None:
    kind = type(partition).ProducerState
    partition.active_producers = [
        kind(
            producer_id=producer_id,
            producer_epoch=-1,
            last_sequence=MOST_I32,
            last_timestamp=-MOST_I64,
            coordinator_epoch=-9,
            current_txn_start_offset=MOST_I64,
        )
        for producer_id in range(20_000)
    ]


def _marked(code: int) -> Lie:
    def change(said: Any) -> None:
        for marker in said.markers:
            for topic in marker.topics:
                for partition in topic.partitions:
                    partition.error_code = code

    return edited(change)


def _node(node: int) -> Lie:
    def change(said: Any) -> None:
        for one in said.coordinators or [said]:
            one.node_id = node

    return edited(change)


def _coordinator_error(code: int) -> Lie:
    def change(said: Any) -> None:
        for one in said.coordinators or [said]:
            one.error_code = code

    return edited(change)


def _no_host(said: Any) -> None:
    for broker in said.brokers:
        broker.host = ".."


TARGET_SCRIPTS = [
    # -- frames
    _script("a negative size of a produce answer", lies.said_size(-1)),
    _script("a produce answer of 100 MB", lies.said_size(100 << 20)),
    _script("another correlation id of a produce answer", lies.other_correlation),
    _script("each produce answer twice", lies.twice),
    _script("half a produce answer, then the end", lies.half_then(Close())),
    _script("half a produce answer, then silence", lies.half_then(Hang())),
    _script("no produce answer", lies.nothing),
    _script("a produce answer, a byte every 50 ms", lies.dripped(0.05)),
    _script("garbage as a produce answer", lies.body_instead(b"\xff" * 50)),
    _script("2^31 answers", lies.body_instead(_HUGE_COMPACT)),
    _script("an empty produce answer", lies.body_instead(b"\1\0\0\0\0\0")),
    # -- produce
    _script("a base offset of 2^63 in an answer", produced(setting(base_offset=MOST_I64)), stops="foreign-writer"),
    _script("a negative base offset in an answer", produced(setting(base_offset=-5)), stops="diverged"),
    _script(
        "a base offset that is one too high",
        produced(lambda p: setattr(p, "base_offset", p.base_offset + 1)),
        stops="foreign-writer",
    ),
    _script("a produce answer for other partitions", edited(_other_partition)),
    _script("a produce answer for one partition twice", edited(_twice_the_first)),
    _script("more answers than batches", edited(_more_answers)),
    _script("an unknown error of each batch", produced(setting(error_code=-4711)), stops="refused"),
    _script("errors of records that there are not", produced(_faulty_records), stops="refused"),
    _script("each batch is too large", produced(setting(error_code=10)), may_stop=True, heals=False),
    _script("each batch is out of order", produced(setting(error_code=45))),
    _script("each batch is of an unknown producer", produced(setting(error_code=59))),
    _script("a throttle of days for producers", edited(setting(throttle_time_ms=20 * 86_400_000))),
    _script("a negative throttle for producers", edited(setting(throttle_time_ms=-5)), copies=True),
    # -- where it stands
    _script("a log end of 2^63", offsets(setting(offset=MOST_I64)), LIST_OFFSETS),
    _script("a log end of 2^40", offsets(setting(offset=1 << 40)), LIST_OFFSETS, stops="position-unknown"),
    _script("a negative log end", offsets(setting(offset=-7)), LIST_OFFSETS),
    _script(
        "a log end that is one too high",
        offsets(lambda p: setattr(p, "offset", p.offset + 1)),
        LIST_OFFSETS,
        begun=True,
        stops="diverged",
        heals=False,
    ),
    _script(
        "a log end of 0 where records are",
        offsets(setting(offset=0)),
        LIST_OFFSETS,
        begun=True,
        stops="position-unknown",
    ),
    _script("absurd producers", _producers(_absurd_producer), PRODUCERS, may_stop=True),
    _script("absurd producers where records are", _producers(_absurd_producer), PRODUCERS, begun=True, may_stop=True),
    _script("producers of nobody", edited(setting(topics=[])), PRODUCERS),
    _script("2^31 producers", lies.of_body(lambda body: body[:-4] + _HUGE_COMPACT), PRODUCERS),
    _script("an unknown error of producers", _producers(setting(error_code=999)), PRODUCERS),
    _script("a tail with a wrong CRC", lies.batches(lies.field(lies.CRC, 1), sealed=False), FETCH, begun=True),
    _script(
        "a tail of other records",
        lies.batches(lambda b: b.__setitem__(-3, b[-3] ^ 1)),
        FETCH,
        begun=True,
        stops="diverged",
        heals=False,
    ),
    _script("a tail that ends nowhere", lies.records(lambda d: d[:-9]), FETCH, begun=True, may_stop=True, heals=False),
    _script(
        "a tail of another partition",
        fetched(setting(partition_index=77)),
        FETCH,
        begun=True,
        stops="corrupt",
        heals=False,
    ),
    _script(
        "a tail of an absurd codec",
        lies.batches(lies.field(lies.ATTRIBUTES, 6)),
        FETCH,
        begun=True,
        stops="corrupt",
        heals=False,
    ),
    # -- markers
    _script("an unknown error of markers", _marked(4711), MARKERS, stops="refused"),
    _script("markers of nobody", edited(setting(markers=[])), MARKERS),
    _script("markers are never answered", lies.nothing, MARKERS),
    _script("2^31 markers", lies.body_instead(_HUGE_COMPACT + b"\0"), MARKERS),
    # -- transactions in the place of markers
    _script("a coordinator that does not exist", _node(4711), COORDINATOR, rules=_BY_TRANSACTIONS),
    _script(
        "a coordinator that is none, always",
        _coordinator_error(16),
        COORDINATOR,
        rules=_BY_TRANSACTIONS,
        questions=4000,
    ),
    _script("no coordinators", edited(setting(coordinators=[])), COORDINATOR, rules=_BY_TRANSACTIONS),
    _script(
        "an unknown error of the coordinator",
        _coordinator_error(-99),
        COORDINATOR,
        rules=_BY_TRANSACTIONS,
        stops="refused",
    ),
    _script(
        "absurd producer ids",
        edited(setting(producer_id=-MOST_I64, producer_epoch=-32768)),
        PRODUCER_ID,
        rules=_BY_TRANSACTIONS,
    ),
    _script(
        "partitions added for nobody",
        edited(setting(results_by_topic_v3_and_below=[])),
        ADD_PARTITIONS,
        rules=_BY_TRANSACTIONS,
        may_stop=True,
        heals=False,
    ),
    _script("transactions that never end", edited(setting(error_code=51)), END_TXN, rules=_BY_TRANSACTIONS),
    # -- who is there
    _script("no versions of the target", edited(setting(api_keys=[])), API_VERSIONS),
    _script("no brokers of the target", edited(setting(brokers=[])), METADATA),
    _script(
        "a host name of the target with empty labels",
        edited(_no_host),
        METADATA,
    ),
]
