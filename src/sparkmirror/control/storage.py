"""The topics on a target that a flow can't do without, and whether they can be made and keep what they hold."""

from __future__ import annotations

from sparkmirror.config.model import FlowConfig
from sparkmirror.errors import ConfigError
from sparkmirror.net.cluster import Cluster, Metadata
from sparkmirror.net.internal_topics import find_losing
from sparkmirror.topology.factors import why_impossible
from sparkmirror.topology.internal_topics import CLAIM_CONFIGS, InternalTopicPlan
from sparkmirror.topology.storage import Storage

OFFSETS_KEY = "offset.storage.replication.factor"
STATUS_KEY = "status.storage.replication.factor"


def plan_storage_topics(flow: FlowConfig) -> tuple[InternalTopicPlan, ...]:
    """Claims, progress and facts. The status key is the user's only if it differs from the other."""
    storage = Storage.of(flow)
    factor, status_factor = flow.internal_replication_factor, flow.status_replication_factor
    status_key = OFFSETS_KEY if status_factor == factor else STATUS_KEY
    return (
        InternalTopicPlan(name=storage.claims, key=OFFSETS_KEY, replication_factor=factor, configs=CLAIM_CONFIGS),
        InternalTopicPlan(
            name=storage.progress,
            key=OFFSETS_KEY,
            replication_factor=factor,
            partitions=storage.progress_partitions,
        ),
        InternalTopicPlan(
            name=storage.status,
            key=status_key,
            replication_factor=status_factor,
            partitions=storage.status_partitions,
        ),
    )


def refuse_impossible_factors(flow: FlowConfig, target: Metadata) -> None:
    """ConfigError before anything is made, for topics that are missing and can't be."""
    if problems := _list_impossible(flow, target):
        raise ConfigError("; ".join(problems))


def find_unable(flow: FlowConfig, target: Cluster, metadata: Metadata) -> str:
    """Why the flow can't start, as far as it can be seen from outside; empty if it can."""
    said, claims = _list_impossible(flow, metadata), Storage.of(flow).claims
    if claims in metadata.topics:
        said += filter(None, [find_losing(target, claims, CLAIM_CONFIGS)])
    return "; ".join(said)


def _list_impossible(flow: FlowConfig, target: Metadata) -> list[str]:
    live = len(target.brokers)
    missing = [topic for topic in plan_storage_topics(flow) if topic.name not in target.topics]
    said = (why_impossible(topic.key, topic.replication_factor, live, flow.target.alias) for topic in missing)
    return list(dict.fromkeys(filter(None, said)))
