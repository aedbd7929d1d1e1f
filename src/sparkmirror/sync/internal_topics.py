"""MirrorMaker 2's internal topics made where they are missing, with its tolerance of what a cluster refuses."""

from __future__ import annotations

from sparkmirror.errors import BrokerError
from sparkmirror.net.cluster import Cluster, Metadata
from sparkmirror.net.internal_topics import create_internal_topic
from sparkmirror.net.topics import TopicShape
from sparkmirror.protocol import codes
from sparkmirror.topology.factors import why_impossible
from sparkmirror.topology.internal_topics import SPARE, InternalTopicPlan

# MirrorUtils.createCompactedTopic passes over these: somebody else may have made the topic, or will.
_TOLERATED = codes.FORBIDDEN | {codes.UNSUPPORTED_VERSION}


def why_not_made(cluster: Cluster, metadata: Metadata, topic: InternalTopicPlan) -> str:
    """Make the topic if it is not there; why it could not be made, empty if it is there now."""
    if topic.name in metadata.topics:
        return ""
    impossible = why_impossible(topic.key, topic.replication_factor, len(metadata.brokers), cluster.address.alias)
    if impossible:
        return f"topic {topic.name} can't be made: {impossible}"
    try:
        shape = TopicShape(topic.name, topic.partitions, topic.replication_factor, topic.configs, SPARE)
        create_internal_topic(cluster, shape)
    except BrokerError as error:
        if error.code not in _TOLERATED:
            raise
        return str(error)
    return ""
