"""Which topics a flow reads, writes and makes, and what it must be allowed there. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.discovery import count_partitions
from sparkmirror.control.storage import plan_storage_topics
from sparkmirror.doctor.facts import TopicNeed
from sparkmirror.net.cluster import Metadata
from sparkmirror.net.topics import TopicShape
from sparkmirror.topology.choose import choose_config_filter, choose_policy
from sparkmirror.topology.factors import plan_factor
from sparkmirror.topology.internal_topics import InternalTopicPlan, plan_heartbeats_topic, plan_internal_topics
from sparkmirror.topology.select import TopicPlan, TopicSelector, plan_topics
from sparkmirror.topology.topic_configs import Entries, plan_new_configs

READING = ("READ", "DESCRIBE", "DESCRIBE_CONFIGS")
KEEPING = ("READ", "WRITE", "DESCRIBE")
_PLAIN_NAME = re.compile(r"[a-zA-Z0-9._-]+")
_INTERNAL = {"WRITE": "the flow is mirrored without what is written there"}


def plan_flow_topics(flow: FlowConfig, here: Metadata, there: Metadata) -> TopicPlan:
    return plan_topics(count_partitions(here), count_partitions(there), TopicSelector.of(flow))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What must be known of both sides: the source topics' configurations, and those that the target knows by name."""

    here: Metadata
    there: Metadata
    configs: Mapping[str, Entries]
    known: Collection[str] | None = None


def plan_needs(flow: FlowConfig, plan: TopicPlan, asked: Asked) -> Iterator[TopicNeed]:
    source, target = flow.source.alias, flow.target.alias
    topics = dict.fromkeys((*(pair.topic for pair in plan.pairs), *_named_topics(flow)))
    yield from (TopicNeed(cluster=source, topic=topic, must=READING) for topic in topics)
    for topic in plan_storage_topics(flow):
        yield _internal(target, topic, must=KEEPING)
    for topic in plan_internal_topics(flow, choose_policy(flow)):
        yield _internal(source if topic.on_source else target, topic, should=_INTERNAL)
    shapes = _shapes(flow, plan, asked)
    for remote in dict.fromkeys(pair.remote for pair in plan.pairs):
        yield TopicNeed(
            cluster=target,
            topic=remote,
            must=KEEPING,
            should=dict(_useful(flow)),
            shape=shapes.get(remote),
            factor_key="replication.factor",
        )


def _named_topics(flow: FlowConfig) -> Iterator[str]:
    """Topics that the file names: one that the user may not see is in no list of topics."""
    selector = TopicSelector.of(flow)
    return (name for name in flow.topics if _PLAIN_NAME.fullmatch(name) and selector.should_replicate(name))


def plan_pair_needs(pair: FlowConfig) -> Iterator[TopicNeed]:
    """Of a pair that only emits heartbeats."""
    yield _internal(pair.target.alias, plan_heartbeats_topic(pair, choose_policy(pair)), should=_INTERNAL)


def _internal(
    cluster: str, topic: InternalTopicPlan, must: tuple[str, ...] = (), should: Mapping[str, str] | None = None
) -> TopicNeed:
    return TopicNeed(
        cluster=cluster,
        topic=topic.name,
        must=must,
        should=should or {},
        shape=TopicShape(topic.name, topic.partitions, topic.replication_factor, topic.configs),
        factor_key=topic.key,
    )


def _shapes(flow: FlowConfig, plan: TopicPlan, asked: Asked) -> dict[str, TopicShape]:
    chosen, live = choose_config_filter(flow), len(asked.there.brokers)
    shapes = {}
    for new in plan.create:
        replicas = asked.here.topics[new.source].replicas
        factor = plan_factor(flow.replication_factor, replicas, live, flow.target.alias)
        entries = asked.configs.get(new.source, {})
        wanted = plan_new_configs(entries, entries if asked.known is None else asked.known, chosen)
        shapes[new.topic] = TopicShape(new.topic, new.partitions, factor.value, wanted.set)
    return shapes


def _useful(flow: FlowConfig) -> Iterator[tuple[str, str]]:
    """Rights on remote topics without which the records still arrive."""
    yield "ALTER", "partitions that are added at the source are not added"
    if flow.sync.configs_interval_s is not None:
        yield "DESCRIBE_CONFIGS", "configurations are not kept alike"
        yield "ALTER_CONFIGS", "configurations are not kept alike, and limits not raised for a large record"
    if flow.offsets_preserve != "never":
        yield "DELETE", "offsets of a log that begins above 0 are translated"
    elif flow.sync.deletes:
        yield "DELETE", "topics do not go with their source topics"
