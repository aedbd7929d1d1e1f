"""A flow's translator, opened for somebody who knows nothing but the clusters: from source to target, or back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.discovery import count_partitions
from sparkmirror.groups.names import Names
from sparkmirror.groups.translator import MapReader, Translator
from sparkmirror.net.cluster import Cluster, Metadata
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
    names = Names.of(pairs, here.topics, selector.policy, flow.target.alias, shares_target=selector.shares_target)
    backward = _open(source, back, here, proven.back) if back.progress in here.topics else None
    return Translator(source, target, names, _open(target, Storage.of(flow), there, proven.there), backward)


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
    forward = _open(source, Storage.of(back), here, proven.back) if back else None
    return Translator(target, source, names, forward, _open(target, Storage.of(flow), there, proven.there))


def find_merged(flow: FlowConfig, here: Metadata, there: Metadata) -> frozenset[str]:
    """Topics of the target that several topics of the source go into."""
    pairs = plan_topics(count_partitions(here), count_partitions(there), TopicSelector.of(flow)).pairs
    return frozenset(pair.remote for pair in pairs if pair.is_shared)


def _open(
    cluster: Cluster, storage: Storage, metadata: Metadata, proven: Mapping[Place, Standing | str] | None
) -> MapReader:
    return MapReader(cluster, storage, proven, is_there=storage.progress in metadata.topics)
