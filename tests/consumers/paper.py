"""Clusters on paper: logs, internal topics and groups in memory, asked by the mirror's own code in place of brokers.

What is patched is what goes over the network, and nothing that decides: the functions that ask brokers, the class that
reads and appends internal topics, and the two commands' looks at real logs (see `paper_copy.py`).
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from unittest import mock

from sparkmirror.errors import BrokerError, ConnectionLostError
from sparkmirror.net.cluster import Cluster, Leader, Metadata, TopicInfo
from sparkmirror.net.groups import GroupState, ListedGroup, Listing
from sparkmirror.net.offsets import EARLIEST
from sparkmirror.offsets.internal_topic import Cursors, InternalRecord
from sparkmirror.protocol import codes
from sparkmirror.protocol.committed import Committed
from sparkmirror.topology.storage import Storage

Place = tuple[str, int]


class Record(NamedTuple):
    """Where it was written first. `topic_id` empty: by somebody else, into a mirrored topic."""

    topic_id: str
    partition: int
    offset: int


@dataclass
class Log:
    """`entries`: what consumers see, None where they see nothing; `was`: what stood there once."""

    entries: list[Record | None] = field(default_factory=list)
    was: list[Record | None] = field(default_factory=list)
    start: int = 0

    @property
    def end(self) -> int:
        return len(self.entries)

    def append(self, record: Record | None) -> None:
        self.entries.append(record)
        self.was.append(record)

    def trim(self, start: int) -> None:
        self.start = max(self.start, start)

    def compact(self, offset: int) -> None:
        self.entries[offset] = None

    def seen(self) -> Iterator[tuple[int, Record]]:
        for offset in range(self.start, self.end):
            if (record := self.entries[offset]) is not None:
                yield offset, record


class Topic:
    def __init__(self, name: str, partitions: int) -> None:
        self.name = name
        self.id = uuid.UUID(int=next(_numbers) << 64 | 1)
        self.logs = [Log() for _ in range(partitions)]
        leaders = dict.fromkeys(range(partitions), LEADER)
        self.info = TopicInfo(name, self.id.bytes, leaders, 0, False)

    @property
    def topic_id(self) -> str:
        return str(self.id)


LEADER = Leader(1, 0)
_numbers = iter(range(1, 1 << 60))


@dataclass
class Group:
    offsets: dict[Place, Committed] = field(default_factory=dict)
    members: int = 0

    @property
    def state(self) -> GroupState:
        return GroupState("Stable" if self.members else "Empty", "classic", self.members, "consumer")


class Internal:
    """An internal topic of one partition."""

    def __init__(self) -> None:
        self.id = str(uuid.UUID(int=next(_numbers) << 64 | 2))
        self.records: list[InternalRecord] = []


@dataclass
class Address:
    alias: str


class PaperCluster:
    """`meanwhile`: what happens whenever it is asked. `told`: what it said last of groups' offsets and of logs' bounds.

    `commits`, `deletes`, `appends`: told of what the mirror does to groups and internal topics, before it is done.
    `may_fail`: whether a question about a group fails.
    """

    def __init__(self, alias: str) -> None:
        self.address = Address(alias)
        self.topics: dict[str, Topic] = {}
        self.internal: dict[str, Internal] = {}
        self.groups: dict[str, Group] = {}
        self.ended: set[str] = set()  # groups that ended with their topics
        self.deleted: set[str] = set()  # groups that their owner has deleted
        self.away = False
        self.told: dict[str, list[tuple[Log, int]]] = {}
        self.told_starts: dict[Place, int] = {}
        self.told_ends: dict[Place, int] = {}
        self.meanwhile: Callable[[], None] = lambda: None
        self.may_fail: Callable[[], bool] = lambda: False
        self.commits: Callable[[str, Place, int], None] = lambda group, place, offset: None
        self.deletes: Callable[[str], None] = lambda group: None
        self.appends: Callable[[str, Sequence[tuple[bytes, bytes | None]]], None] = lambda name, records: None

    def __enter__(self) -> PaperCluster:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def close(self) -> None:
        return

    end = close

    def fetch_metadata(self, topics: Sequence[str] | None = None) -> Metadata:
        if self.away:
            raise ConnectionLostError(f"no broker answers at cluster {self.address.alias}")
        self.meanwhile()
        names = [*self.topics, *self.internal] if topics is None else topics
        return Metadata(f"id-{self.address.alias}", 1, {}, {name: self._info(name) for name in names})

    def _info(self, name: str) -> TopicInfo:
        if name in self.topics:
            return self.topics[name].info
        if name in self.internal:
            return TopicInfo(name, uuid.UUID(self.internal[name].id).bytes, {0: LEADER}, 0, False)
        return TopicInfo(name, bytes(16), {}, codes.UNKNOWN_TOPIC_OR_PARTITION, False)

    def log(self, place: Place) -> Log | None:
        topic = self.topics.get(place[0])
        return topic.logs[place[1]] if topic and place[1] < len(topic.logs) else None

    def delete_topic(self, name: str) -> None:
        """Groups' offsets of it are forgotten, and groups that have no others."""
        self.topics.pop(name, None)
        for name_of_group, group in list(self.groups.items()):
            left = {place: at for place, at in group.offsets.items() if place[0] != name}
            if group.offsets and not left and not group.members:
                del self.groups[name_of_group]
                self.ended.add(name_of_group)
            group.offsets = left

    def committed(self, group: str, place: Place) -> int | None:
        known = self.groups[group].offsets.get(place) if group in self.groups else None
        return known.offset if known else None


# -- what asks brokers


def list_offsets(
    cluster: PaperCluster, leaders: Mapping[Place, Leader], when: int, *, committed: bool = False
) -> dict[Place, int]:
    cluster.meanwhile()
    logs = {place: log for place in leaders if (log := cluster.log(place)) is not None}
    if when == EARLIEST:
        starts = {place: log.start for place, log in logs.items()}
        cluster.told_starts |= starts
        return starts
    ends = {place: log.end for place, log in logs.items()}
    cluster.told_ends |= ends
    return ends


def fetch_group_offsets(
    cluster: PaperCluster, groups: Collection[str], *, require_stable: bool = False
) -> dict[str, dict[Place, Committed] | BrokerError]:
    found: dict[str, dict[Place, Committed] | BrokerError] = {}
    for name in groups:
        if cluster.may_fail():
            found[name] = _passing(cluster)
            continue
        known = cluster.groups.get(name)
        offsets = dict(known.offsets) if known else {}
        logs = ((cluster.log(place), committed.offset) for place, committed in offsets.items())
        cluster.told[name] = [(log, offset) for log, offset in logs if log is not None]
        found[name] = offsets
    return found


def commit_group_offsets(
    cluster: PaperCluster, offsets: Mapping[str, Mapping[Place, Committed]]
) -> dict[str, dict[Place, int] | BrokerError]:
    return {name: _commit(cluster, name, part) for name, part in offsets.items()}


def _commit(cluster: PaperCluster, name: str, part: Mapping[Place, Committed]) -> dict[Place, int] | BrokerError:
    if cluster.may_fail():
        return _passing(cluster)
    group = cluster.groups.get(name, Group())
    if group.members:
        return BrokerError(codes.UNKNOWN_MEMBER_ID, "it has members")
    answers = {}
    for place, committed in part.items():
        answers[place] = codes.NONE if cluster.log(place) else codes.UNKNOWN_TOPIC_OR_PARTITION
        if not answers[place]:
            cluster.commits(name, place, committed.offset)
            group.offsets[place] = committed
            cluster.groups[name] = group
    return answers


def describe_groups(cluster: PaperCluster, groups: Collection[str]) -> dict[str, GroupState | BrokerError]:
    dead = GroupState("Dead")
    return {
        name: _passing(cluster) if cluster.may_fail() else known.state if (known := cluster.groups.get(name)) else dead
        for name in groups
    }


def list_groups(cluster: PaperCluster) -> Listing:
    if cluster.away:
        raise ConnectionLostError("away")
    return Listing({name: ListedGroup("classic", g.state.state, "consumer") for name, g in cluster.groups.items()}, {})


def delete_groups(cluster: PaperCluster, groups: Collection[str]) -> dict[str, BrokerError]:
    for name in groups:
        cluster.deletes(name)
        cluster.groups.pop(name, None)
    return {}


def _passing(cluster: PaperCluster) -> BrokerError:
    return BrokerError(codes.COORDINATOR_NOT_AVAILABLE, f"{cluster.address.alias}: its coordinator does not answer")


class PaperInternalTopic:
    """As `InternalTopic`, of a single partition."""

    def __init__(self, cluster: PaperCluster, name: str, **_: object) -> None:
        self.name = name
        self._cluster = cluster
        self.known_id = ""

    def ensure(self) -> None:
        self.known_id = self._cluster.internal.setdefault(self.name, Internal()).id

    def is_there(self) -> bool:
        return self.name in self._cluster.internal

    def remake_if_lost(self) -> bool:
        is_gone = not self.is_there()
        self.ensure()
        return is_gone

    def partition_of(self, key: bytes) -> int:
        return 0

    def append(self, partition: int, records: Sequence[tuple[bytes, bytes | None]]) -> int:
        kept = self._find().records
        self._cluster.appends(self.name, records)
        for key, value in records:
            kept.append(InternalRecord(0, len(kept), key, value, 1))
        return len(kept) - 1

    def append_keyed(self, records: Mapping[bytes, bytes | None]) -> None:
        self.append(0, list(records.items()))

    def read(self, partitions: Collection[int] | None = None) -> Iterator[InternalRecord]:
        yield from list(self._find().records)

    def read_news(
        self, seen: Cursors, partitions: Collection[int] | None = None
    ) -> tuple[bool, Iterator[InternalRecord]]:
        found = self._find()
        is_same = seen.are_of(found.id, {0: len(found.records)})
        if not is_same:
            seen.next.clear()
        seen.topic_id, seen.begin[0] = found.id, 0
        return is_same, iter(found.records[seen.next.get(0, 0) :])

    def read_range(self, partition: int, first: int, end: int) -> Iterator[InternalRecord]:
        yield from self._find().records[first:end]

    def _find(self) -> Internal:
        if not self.is_there():
            raise ConnectionLostError(f"{self._cluster.address.alias}: {self.name} is not there")
        return self._cluster.internal[self.name]


_open: dict[str, PaperCluster] = {}


def clusters_of(*clusters: PaperCluster) -> None:
    """Who connects from now on finds these."""
    _open.clear()
    _open.update({cluster.address.alias: cluster for cluster in clusters})


def connect(address: Any) -> PaperCluster:
    return _open[address.alias]


def find_new_origins(_cluster: PaperCluster, _storage: Storage, _since: int) -> set[str]:
    """A round is planned and done at once."""
    return set()


IN_PAPER: dict[str, Sequence[str]] = {
    "groups.work": ("Cluster", "fetch_group_offsets", "commit_group_offsets", "describe_groups", "find_new_origins"),
    "groups.translator": ("list_offsets",),
    "control.group_keeper": ("Cluster", "list_groups"),
    "control.group_deletes": ("fetch_group_offsets", "describe_groups", "delete_groups"),
    "control.switch": ("Cluster",),
    "control.switch_looks": ("Cluster", "list_offsets"),
    "control.switch_groups": (
        "fetch_group_offsets",
        "commit_group_offsets",
        "describe_groups",
        "list_groups",
        "list_offsets",
    ),
    "offsets.progress": ("InternalTopic",),
    "offsets.map_topic": ("InternalTopic",),
    "offsets.checkpoint_topic": ("InternalTopic",),
    "offsets.group_marks": ("InternalTopic",),
}


@contextlib.contextmanager
def on_paper(more: Mapping[str, Any]) -> Iterator[None]:
    """`more`: by the name of what is patched, beside all of the above."""
    stands = {"Cluster": connect, "InternalTopic": PaperInternalTopic} | {
        each.__name__: each
        for each in (list_offsets, fetch_group_offsets, commit_group_offsets, describe_groups, list_groups)
    }
    stands["delete_groups"] = delete_groups
    stands["find_new_origins"] = find_new_origins
    with contextlib.ExitStack() as stack:
        for module, names in IN_PAPER.items():
            for name in names:
                stack.enter_context(mock.patch(f"sparkmirror.{module}.{name}", stands[name]))
        for name, value in more.items():
            stack.enter_context(mock.patch(f"sparkmirror.{name}", value))
        yield


def as_cluster(cluster: PaperCluster) -> Cluster:
    """For mypy: it is asked for what a cluster is asked for."""
    return cluster  # type: ignore[return-value]
