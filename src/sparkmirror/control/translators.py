"""A flow's translator, opened for somebody who knows nothing but the clusters: from source to target, or back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.discovery import count_partitions
from sparkmirror.groups.names import Names
from sparkmirror.groups.translator import MapReader, Translator
from sparkmirror.net.cluster import Cluster, Metadata
from sparkmirror.net.topics import topic_ids
from sparkmirror.topology.select import TopicSelector, plan_topics
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Proven:
    """What both logs say of the partitions of a flow, and of those of the flow back; None: nobody has looked."""

    there: Mapping[Place, Standing | str] | None = None
    back: Mapping[Place, Standing | str] | None = None


NOTHING = Proven()


def open_forward(
    flow: FlowConfig,
    source: Cluster,
    target: Cluster,
    here: Metadata,
    there: Metadata,
    back: Storage,
    proven: Proven = NOTHING,
) -> Translator:
    """`back`: where the other way keeps its progress, on the source, if there is one."""
    selector = TopicSelector.of(flow)
    pairs = plan_topics(count_partitions(here), count_partitions(there), selector).pairs
    names = Names.of(pairs, here.topics, selector.policy, flow.target.alias)
    backward = _read(source, back, proven.back) if back.progress in here.topics else None
    forward = _open(flow, target, there, proven.there)
    return Translator(target, names, forward, backward, topic_ids(here.topics.values()))


def open_reverse(
    flow: FlowConfig,
    source: Cluster,
    target: Cluster,
    here: Metadata,
    there: Metadata,
    back: FlowConfig | None = None,
    proven: Proven = NOTHING,
) -> Translator:
    """What the target's remote topics are on the source; with the flow `back`, also what its own topics are there."""
    pairs = plan_topics(count_partitions(here), count_partitions(there), TopicSelector.of(flow)).pairs
    own = plan_topics(count_partitions(there), count_partitions(here), TopicSelector.of(back)).pairs if back else ()
    names = Names(
        {pair.topic: pair.remote for pair in own if pair.present},
        {pair.remote: pair.topic for pair in pairs if pair.present and not pair.is_shared},
        {pair.topic: pair.present for pair in own if pair.is_shared and pair.present},
    )
    maps = _open(flow, target, there, proven.there)
    forward = _open(back, source, here, proven.back) if back else maps
    return Translator(source, names, forward, maps, topic_ids(there.topics.values()))


def find_merged(flow: FlowConfig, here: Metadata, there: Metadata) -> frozenset[str]:
    """Topics of the target that several topics of the source go into."""
    pairs = plan_topics(count_partitions(here), count_partitions(there), TopicSelector.of(flow)).pairs
    return frozenset(pair.remote for pair in pairs if pair.is_shared)


def _open(
    flow: FlowConfig, target: Cluster, there: Metadata, proven: Mapping[Place, Standing | str] | None
) -> MapReader:
    storage = Storage.of(flow)
    return _read(target, storage, proven) if storage.progress in there.topics else MapReader(target, storage, proven)


def _read(cluster: Cluster, storage: Storage, proven: Mapping[Place, Standing | str] | None) -> MapReader:
    reader = MapReader(cluster, storage, proven)
    reader.refresh()
    return reader
