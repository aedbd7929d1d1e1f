"""A cluster as its clients see it: who the brokers are, who leads what, and a way to ask one of them.

Control requests are blocking, one at a time a broker, from any thread. A broker that hangs holds up
only those who ask that broker.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from sparkmirror.errors import AuthenticationError, BrokerError, ConnectionLostError, ProtocolError, UnreachableError
from sparkmirror.net.address import ClusterAddress, bootstrap_places
from sparkmirror.net.attempts import Attempts
from sparkmirror.net.channel import CONNECT_TIMEOUT_S, REQUEST_TIMEOUT_S, Channel
from sparkmirror.net.cure import cure_of
from sparkmirror.net.deadline import API_TIMEOUT, deadline, time_left
from sparkmirror.protocol import (
    codes,
    describe_consumer_groups,
    fetch,
    list_offsets,
    markers,
    metadata,
    offset_commit,
    offset_fetch,
    produce,
)
from sparkmirror.protocol.metadata import BrokerPlace
from sparkmirror.protocol.produce import Buffer

METADATA_TIMEOUT_S = 5.0
NO_TOPIC_ID = bytes(16)
_FLEXIBLE_FROM = {
    fetch.API_KEY: fetch.FLEXIBLE_FROM,
    produce.API_KEY: produce.FLEXIBLE_FROM,
    markers.API_KEY: markers.FLEXIBLE_FROM,
    list_offsets.API_KEY: list_offsets.FLEXIBLE_FROM,
    metadata.API_KEY: metadata.FLEXIBLE_FROM,
    offset_commit.API_KEY: offset_commit.FLEXIBLE_FROM,
    offset_fetch.API_KEY: offset_fetch.FLEXIBLE_FROM,
    describe_consumer_groups.API_KEY: describe_consumer_groups.FLEXIBLE_FROM,
}

HostPort = tuple[str, int]
Key = TypeVar("Key")
Item = TypeVar("Item")


class Leader(NamedTuple):
    """Who leads a partition, and in which epoch. Node -1: nobody at the moment."""

    node: int
    epoch: int


@dataclass(frozen=True, slots=True)
class TopicInfo:
    name: str
    topic_id: bytes
    leaders: dict[int, Leader]
    error: int
    internal: bool
    replicas: int = 0  # of the partition that has the most


@dataclass(frozen=True, slots=True)
class Metadata:
    cluster_id: str
    controller: int
    brokers: dict[int, BrokerPlace]
    topics: dict[str, TopicInfo]


class Cluster:
    """Connections to one cluster, opened when first needed."""

    def __init__(self, address: ClusterAddress) -> None:
        self.address = address
        self.coordinators: dict[str, int] = {}  # of groups, as last found (`net/coordinators.py`)
        self._brokers: dict[int, BrokerPlace] = {}
        self._brokers_at = 0.0
        self._controller = -1
        self._has_topic_ids = True
        self._all_topics: tuple[bytes, Metadata] | None = None  # the last answer, and what it says
        self._attempts = Attempts(address.client)
        self._channels: dict[HostPort, Channel] = {}
        self._locks: dict[HostPort, threading.Lock] = {}
        self._guard = threading.Lock()
        self._has_ended = threading.Event()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with self._guard:
            for channel in self._channels.values():
                channel.close()
            self._channels.clear()

    def end(self) -> None:
        """Close for good: threads that still ask open no new connections."""
        with self._guard:
            self._has_ended.set()
        self.close()

    def close_idle(self) -> None:
        """Close connections that nobody has used for as long as the client keeps one."""
        idle_s = self.address.client.idle_s
        for host_port in list(self._channels) if idle_s is not None else ():
            lock = self._locks[host_port]
            if lock.acquire(blocking=False):  # else somebody uses it
                try:
                    channel = self._channels.get(host_port)
                    if channel is not None and time.monotonic() - channel.used_at > (idle_s or 0.0):
                        self._drop(host_port)
                finally:
                    lock.release()

    @property
    def request_timeout_s(self) -> float:
        """How long a broker has to answer."""
        return self._timeout_s(REQUEST_TIMEOUT_S)

    def _timeout_s(self, default_s: float) -> float:
        client = self.address.client
        return default_s if client.request_timeout_s is None else client.request_timeout_s

    def fetch_metadata(self, topics: Sequence[str] | None = None) -> Metadata:
        """Brokers and topics (`None`: all of them). Asks known brokers first, then the bootstrap list.

        All topics are asked for every few seconds: while the answer is the same, so is the object.
        """
        timeout_s = self._timeout_s(METADATA_TIMEOUT_S)
        body = _ask_raw(
            metadata.API_KEY,
            (metadata.WITH_IDS, metadata.BY_NAME),
            lambda v: [metadata.encode_metadata(v, topics)],
            timeout_s,
        )

        def ask(channel: Channel) -> Metadata:
            version, frame = body(channel)
            said = bytes(frame)
            if topics is None and self._all_topics and self._all_topics[0] == said:
                return self._all_topics[1]
            found = _read_metadata(metadata.parse_metadata(version, frame))
            if topics is None:
                self._all_topics = (said, found)
            return found

        found = self._ask_any(ask, timeout_s)
        self._brokers = found.brokers
        self._brokers_at = time.monotonic()
        self._controller = found.controller
        if ids := [info.topic_id for info in found.topics.values() if not info.error]:
            self._has_topic_ids = NO_TOPIC_ID not in ids
        return found

    def fetch_metadata_of(self, node: int, topics: Sequence[str]) -> Metadata:
        """Topics as this very broker knows them."""
        version, frame = self.call_raw(
            node,
            metadata.API_KEY,
            (metadata.WITH_IDS, metadata.BY_NAME),
            lambda v: [metadata.encode_metadata(v, topics)],
        )
        return _read_metadata(metadata.parse_metadata(version, frame))

    def call(self, node: int, request: Any, *, most_version: int | None = None) -> Any:
        """Ask one broker and wait, in the newest version that both sides know, at most `most_version`."""
        broker, timeout_s = self._broker(node), self.request_timeout_s
        return self._with_channel(
            (broker.host, broker.port),
            lambda channel: channel.call(request, most_version=most_version, timeout_s=timeout_s),
            timeout_s,
        )

    def call_any(self, request: Any, *, most_version: int | None = None) -> Any:
        """Ask whichever broker answers first in turn, those with an open connection before others."""
        timeout_s = self.request_timeout_s
        return self._ask_any(
            lambda channel: channel.call(request, most_version=most_version, timeout_s=timeout_s), timeout_s
        )

    def _ask_any(self, ask: Callable[[Channel], Item], timeout_s: float) -> Item:
        failures: list[ConnectionLostError | ProtocolError] = []
        with deadline(self.address.client.api_timeout_s, API_TIMEOUT):
            for host_port in self._candidates():
                try:
                    return self._with_channel(host_port, ask, timeout_s)
                except (ConnectionLostError, ProtocolError) as error:
                    failures.append(error)
        said = "; ".join(dict.fromkeys(map(str, failures)))
        if failures and all(isinstance(error, AuthenticationError) for error in failures):
            raise AuthenticationError(f"cluster {self.address.alias}: no broker lets us in: {said}", self.address.alias)
        cure = f"; {cure_of(self.address.alias, failures[0])}" if failures else ""
        raise UnreachableError(f"cluster {self.address.alias}: no broker answers: {said}{cure}", self.address.alias)

    def call_controller(self, request: Any, *, most_version: int | None = None) -> Any:
        """Ask the controller: KRaft brokers forward, but with ZooKeeper it moves and others refuse."""
        self.fetch_metadata([])
        if self._controller in self._brokers:
            return self.call(self._controller, request, most_version=most_version)
        return self.call_any(request, most_version=most_version)

    def call_raw(
        self,
        node: int,
        api_key: int,
        versions: Sequence[int],
        body: Callable[[int], Sequence[Buffer]],
    ) -> tuple[int, memoryview]:
        """Ask one broker in the first of our own encodings that it knows; the version and the answer's frame."""
        broker, timeout_s = self._broker(node), self.request_timeout_s
        return self._with_channel((broker.host, broker.port), _ask_raw(api_key, versions, body, timeout_s), timeout_s)

    def call_raw_any(
        self,
        api_key: int,
        versions: Sequence[int],
        body: Callable[[int], Sequence[Buffer]],
    ) -> tuple[int, memoryview]:
        """The same of whichever broker answers."""
        timeout_s = self._timeout_s(METADATA_TIMEOUT_S)
        return self._ask_any(_ask_raw(api_key, versions, body, timeout_s), timeout_s)

    def supports(self, node: int, api_key: int) -> bool:
        """Whether a broker knows a kind of request. They may differ while a cluster is upgraded."""
        broker = self._broker(node)
        place = (broker.host, broker.port)
        return self._with_channel(place, lambda channel: api_key in channel.versions, METADATA_TIMEOUT_S)

    def connect(self, node: int) -> Channel:
        """A connection of the caller's own, for the hot path. It names topics by id only if they have one.

        Brokers since 3.1 know requests by id, but their topics may still have none: with ZooKeeper and an
        `inter.broker.protocol.version` before 2.8.
        """
        broker = self._broker(node)
        channel = self._open((broker.host, broker.port), CONNECT_TIMEOUT_S)
        if self._has_ended.is_set():
            channel.close()
            raise self._ended()
        if not self._has_topic_ids:
            channel.limit(fetch.API_KEY, fetch.BY_NAME)
            channel.limit(produce.API_KEY, produce.BY_NAME)
        return channel

    def _broker(self, node: int) -> BrokerPlace:
        age_s = self.address.client.metadata_age_s
        is_old = age_s is not None and time.monotonic() - self._brokers_at > age_s
        if is_old or node not in self._brokers:
            self.fetch_metadata([])
        broker = self._brokers.get(node)
        if broker is None:
            raise ConnectionLostError(f"cluster {self.address.alias}: broker {node} is not there at the moment")
        return broker

    def _candidates(self) -> Iterator[HostPort]:
        """Open connections, known brokers, the bootstrap list; of each those first that need not be waited for."""
        tried: set[HostPort] = set()
        for places in (self._list_open, self._list_known, self._list_bootstrap):
            now = time.monotonic()
            for host_port in sorted(places(), key=lambda place: self._attempts.pause_s(place, now)):
                if host_port not in tried:
                    tried.add(host_port)
                    yield host_port

    def _list_open(self) -> list[HostPort]:
        return list(self._channels)

    def _list_known(self) -> list[HostPort]:
        return _shuffled([(b.host, b.port) for b in self._brokers.values()])

    def _list_bootstrap(self) -> list[HostPort]:
        return _shuffled(bootstrap_places(self.address))

    def _with_channel(self, host_port: HostPort, ask: Callable[[Channel], Item], timeout_s: float) -> Item:
        """Ask on the open connection; if that turns out to be dead, once more on a new one."""
        self.close_idle()
        with self._guard:
            lock = self._locks.setdefault(host_port, threading.Lock())
        with lock, deadline(self.address.client.api_timeout_s, API_TIMEOUT):
            channel = self._channels.get(host_port)
            if channel is not None:
                try:
                    return ask(channel)
                except (ConnectionLostError, ProtocolError):
                    self._drop(host_port)
            channel = self._open(host_port, min(timeout_s, METADATA_TIMEOUT_S))
            self._hold(host_port, channel)
            try:
                answer = ask(channel)
            except (ConnectionLostError, ProtocolError) as error:
                self._drop(host_port)
                if isinstance(error, AuthenticationError):
                    self._attempts.note_refusal(host_port, time.monotonic(), str(error))
                raise
            self._attempts.note_success(host_port)
            return answer

    def _open(self, host_port: HostPort, default_s: float) -> Channel:
        """Connect, as soon after a failure as the client may; where it was refused, not before a while."""
        if self._has_ended.is_set():
            raise self._ended()
        if refused := self._attempts.why_refused(host_port, time.monotonic()):
            raise AuthenticationError(refused)
        pause_s = self._attempts.pause_s(host_port, time.monotonic())
        if pause_s and self._has_ended.wait(time_left(pause_s)):
            raise self._ended()
        try:
            channel = Channel(*host_port, self.address.client, self._attempts.setup_timeout_s(host_port, default_s))
        except AuthenticationError as error:
            self._attempts.note_refusal(host_port, time.monotonic(), str(error))
            raise
        except (ConnectionLostError, ProtocolError):
            self._attempts.note_failure(host_port, time.monotonic())
            raise
        self._attempts.note_connected(host_port)
        return channel

    def _hold(self, host_port: HostPort, channel: Channel) -> None:
        """Unless it has ended since the connection was begun: then nobody would close this one."""
        with self._guard:
            if not self._has_ended.is_set():
                self._channels[host_port] = channel
                return
        channel.close()
        raise self._ended()

    def _ended(self) -> ConnectionLostError:
        return ConnectionLostError(f"cluster {self.address.alias} is not asked any more")

    def _drop(self, host_port: HostPort) -> None:
        with self._guard:
            channel = self._channels.pop(host_port, None)
        if channel is not None:
            channel.close()


def pick_version(channel: Channel, api_key: int, versions: Sequence[int]) -> tuple[int, bool]:
    """The first of our own encodings that the broker knows, and whether it is a flexible one."""
    version = next((v for v in versions if channel.supports(api_key, v)), None)
    if version is None:
        raise BrokerError(
            codes.UNSUPPORTED_VERSION, f"{channel} knows no version of api {api_key} that we do: {versions}"
        )
    return version, version >= _FLEXIBLE_FROM[api_key]


def _ask_raw(
    api_key: int, versions: Sequence[int], body: Callable[[int], Sequence[Buffer]], timeout_s: float
) -> Callable[[Channel], tuple[int, memoryview]]:
    """A request of our own encoding, in the first version that the broker knows; its version and the answer's frame."""

    def ask(channel: Channel) -> tuple[int, memoryview]:
        version, flexible = pick_version(channel, api_key, versions)
        channel.send(api_key, version, body(version), flexible=flexible, timeout_s=timeout_s)
        return version, channel.wait(timeout_s)

    return ask


def _read_metadata(answer: metadata.MetadataAnswer) -> Metadata:
    topics = {t.name: _topic_info(t) for t in answer.topics if t.name}
    return Metadata(answer.cluster_id, answer.controller, {b.node: b for b in answer.brokers}, topics)


def _shuffled(places: list[HostPort]) -> list[HostPort]:
    return random.sample(places, len(places))


def _topic_info(topic: metadata.TopicPlace) -> TopicInfo:
    leaders = {
        p.partition: Leader(-1 if p.error == codes.LEADER_NOT_AVAILABLE else p.leader, p.leader_epoch)
        for p in topic.partitions
    }
    replicas = max((p.replicas for p in topic.partitions), default=0)
    return TopicInfo(topic.name, topic.topic_id, leaders, topic.error, topic.is_internal, replicas)


def group_by(items: Sequence[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def chunks(items: Sequence[Item], size: int) -> list[Sequence[Item]]:
    return [items[first : first + size] for first in range(0, len(items), size)]
