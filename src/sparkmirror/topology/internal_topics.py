"""The topics that MirrorMaker 2's connectors keep beside the data, as it makes them. Pure.

    name                              cluster                     what for
    heartbeats                        target                      shows that the flow's target can be written
    <source>.checkpoints.internal     target                      consumer groups' offsets, translated
    mm2-offset-syncs.<other>.internal as its location says        pairs of source and target offsets

One partition each, compacted. With a retention time they are deleted by age as well.

A broker never compacts the segment that it writes to, and that one may grow for a week or to 1 GB. Who begins with a
topic reads all of it, so topics that are read so have small segments (docs/decisions/0019).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sparkmirror.config.model import FlowConfig
from sparkmirror.config.parts import InternalTopicConfig
from sparkmirror.topology.policy import ReplicationPolicy
from sparkmirror.topology.topic_configs import CLEANUP_POLICY, OF_TOPIC, Entries

COMPACT = {"cleanup.policy": "compact"}
# 1 MB is the least that brokers take (KIP-1030), and about the largest record.
SMALL = {"segment.bytes": str(1 << 20)}
COMPACTED = COMPACT | SMALL
# A release of the lead is void if another driver leads: for as long as that can matter both records must stand.
CLAIM_CONFIGS = COMPACTED | {"min.compaction.lag.ms": "600000"}
SPARE = frozenset({"segment.bytes", "min.compaction.lag.ms"})  # which a topic can do without


def lacking_configs(configs: Mapping[str, str], entries: Entries) -> dict[str, str]:
    """What a topic can do without, and is not set on the topic itself."""
    ours = {name for name, entry in entries.items() if entry.source == OF_TOPIC}
    return {name: value for name, value in configs.items() if name in SPARE and name not in ours}


def losing_policy(configs: Mapping[str, str], entries: Entries) -> str:
    """The policy of a topic that loses by age what it must keep; empty if it does not. Connect refuses such a topic."""
    entry = entries.get(CLEANUP_POLICY)
    is_to_keep = configs.get(CLEANUP_POLICY) == COMPACT[CLEANUP_POLICY]
    return entry.value if is_to_keep and entry and entry.value and "delete" in entry.value else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalTopicPlan:
    """`key`: the setting that its replication factor comes from."""

    name: str
    on_source: bool = False
    key: str
    replication_factor: int
    partitions: int = 1
    configs: Mapping[str, str] = field(default_factory=lambda: COMPACTED)


def plan_heartbeats_topic(flow: FlowConfig, policy: ReplicationPolicy) -> InternalTopicPlan:
    return _plan("heartbeats", policy.heartbeats_topic(), flow.heartbeats.topic)


def plan_internal_topics(flow: FlowConfig, policy: ReplicationPolicy) -> tuple[InternalTopicPlan, ...]:
    """Those whose feature is on."""
    wanted = (
        (flow.heartbeats.topic, plan_heartbeats_topic(flow, policy)),
        (
            flow.checkpoints_topic,
            _plan("checkpoints", policy.checkpoints_topic(flow.source.alias), flow.checkpoints_topic, SMALL),
        ),
        (flow.offset_syncs.topic, plan_offset_syncs_topic(flow, policy)),
    )
    return tuple(plan for config, plan in wanted if config.is_wanted)


def plan_offset_syncs_topic(flow: FlowConfig, policy: ReplicationPolicy) -> InternalTopicPlan:
    on_source = flow.offset_syncs.location == "source"
    other = flow.target.alias if on_source else flow.source.alias
    return _plan("offset-syncs", policy.offset_syncs_topic(other), flow.offset_syncs.topic, on_source=on_source)


def _plan(
    kind: str,
    name: str,
    config: InternalTopicConfig,
    more: Mapping[str, str] | None = None,
    *,
    on_source: bool = False,
) -> InternalTopicPlan:
    configs = COMPACT
    if config.retention_ms is not None:
        configs = {"cleanup.policy": "compact,delete", "retention.ms": str(config.retention_ms)}
    return InternalTopicPlan(
        name=name,
        on_source=on_source,
        key=f"{kind}.topic.replication.factor",
        replication_factor=config.replication_factor,
        configs={**configs, **(more or {})},
    )
