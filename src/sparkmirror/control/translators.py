"""A flow's translator, opened for somebody who knows nothing but the clusters: from source to target, or back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.discovery import count_partitions
from sparkmirror.groups.names import Names
from sparkmirror.groups.translator import MADE_ANEW, Answer, MapReader, Translator
from sparkmirror.net.cluster import Cluster, Metadata
from sparkmirror.net.topics import topic_ids
from sparkmirror.offsets.checkpoints import Checkpoint
from sparkmirror.offsets.progress import ProgressTopic
from sparkmirror.topology.incarnation import TopicIds, why_another
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


class LastView:
    """What the target alone tells of where checkpoints stand, while the source can't be asked."""

    def __init__(self, flow: FlowConfig, target: Cluster, there: Metadata) -> None:
        selector, storage = TopicSelector.of(flow), Storage.of(flow)
        written = ProgressTopic(target, storage).read() if storage.progress in there.topics else {}
        own = {place: known for place, known in written.items() if known.target_end >= 0}
        self._sources = {
            (selector.remote_name(topic), partition): (topic, partition)
            for topic, partition in own
            if not selector.is_shared(topic)
        }
        ids = topic_ids(there.topics.values())
        self._anew = {
            remote: f"{why} since it was mirrored"
            for remote, place in self._sources.items()
            if (why := why_another(own[place], TopicIds("", ids.get(remote[0], ""))))
        }
        names = {source[0]: remote[0] for remote, source in self._sources.items()}
        self._translator = Translator(None, target, Names(names, {}, {}), _open(target, storage, there, None), None)

    def look(self, remotes: Iterable[Place]) -> None:
        self._translator.look(self._sources[remote] for remote in remotes if remote in self._sources)

    def ask(self, checkpoint: Checkpoint) -> Answer | None:
        """None: nothing but the checkpoint itself tells of it."""
        remote = (checkpoint.topic, checkpoint.partition)
        if remote in self._anew:
            return Answer(remote, None, self._anew[remote])
        source = self._sources.get(remote)
        answer = self._translator.translate(source, checkpoint.upstream_offset) if source else None
        return answer if answer and (answer.found or answer.why == MADE_ANEW.format("target")) else None


def find_merged(flow: FlowConfig, here: Metadata, there: Metadata) -> frozenset[str]:
    """Topics of the target that several topics of the source go into."""
    pairs = plan_topics(count_partitions(here), count_partitions(there), TopicSelector.of(flow)).pairs
    return frozenset(pair.remote for pair in pairs if pair.is_shared)


def find_remotes(flow: FlowConfig, here: Metadata, there: Metadata) -> frozenset[str]:
    """Topics of the target that one topic of the source goes into."""
    pairs = plan_topics(count_partitions(here), count_partitions(there), TopicSelector.of(flow)).pairs
    return frozenset(pair.remote for pair in pairs if not pair.is_shared)


def _open(
    cluster: Cluster, storage: Storage, metadata: Metadata, proven: Mapping[Place, Standing | str] | None
) -> MapReader:
    return MapReader(cluster, storage, proven, is_there=storage.progress in metadata.topics)
