"""What the mirror's user may do on a cluster, found by asking for something that changes nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from kafka.protocol.metadata import MetadataRequest
from kafka.record.memory_records import MemoryRecordsBuilder

from sparkmirror.errors import BrokerError
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.deadline import deadline
from sparkmirror.net.group_offsets import commit_group_offsets
from sparkmirror.net.groups import describe_groups
from sparkmirror.net.transactions import EmptyTransactions
from sparkmirror.protocol import codes, markers, produce
from sparkmirror.protocol.committed import Committed
from sparkmirror.protocol.fetch import TopicKey
from sparkmirror.protocol.produce import Buffer
from sparkmirror.topology.acls import OPERATIONS

_NO_SUCH_PARTITION = 2**31 - 1
_NO_SUCH_TOPIC = "sparkmirror.there-is-no-such-topic"
_TIMEOUT_S = 5.0
_WITH_BOTH = 10  # the newest Metadata that tells the cluster's operations beside those of topics


def may_write_markers(cluster: Cluster, topic: str, producer_id: int) -> bool:
    """A marker for a partition that can't exist: the right is looked at before the partition."""
    nowhere = (topic, _NO_SUCH_PARTITION)

    def body(version: int) -> Sequence[bytes]:
        return markers.encode_markers(
            version, {nowhere: 1}, producer_id=producer_id, producer_epoch=0, coordinator_epoch=0
        )

    version, frame = cluster.call_raw_any(markers.API_KEY, (1, 0), body)
    return markers.parse_markers(version, frame).get(nowhere) != codes.CLUSTER_AUTHORIZATION_FAILED


def may_use_transactions(cluster: Cluster, transactional_id: str) -> bool:
    try:
        EmptyTransactions(cluster, transactional_id).begin()
    except BrokerError as error:
        if error.code == codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            return False
        raise
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRights:
    """`error`: why the topic is not shown, else 0. Replicas and those in sync are of the partition with the fewest."""

    error: int = 0
    operations: frozenset[str] = frozenset()
    replicas: int = 0
    in_sync: int = 0

    def may(self, operation: str) -> bool:
        return operation in self.operations


@dataclass(frozen=True, slots=True)
class Rights:
    """What the brokers say the user may do. `of_cluster` None: without DESCRIBE on the cluster they do not say it."""

    of_cluster: frozenset[str] | None
    of_topics: Mapping[str, TopicRights]


def fetch_rights(cluster: Cluster, topics: Collection[str]) -> Rights:
    """Without an authorizer everything is permitted, and is said to be."""
    request = MetadataRequest(
        topics=[MetadataRequest.MetadataRequestTopic(name=name) for name in sorted(topics)],
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=True,
        include_topic_authorized_operations=True,
    )
    with deadline(_TIMEOUT_S, "a quick look"):
        answer = cluster.call_any(request, most_version=_WITH_BOTH)
    found = {
        topic.name: TopicRights(
            error=topic.error_code,
            operations=_operations(topic.authorized_operations),
            replicas=min((len(p.replica_nodes) for p in topic.partitions), default=0),
            in_sync=min((len(p.isr_nodes) for p in topic.partitions), default=0),
        )
        for topic in answer.topics
    }
    return Rights(_operations(answer.authorized_operations) or None, found)


def may_append(cluster: Cluster, topics: Collection[str]) -> dict[str, bool]:
    """A record for a partition that can't exist, also in topics that are not there: as with markers."""
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=1024)
    builder.append(0, None, b"")
    builder.close()
    wanted: dict[TopicKey, list[tuple[int, Buffer]]] = {
        topic: [(_NO_SUCH_PARTITION, bytes(builder.buffer()))] for topic in topics
    }
    if not wanted:
        return {}
    version, frame = cluster.call_raw_any(
        produce.API_KEY, (produce.BY_NAME,), lambda v: produce.encode_produce(v, wanted, timeout_ms=5000)
    )
    answers = produce.parse_produce(version, frame)[1]
    return {str(answer.topic): answer.error not in codes.FORBIDDEN for answer in answers}


def find_undescribed(cluster: Cluster, groups: Collection[str]) -> list[str]:
    """Groups that the user may not DESCRIBE."""
    return [group for group, state in describe_groups(cluster, groups).items() if _is_forbidden(state)]


def find_uncommitted(cluster: Cluster, groups: Collection[str]) -> list[str]:
    """Groups that the user may not commit for: asked by an offset of a topic that can't exist, which is not written."""
    nowhere = {(_NO_SUCH_TOPIC, 0): Committed(0)}
    answers = commit_group_offsets(cluster, dict.fromkeys(groups, nowhere))
    return [group for group, answer in answers.items() if _is_forbidden(answer)]


def _is_forbidden(answer: object) -> bool:
    return isinstance(answer, BrokerError) and answer.code in codes.FORBIDDEN


def _operations(numbers: Collection[int] | None) -> frozenset[str]:
    return frozenset(name for number, name in enumerate(OPERATIONS) if number in (numbers or ()))
