"""A flow's translator, opened for somebody who knows nothing but the clusters: from source to target, or back."""

from __future__ import annotations

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.discovery import count_partitions
from sparkmirror.groups.names import Names
from sparkmirror.groups.translator import MapReader, Translator
from sparkmirror.net.cluster import Cluster, Metadata
from sparkmirror.net.topics import topic_ids
from sparkmirror.topology.select import TopicSelector, plan_topics
from sparkmirror.topology.storage import Storage


def open_forward(
    flow: FlowConfig, source: Cluster, target: Cluster, here: Metadata, there: Metadata, back: Storage
) -> Translator:
    """`back`: where the other way keeps its progress, on the source, if there is one."""
    selector = TopicSelector.of(flow)
    pairs = plan_topics(count_partitions(here), count_partitions(there), selector).pairs
    names = Names.of(pairs, here.topics, selector.policy, flow.target.alias)
    backward = _read(source, back) if back.progress in here.topics else None
    return Translator(target, names, _open(flow, target, there), backward, topic_ids(here.topics.values()))


def open_reverse(
    flow: FlowConfig, source: Cluster, target: Cluster, here: Metadata, there: Metadata, back: FlowConfig | None = None
) -> Translator:
    """What the target's remote topics are on the source; with the flow `back`, also what its own topics are there."""
    pairs = plan_topics(count_partitions(here), count_partitions(there), TopicSelector.of(flow)).pairs
    own = plan_topics(count_partitions(there), count_partitions(here), TopicSelector.of(back)).pairs if back else ()
    names = Names(
        {pair.topic: pair.remote for pair in own if pair.present},
        {pair.remote: pair.topic for pair in pairs if pair.present and not pair.is_shared},
        {pair.topic: pair.present for pair in own if pair.is_shared and pair.present},
    )
    maps = _open(flow, target, there)
    forward = _open(back, source, here) if back else maps
    return Translator(source, names, forward, maps, topic_ids(there.topics.values()))


def find_merged(flow: FlowConfig, here: Metadata, there: Metadata) -> frozenset[str]:
    """Topics of the target that several topics of the source go into."""
    pairs = plan_topics(count_partitions(here), count_partitions(there), TopicSelector.of(flow)).pairs
    return frozenset(pair.remote for pair in pairs if pair.is_shared)


def _open(flow: FlowConfig, target: Cluster, there: Metadata) -> MapReader:
    storage = Storage.of(flow)
    return _read(target, storage) if storage.progress in there.topics else MapReader(target, storage)


def _read(cluster: Cluster, storage: Storage) -> MapReader:
    reader = MapReader(cluster, storage)
    reader.refresh()
    return reader
