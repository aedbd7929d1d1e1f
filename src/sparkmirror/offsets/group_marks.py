"""When a flow's consumer groups were last dealt with: in its status topic, with or without a running mirror.

    key    {"sparkmirror":"groups","source":"a"}
    value  {"checkpoint":1769853600000,"sync":1769853600000,"seconds":0.4}     <- the last rounds, of all groups
    key    {"sparkmirror":"group","source":"a","group":"g"}
    value  {"checkpoint":[1769853600000,""],"sync":[0,"the group is Stable on the target, with 1 members"],
            "cluster":"Mk…","topics":{"orders":"5d…"},                         <- where it was found, and stood
            "remotes":{"a.orders":{"77…":[0,1]}}}                              <- where it had places on the target
    value  none                                                                <- there is no such group any more

A round that finds all as it was says so for all groups at once; a group's own record is written when there is news of
it. Checkpoints themselves tell less: a group that does not move has no new ones, though it was just looked at.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.internal_topic import UNREADABLE, InternalTopic, newest
from sparkmirror.topology.storage import Storage

ROUND, GROUP = "groups", "group"


Remotes = tuple[tuple[str, str, tuple[int, ...]], ...]  # topic, its id, partitions
Place = tuple[str, int]


def remotes_of(ids: Mapping[Place, str]) -> Remotes:
    """`ids`: of the topics of places."""
    found: dict[tuple[str, str], list[int]] = {}
    for (topic, partition), id_ in sorted(ids.items()):
        found.setdefault((topic, id_), []).append(partition)
    return tuple((topic, id_, tuple(partitions)) for (topic, id_), partitions in found.items())


def ids_of(remotes: Remotes) -> dict[Place, str]:
    return {(topic, partition): id_ for topic, id_, partitions in remotes for partition in partitions}


class Deed(NamedTuple):
    """`why` empty: done at `at_ms` and in each round since. Else what keeps it from being done since then; 0: ever."""

    at_ms: int = 0
    why: str = ""


class GroupMark(NamedTuple):
    """`cluster`: the id of the source cluster where it was last found; empty where that is not said. `topics`: the
    mirrored topics in which it stood there, with their ids; `remotes`: topics of the target in which it ever had a
    place, with the ids that they had then.
    """

    checkpoint: Deed = Deed()
    sync: Deed = Deed()
    cluster: str = ""
    topics: tuple[tuple[str, str], ...] = ()
    remotes: Remotes = ()

    @property
    def why(self) -> str:
        """Both reasons; what is in both, once."""
        return "; ".join(dict.fromkeys(part for deed in self[:2] for part in deed.why.split("; ") if part))


class LastRounds(NamedTuple):
    """When checkpoints were last emitted and offsets last committed, 0: never; and how long the last round took."""

    checkpoint_ms: int = 0
    sync_ms: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Marks:
    rounds: LastRounds = field(default_factory=LastRounds)
    groups: dict[str, GroupMark] = field(default_factory=dict)

    def checkpointed_ms(self, group: str) -> int:
        """When its checkpoints were last those of what it had committed; 0: never."""
        return _last(self.groups[group].checkpoint, self.rounds.checkpoint_ms)

    def synced_ms(self, group: str) -> int:
        return _last(self.groups[group].sync, self.rounds.sync_ms)


def _last(deed: Deed, round_ms: int) -> int:
    return deed.at_ms if deed.why or not deed.at_ms else max(deed.at_ms, round_ms)


def encode_rounds(source: str, rounds: LastRounds) -> tuple[bytes, bytes]:
    value: dict[str, object] = {"checkpoint": rounds.checkpoint_ms, "sync": rounds.sync_ms, "seconds": rounds.seconds}
    return _dump({"sparkmirror": ROUND, "source": source}), _dump(value)


def encode_group(source: str, group: str, mark: GroupMark | None) -> tuple[bytes, bytes | None]:
    value = (
        None
        if mark is None
        else _dump(mark._asdict() | {"topics": dict(mark.topics), "remotes": _by_topic(mark.remotes)})
    )
    return _dump({"sparkmirror": GROUP, "source": source, "group": group}), value


def _by_topic(remotes: Remotes) -> dict[str, dict[str, tuple[int, ...]]]:
    found: dict[str, dict[str, tuple[int, ...]]] = {}
    for topic, id_, partitions in remotes:
        found.setdefault(topic, {})[id_] = partitions
    return found


def note_record(marks: Marks, source: str, key: bytes | None, value: bytes | None) -> None:
    """Other flows' records, facts, Connect's own and what can't be read are passed over."""
    try:
        where = json.loads(key or b"null")
        if where["source"] != source:
            return
        said = json.loads(value) if value is not None else None
        if where["sparkmirror"] == ROUND and said:
            marks.rounds = LastRounds(int(said["checkpoint"]), int(said["sync"]), float(said["seconds"]))
        elif where["sparkmirror"] == GROUP and said:
            deeds = _deed(*said["checkpoint"]), _deed(*said["sync"])
            topics = tuple((str(topic), str(id_)) for topic, id_ in said.get("topics", {}).items())
            remotes = tuple(
                (str(topic), str(id_), tuple(map(int, partitions)))
                for topic, ids in said.get("remotes", {}).items()
                for id_, partitions in ids.items()
            )
            marks.groups[str(where["group"])] = GroupMark(*deeds, str(said.get("cluster", "")), topics, remotes)
        elif where["sparkmirror"] == GROUP:
            marks.groups.pop(str(where["group"]), None)
    except UNREADABLE:
        return


def _deed(at_ms: object, why: object) -> Deed:
    return Deed(int(str(at_ms)), str(why))


class GroupMarksTopic:
    """One flow's. Blocking; one user at a time. The topic is made with the facts."""

    def __init__(self, cluster: Cluster, storage: Storage) -> None:
        self._source = storage.source
        self._topic = InternalTopic(
            cluster, storage.status, partitions=storage.status_partitions, replication_factor=-1
        )

    def read(self) -> Marks:
        marks = Marks()
        for record in newest(self._topic.read()):
            note_record(marks, self._source, record.key, record.value)
        return marks

    def write(self, groups: Mapping[str, GroupMark | None], rounds: LastRounds | None) -> None:
        """`None`: there is no such group any more; no rounds: these are not news."""
        records = dict(encode_group(self._source, group, mark) for group, mark in groups.items())
        if rounds is not None:
            key, value = encode_rounds(self._source, rounds)
            records[key] = value
        self._topic.append_keyed(records)


def _dump(value: dict[str, object]) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
