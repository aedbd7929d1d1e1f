"""Which topics a flow reads, writes and makes, and what it must be allowed there. Pure."""

from __future__ import annotations

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
from sparkmirror.topology.internal_topics import SPARE, InternalTopicPlan, plan_heartbeats_topic, plan_internal_topics
from sparkmirror.topology.least_rights import SOURCE, Names, plan_rights
from sparkmirror.topology.right import TOPIC
from sparkmirror.topology.select import TopicPlan, TopicSelector, plan_topics
from sparkmirror.topology.topic_configs import TIERED, Entries, plan_new_configs

Place = tuple[str, str]  # a cluster and a topic
# How a topic is made where it is missing, and the setting of its replication factor.
Shape = tuple[TopicShape | None, str]


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
    named = TopicSelector.of(flow).pick_named(flow.topics)
    topics = tuple(dict.fromkeys((*(pair.topic for pair in plan.pairs), *named)))
    new = _shapes(flow, plan, asked)
    shapes: dict[Place, Shape] = {
        (flow.target.alias, pair.remote): (new.get(pair.remote), "replication.factor") for pair in plan.pairs
    }
    for topic in plan_storage_topics(flow):
        shapes[flow.target.alias, topic.name] = _shape(topic)
    for topic in plan_internal_topics(flow, choose_policy(flow)):
        shapes[flow.source.alias if topic.on_source else flow.target.alias, topic.name] = _shape(topic)
    yield from _with_rights(flow, Names.of(flow, topics, ()), shapes)


def plan_pair_needs(pair: FlowConfig) -> Iterator[TopicNeed]:
    """Of a pair that only emits heartbeats."""
    topic = plan_heartbeats_topic(pair, choose_policy(pair))
    needs = _with_rights(pair, Names.of(pair, (), ()), {(pair.target.alias, topic.name): _shape(topic)})
    return (need for need in needs if need.topic == topic.name)


def _with_rights(flow: FlowConfig, names: Names, shapes: Mapping[Place, Shape]) -> Iterator[TopicNeed]:
    """CREATE is asked for by validating the topic's shape, where it is not there."""
    must: dict[Place, list[str]] = {}
    should: dict[Place, dict[str, str]] = {}
    for row, right in plan_rights(flow, names):
        if right.resource != TOPIC or right.operation == "CREATE":
            continue
        place = (flow.source.alias if row.side == SOURCE else flow.target.alias, right.name)
        musts, shoulds = must.setdefault(place, []), should.setdefault(place, {})
        if row.stops:
            musts.append(right.operation)
        else:
            shoulds[right.operation] = row.without
    for place, operations in must.items():
        shape, key = shapes.get(place, (None, ""))
        yield TopicNeed(
            cluster=place[0],
            topic=place[1],
            must=tuple(operations),
            should=should[place],
            shape=shape,
            factor_key=key,
        )


def _shape(topic: InternalTopicPlan) -> Shape:
    return TopicShape(topic.name, topic.partitions, topic.replication_factor, topic.configs, SPARE), topic.key


def _shapes(flow: FlowConfig, plan: TopicPlan, asked: Asked) -> dict[str, TopicShape]:
    chosen, live = choose_config_filter(flow), len(asked.there.brokers)
    shapes = {}
    for new in plan.create:
        replicas = asked.here.topics[new.source].replicas
        factor = plan_factor(flow.replication_factor, replicas, live, flow.target.alias)
        entries = asked.configs.get(new.source, {})
        wanted = plan_new_configs(entries, entries if asked.known is None else asked.known, chosen)
        shapes[new.topic] = TopicShape(new.topic, new.partitions, factor.value, wanted.set, TIERED)
    return shapes
