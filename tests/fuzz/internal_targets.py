"""Records of internal topics, which anybody may have written: what can't be read is passed over, never an error."""

from __future__ import annotations

from collections.abc import Callable

from sparkmirror.errors import ConfigError
from sparkmirror.offsets import (
    checkpoints,
    claims,
    connectors,
    facts_topic,
    group_marks,
    heartbeats,
    offset_syncs,
    progress,
    topic_memory,
)
from sparkmirror.offsets.internal_topic import InternalRecord
from sparkmirror.offsets.state_file import CHECKPOINTS, CLAIMS, FlowState, StateHead, encode_state, parse_state
from sparkmirror.topology.fact import Fact
from sparkmirror.topology.standing import Standing
from tests.fuzz.target import Target

_STANDING = Standing(43, 42, 43, 7, 5, "why", "source-id", "target-id")
_FACT = Fact(kind="stopped", name="gap", error="offsets 1..2", since="2026-01-31T10:00:00.000Z")
_LEADER = (
    b'{"driver":"8c","host":"h","pid":12,"since_ms":1000,"released":true,"seen":{"at_ms":1,"lag":[["t",0,3]],"more":0},'
    b'"halt":{"number":7,"by":"u@h","why":"failover","since_ms":5},"at_rest":true}'
)

_STATE = FlowState(
    head=StateHead(flow="A->B", made_ms=1, source_cluster="a", target_cluster="b", generation=3),
    sections={CLAIMS: {b'{"claim":"8c"}': b'{"producer_id":4000}'}, CHECKPOINTS: {b"\0": b"\xff"}},
)

_CONNECTOR = (
    b'{"properties":{"connector.class":"o.MirrorSource","source.cluster.alias":"A","target.cluster.alias":"B",'
    b'"source.cluster.bootstrap.servers":"h:1,[::1]:2","target.cluster.bootstrap.servers":"SSL://i:3"}}'
)

# No key below holds a line end, so that one can stand between key and value.
_BETWEEN = b"\n"


def _record_target(name: str, read: Callable[[bytes, bytes], object], key: bytes, value: bytes) -> Target:
    def run(data: bytes) -> None:
        first, _, second = data.partition(_BETWEEN)
        read(first, second)

    return Target(name, run, [key + _BETWEEN + value], ())


def _read_progress(key: bytes, value: bytes) -> None:
    progress.parse_record(key, value, "A")


def _read_fact(key: bytes, value: bytes) -> None:
    facts_topic.parse_record("A", key, value)


def _read_mark(key: bytes, value: bytes) -> None:
    marks = group_marks.Marks()
    group_marks.note_record(marks, "A", key, value)
    for group, mark in marks.groups.items():
        assert mark.why is not None and marks.checkpointed_ms(group) + marks.synced_ms(group) is not None


def _read_leader(key: bytes, value: bytes) -> None:
    leader = claims.parse_leadership(InternalRecord(0, 1, key, value, 0), "A")
    str(leader)


def _read_memory(key: bytes, value: bytes) -> None:
    memory = topic_memory.TopicMemory()
    claims.note_in_memory(memory, InternalRecord(0, 1, key, value, 0))
    memory.made_from("c", {"A.t": "5d"})


def _read_connector(key: bytes, value: bytes) -> None:
    found: dict[str, connectors.Connector] = {}
    connectors.note_connector(found, {"x"}, key, value)
    for connector in found.values():
        assert connector.is_mirror is not None and connectors.is_known_key(key)
        assert all(host == host.lower() for host, _ in connector.source_servers | connector.target_servers)


def _read_state(data: bytes) -> None:
    parse_state(data.splitlines(keepends=True), "file")


TARGETS = [
    Target("state_file", _read_state, [b"".join(encode_state(_STATE))], (ConfigError,)),
    _record_target("made_record", _read_memory, b'{"made":"A.t"}', b'{"topic_id":"5d","source":"t"}'),
    _record_target(
        "configs_record",
        _read_memory,
        b'{"configs":"A.t"}',
        b'{"topic_id":"5d","written":{"k":["1"]},"by_hand":{"l":null}}',
    ),
    _record_target(
        "rights_record", _read_memory, b'{"rights":"A.t"}', b'{"given":[["User:x","*",3,3]],"taken_away":[]}'
    ),
    _record_target(
        "heartbeat_record", heartbeats.parse_record, heartbeats.encode_key("A", "B"), heartbeats.encode_value(1)
    ),
    _record_target(
        "checkpoint_record",
        checkpoints.parse_record,
        checkpoints.encode_key("group", "A.t", 2),
        checkpoints.encode_value(150, 201, "m"),
    ),
    _record_target(
        "offset_sync_record",
        offset_syncs.parse_record,
        offset_syncs.encode_key("t", 2),
        offset_syncs.encode_value(100, 200),
    ),
    _record_target(
        "progress_record", _read_progress, progress.encode_key("A", "t", 0), progress.encode_value(_STANDING)
    ),
    _record_target("fact_record", _read_fact, facts_topic.encode_key("A", ("t", 0)), facts_topic.encode_value(_FACT)),
    _record_target(
        "group_record",
        _read_mark,
        group_marks.encode_group("A", "g", None)[0],
        b'{"checkpoint":[1769853600000,""],"sync":[0,"it reads there"]}',
    ),
    _record_target(
        "group_rounds_record", _read_mark, *group_marks.encode_rounds("A", group_marks.LastRounds(1, 2, 0.4))
    ),
    _record_target("connector_record", _read_connector, b"connector-x", _CONNECTOR),
    _record_target("leader_record", _read_leader, b'{"leader":"A"}', _LEADER),
]
