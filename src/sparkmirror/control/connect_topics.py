"""Which topic of a cluster holds the configurations of a Connect cluster's connectors: no broker tells its name.

It has one partition and is compacted, it is as long as the workers have read, its keys are Connect's, and it knows
every connector that the workers hold. Another topic is left after its first records. Several may fit all the same, a
mirrored copy for one or that of a Connect cluster that is gone: so all that do are told.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sparkmirror.batch.records import read_keyed_records
from sparkmirror.errors import BrokerError, ConnectionLostError, ProtocolError
from sparkmirror.net.cluster import Cluster, TopicInfo
from sparkmirror.net.configs import describe_topic_configs
from sparkmirror.net.deadline import deadline
from sparkmirror.net.log import read_logs
from sparkmirror.net.offsets import EARLIEST, LATEST, list_offsets
from sparkmirror.offsets.connectors import Connector, is_known_key, note_connector
from sparkmirror.protocol.connect_workers import Workers

LONGEST_S = 10.0
READ_BYTES = 256 << 10  # a request
MOST_BYTES = 64 << 20  # a topic
_POLICY = "cleanup.policy"


class Known(NamedTuple):
    """What each topic that fits says. `is_sure`: all candidates were read that we may read."""

    topics: list[dict[str, Connector]]
    is_sure: bool


def read_connectors(cluster: Cluster, workers: Workers) -> Known:
    """As far as it goes in a while. A topic that we may not read, or that holds no records at all, tells nothing."""
    found, is_sure = [], True
    try:
        with deadline(LONGEST_S, "the search for Connect's configurations"):
            for info, begin, end in _find_candidates(cluster, workers.config_offset):
                try:
                    known = _read_topic(cluster, info, begin, end, workers)
                except (BrokerError, ProtocolError):
                    continue
                except ConnectionLostError:
                    is_sure = False
                    continue
                if known.keys() == workers.connectors:
                    found.append(known)
    except (BrokerError, ProtocolError):
        return Known([], is_sure)
    except ConnectionLostError:
        return Known([], False)
    return Known(found, is_sure)


def _find_candidates(cluster: Cluster, config_offset: int) -> Iterator[tuple[TopicInfo, int, int]]:
    """With the first and the end offset; those that sound like it first."""
    there = cluster.fetch_metadata().topics
    single = {name: info for name, info in there.items() if not info.error and not info.internal and _is_led(info)}
    policies = describe_topic_configs(cluster, single, only=_POLICY).found
    compacted = [
        name for name, entries in policies.items() if any("compact" in (e.value or "") for e in entries.values())
    ]
    leaders = {(name, 0): single[name].leaders[0] for name in compacted}
    begins, ends = list_offsets(cluster, leaders, EARLIEST), list_offsets(cluster, leaders, LATEST)
    for name in sorted(compacted, key=lambda name: ("config" not in name, name)):
        begin, end = begins.get((name, 0), 0), ends.get((name, 0), 0)
        if begin < end and config_offset <= end:
            yield single[name], begin, end


def _is_led(info: TopicInfo) -> bool:
    return info.leaders.keys() == {0} and info.leaders[0].node >= 0


def _read_topic(cluster: Cluster, info: TopicInfo, begin: int, end: int, workers: Workers) -> dict[str, Connector]:
    """Nothing where a key is not Connect's, or where it is too large for a topic of configurations."""
    found: dict[str, Connector] = {}
    left = MOST_BYTES
    for _, header, batch in read_logs(cluster, info, {0: (begin, end)}, max_bytes=READ_BYTES, whole=False):
        left -= len(batch)
        if left < 0:
            return {}
        if header.is_control:
            continue
        for record in read_keyed_records(header, batch):
            if not is_known_key(record.key):
                return {}
            note_connector(found, workers.connectors, record.key, record.value)
    return found
