"""The two clusters between which everything is mirrored, their topics, and how far those are."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from bench.secured import LISTENER, write_stores
from bench.sizes import PARTITIONS
from sparkmirror.embedded import KafkaCluster, start_clusters
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.client import Client
from sparkmirror.net.cluster import Cluster, Leader
from sparkmirror.net.offsets import LATEST, list_offsets

STOCK_HEAP_MB = 1024  # KAFKA_HEAP_OPTS of kafka-server-start.sh
ADMIN_TIMEOUT_S = 30.0
POLL_S = 0.05


class BenchError(Exception):
    """A scenario can't be measured: the mirror died, or did not do its work in time."""


@dataclass(frozen=True, slots=True)
class Side:
    """One cluster as the benchmark uses it."""

    bootstrap: str
    cluster: Cluster
    admin: AdminClient

    @classmethod
    def at(cls, bootstrap: str) -> Side:
        address = ClusterAddress(alias="bench", bootstrap=tuple(bootstrap.split(",")), client=Client(client_id="bench"))
        return cls(bootstrap, Cluster(address), AdminClient({"bootstrap.servers": bootstrap, "log_level": 0}))

    def create_topics(self, names: Sequence[str], *, partitions: int = PARTITIONS) -> None:
        new = [NewTopic(name, num_partitions=partitions, replication_factor=1) for name in names]
        for done in self.admin.create_topics(new).values():
            done.result(ADMIN_TIMEOUT_S)
        deadline = time.monotonic() + ADMIN_TIMEOUT_S
        while not all(len(self.ends(name)) == partitions for name in names):
            if time.monotonic() > deadline:
                raise BenchError(f"The topics {', '.join(names)} got no leader.")
            time.sleep(POLL_S)

    def delete_topics(self, names: Sequence[str]) -> None:
        """Those that are there: a mirror that failed may not have made its own."""
        there = self.cluster.fetch_metadata(None).topics
        doomed = [name for name in names if name in there]
        for done in self.admin.delete_topics(doomed).values() if doomed else ():
            done.result(ADMIN_TIMEOUT_S)

    def ends(self, topic: str) -> dict[int, int]:
        """Where a reader finds the end of each partition; nothing if the topic is not there."""
        info = self.cluster.fetch_metadata([topic]).topics.get(topic)
        leaders: dict[tuple[str, int], Leader] = {}
        if info is not None and not info.error:
            leaders = {(topic, partition): leader for partition, leader in info.leaders.items()}
        return {partition: end for (_, partition), end in list_offsets(self.cluster, leaders, LATEST).items()}

    def wait_for_ends(
        self, topic: str, wanted: Mapping[int, int], deadline_s: float, is_alive: Callable[[], bool]
    ) -> None:
        """Until all partitions can be read up to the wanted ends."""
        deadline = time.monotonic() + deadline_s
        while not reaches(found := self.ends(topic), wanted):
            if not is_alive() and not reaches(self.ends(topic), wanted):
                raise BenchError("The mirror ended by itself.")
            if time.monotonic() > deadline:
                have, want = sum(found.values()), sum(wanted.values())
                raise BenchError(f"{topic} had {have:,} of {want:,} records after {deadline_s:.0f} s.")
            time.sleep(POLL_S)


def reaches(found: Mapping[int, int], wanted: Mapping[int, int]) -> bool:
    return all(found.get(partition, 0) >= end for partition, end in wanted.items())


@dataclass(frozen=True, slots=True)
class Pair:
    """`for_mirrors`: where these find source and target; `security`: the keys that they need for that."""

    source: Side
    target: Side
    for_mirrors: tuple[str, str]
    security: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def running_pair(*, tls: bool = False) -> Iterator[Pair]:
    """One broker a side, with the heap and JVM flags of Kafka's own scripts. `tls`: for the mirrors alone."""
    with ExitStack() as stack:
        if tls:
            secured = write_stores(Path(stack.enter_context(tempfile.TemporaryDirectory())))
            listeners, overrides, security = {LISTENER: "SSL"}, secured.of_brokers, secured.of_mirrors
        else:
            listeners, overrides, security = {}, {}, {}
        clusters = [
            KafkaCluster(name=f"bench-{side}", heap_mb=STOCK_HEAP_MB, listeners=listeners, overrides=overrides)
            for side in ("source", "target")
        ]
        start_clusters(*clusters)
        source, target = (stack.enter_context(cluster) for cluster in clusters)
        pair = Pair(
            Side.at(source.bootstrap_servers),
            Side.at(target.bootstrap_servers),
            (source.servers_of(LISTENER), target.servers_of(LISTENER))
            if tls
            else (source.bootstrap_servers, target.bootstrap_servers),
            security,
        )
        # MirrorMaker 2 would make it only when it runs: the first mirror would not have it to mirror, the others would.
        pair.source.create_topics(["heartbeats"], partitions=1)
        with pair.source.cluster, pair.target.cluster:
            yield pair
