"""Topics made, extended and deleted, one at a time, by the controller; and asked for whether they could be made."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from kafka.protocol.admin import CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest

from sparkmirror.errors import BrokerError
from sparkmirror.net.cluster import NO_TOPIC_ID, Cluster, Leader, Metadata, TopicInfo, group_by
from sparkmirror.net.denial import raise_refused, refused
from sparkmirror.net.log import format_topic_id
from sparkmirror.net.response import only_answer
from sparkmirror.protocol import codes
from sparkmirror.shown import LONGEST_SAID, shown
from sparkmirror.topology.incarnation import TopicIds
from sparkmirror.topology.right import TOPIC, Right

TIMEOUT_MS = 15_000
AT_ONCE = 200  # topics that are validated by one request


class TopicShape(NamedTuple):
    """A topic to make. A replication factor of -1 is the broker's. `spare`: configurations that it can do without."""

    name: str
    partitions: int
    replication_factor: int
    configs: Mapping[str, str] = MappingProxyType({})
    spare: Collection[str] = ()

    def bare(self) -> TopicShape:
        return self._replace(configs={name: value for name, value in self.configs.items() if name not in self.spare})

    def spared(self) -> list[str]:
        return sorted(name for name in self.configs if name in self.spare)


class Fit(NamedTuple):
    """Which topics could not be made, and which only without what they can spare; and why."""

    refused: dict[str, BrokerError]
    unfit: dict[str, BrokerError]


def fit_topics(cluster: Cluster, shapes: Sequence[TopicShape]) -> Fit:
    """Ask which of these could be made; nothing is."""
    refused = validate_topics(cluster, shapes)
    spared = [
        s.bare() for s in shapes if s.spared() and s.name in refused and refused[s.name].code in codes.UNFIT_CONFIG
    ]
    still = validate_topics(cluster, spared)
    unfit = {shape.name: refused[shape.name] for shape in spared if shape.name not in still}
    return Fit({name: error for name, error in refused.items() if name not in unfit}, unfit)


def validate_topics(cluster: Cluster, shapes: Sequence[TopicShape]) -> dict[str, BrokerError]:
    """Why some of these could not be made; nothing is."""
    found = {}
    for first in range(0, len(shapes), AT_ONCE):
        group = [_creatable(shape) for shape in shapes[first : first + AT_ONCE]]
        request = CreateTopicsRequest(topics=group, timeout_ms=TIMEOUT_MS, validate_only=True)
        for answer in cluster.call_controller(request).topics:
            if answer.error_code not in (codes.NONE, codes.TOPIC_ALREADY_EXISTS):
                said = f"{codes.name_of(answer.error_code)} {shown(answer.error_message or '', LONGEST_SAID)}".rstrip()
                found[answer.name] = BrokerError(answer.error_code, said)
    return found


def create_topic(cluster: Cluster, shape: TopicShape) -> bytes | None:
    """Create a topic; its id (zeros from brokers that have none), or None if somebody else was faster."""
    name = shape.name
    request = CreateTopicsRequest(
        topics=[_creatable(shape)],
        timeout_ms=TIMEOUT_MS,
        validate_only=False,
    )
    answer = only_answer(cluster.call_controller(request).topics, f"creation of {name}")
    if answer.error_code not in (codes.NONE, codes.TOPIC_ALREADY_EXISTS):
        what = f"cluster {cluster.address.alias}: topic {name} can't be created"
        raise refused(cluster.address, what, answer.error_code, Right("CREATE", TOPIC, name), answer.error_message)
    if answer.error_code == codes.TOPIC_ALREADY_EXISTS:
        return None
    return answer.topic_id.bytes if isinstance(answer.topic_id, uuid.UUID) else NO_TOPIC_ID


def _creatable(shape: TopicShape) -> Any:
    topic = CreateTopicsRequest.CreatableTopic
    return topic(
        name=shape.name,
        num_partitions=shape.partitions,
        replication_factor=shape.replication_factor,
        assignments=[],
        configs=[topic.CreatableTopicConfig(name=k, value=v) for k, v in shape.configs.items()],
    )


def extend_topic(cluster: Cluster, name: str, partitions: int) -> None:
    """Give a topic so many partitions in all; that it has them already is fine."""
    wanted = CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=partitions, assignments=None)
    request = CreatePartitionsRequest(topics=[wanted], timeout_ms=TIMEOUT_MS, validate_only=False)
    answer = only_answer(cluster.call_controller(request).results, f"extension of {name}")
    if answer.error_code != codes.INVALID_PARTITIONS:
        raise_refused(
            cluster.address, f"topic {name} can't be extended", answer.error_code, Right("ALTER", TOPIC, name)
        )


def delete_topic(cluster: Cluster, name: str, topic_id: str) -> None:
    """Delete the topic of this id, and none that was made anew under its name. That it is gone already is fine."""
    wanted = DeleteTopicsRequest.DeleteTopicState(name=None, topic_id=uuid.UUID(topic_id))
    request = DeleteTopicsRequest(topics=[wanted], topic_names=[], timeout_ms=TIMEOUT_MS)
    answer = only_answer(cluster.call_controller(request).responses, f"deletion of {name}")
    if answer.error_code not in (codes.UNKNOWN_TOPIC_ID, codes.UNKNOWN_TOPIC_OR_PARTITION):
        raise_refused(
            cluster.address, f"topic {name} can't be deleted", answer.error_code, Right("DELETE", TOPIC, name)
        )


def fetch_topic_ids(cluster: Cluster, leaders: Mapping[tuple[str, int], Leader]) -> dict[str, str]:
    """Ids of topics as the leaders of their partitions say themselves; topics of which one does not say it, or another,
    are left out.
    """
    told: dict[str, set[str]] = {topic: set() for topic, _ in leaders}
    for node, places in group_by(list(leaders), lambda place: leaders[place].node).items():
        names = sorted({topic for topic, _ in places})
        shown = cluster.fetch_metadata_of(node, names) if node >= 0 else None
        for name in names:
            told[name].add(_id_of(shown, name) if shown else "")
    return {name: next(iter(ids)) for name, ids in told.items() if len(ids) == 1 and "" not in ids}


def read_ids(remotes: Mapping[str, str], here: Metadata, there: Metadata) -> dict[str, TopicIds]:
    """By source topic. `remotes`: source topic -> remote topic."""
    return {topic: TopicIds(_id_of(here, topic), _id_of(there, remote)) for topic, remote in remotes.items()}


def topic_ids(topics: Iterable[TopicInfo]) -> dict[str, str]:
    """Of those that have one."""
    return {t.name: format_topic_id(t.topic_id) for t in topics if not t.error and t.topic_id != NO_TOPIC_ID}


def _id_of(metadata: Metadata, topic: str) -> str:
    info = metadata.topics.get(topic)
    return format_topic_id(info.topic_id) if info and not info.error else ""
