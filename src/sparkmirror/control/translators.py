"""A flow's translator, opened for somebody who knows nothing but the clusters: from source to target, or back."""

from __future__ import annotations

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.discovery import count_partitions
from sparkmirror.groups.names import Names
from sparkmirror.groups.translator import MapReader, Translator
from sparkmirror.net.cluster import Cluster, Metadata
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
    return Translator(target, names, _open(flow, target, there), backward)


def open_reverse(flow: FlowConfig, source: Cluster, target: Cluster, here: Metadata, there: Metadata) -> Translator:
    """Only by this flow's own map: what the target's remote topics are on the source."""
    pairs = plan_topics(count_partitions(here), count_partitions(there), TopicSelector.of(flow)).pairs
    origin = {pair.remote: pair.topic for pair in pairs if pair.present and not pair.is_shared}
    maps = _open(flow, target, there)
    return Translator(source, Names({}, origin, {}), maps, maps)


def _open(flow: FlowConfig, target: Cluster, there: Metadata) -> MapReader:
    storage = Storage.of(flow)
    return _read(target, storage) if storage.progress in there.topics else MapReader(target, storage)


def _read(cluster: Cluster, storage: Storage) -> MapReader:
    reader = MapReader(cluster, storage)
    reader.refresh()
    return reader
