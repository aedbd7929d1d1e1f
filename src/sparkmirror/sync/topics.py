"""Remote topics made like their source topics: partitions, replicas, configurations."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sparkmirror.config.model import FlowConfig
from sparkmirror.errors import BrokerError
from sparkmirror.net.cluster import Cluster, Metadata
from sparkmirror.net.configs import Described, describe_topic_configs
from sparkmirror.net.offsets import EARLIEST, list_offsets
from sparkmirror.net.topics import TopicShape, create_topic, fit_topics
from sparkmirror.protocol import codes
from sparkmirror.topology.choose import choose_config_filter
from sparkmirror.topology.factors import plan_factor, why_impossible
from sparkmirror.topology.select import TopicToCreate
from sparkmirror.topology.topic_configs import CLEANUP_POLICY, TIERED, ConfigChanges, plan_new_configs


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    """A remote topic to make. `refusal`: why it can't be; `warnings`: what is not as on the source."""

    topic: str
    source: str
    partitions: int
    replication_factor: int
    configs: Mapping[str, str] = field(default_factory=dict)
    refusal: str = ""
    warnings: tuple[str, ...] = ()


class TopicMaker:
    """One flow's. Blocking."""

    def __init__(self, flow: FlowConfig, source: Cluster, target: Cluster) -> None:
        self._flow = flow
        self._source = source
        self._target = target
        self._filter = choose_config_filter(flow)

    def plan(self, wanted: Sequence[TopicToCreate], source: Metadata, target: Metadata) -> list[NewTopic]:
        """Asks for the source topics' configurations, and changes nothing."""
        described = describe_topic_configs(self._source, {new.source for new in wanted})
        known = self._known_configs(target)
        planned = [self._plan_one(new, source, target, described, known) for new in wanted]
        return self._leave_out_unfit(self._hold_back_compaction(planned, source))

    def make(self, new: NewTopic) -> bytes | None:
        """The new topic's id; None if somebody else was faster."""
        return create_topic(self._target, _shape(new))

    def _plan_one(
        self,
        new: TopicToCreate,
        source: Metadata,
        target: Metadata,
        described: Described,
        known: Collection[str] | None,
    ) -> NewTopic:
        live = len(target.brokers)
        alias = self._target.address.alias
        factor = plan_factor(self._flow.replication_factor, source.topics[new.source].replicas, live, alias)
        entries = described.found.get(new.source, {})
        changes = plan_new_configs(entries, entries if known is None else known, self._filter)
        refused = described.refused.get(new.source)
        # Who wants none synced need not be shown any.
        blind = refused is not None and refused.code in codes.FORBIDDEN and self._flow.sync.configs_interval_s is None
        without = f"{refused}: it gets the target's" if blind else ""
        return NewTopic(
            topic=new.topic,
            source=new.source,
            partitions=new.partitions,
            replication_factor=factor.value,
            configs=changes.set,
            refusal=("" if blind else str(refused or ""))
            or why_impossible("replication.factor", factor.value, live, alias),
            warnings=tuple(filter(None, (factor.warning, left_out_text(changes, alias), without))),
        )

    def _known_configs(self, target: Metadata) -> Collection[str] | None:
        """What the target's brokers call configurations, by any topic of theirs; None if they have no topic to ask."""
        some = next((topic.name for topic in target.topics.values() if not topic.error), None)
        described = describe_topic_configs(self._target, [some] if some else [])
        return described.found.get(some) if some else None

    def _leave_out_unfit(self, planned: Sequence[NewTopic]) -> list[NewTopic]:
        """Tiered storage where the target refuses it."""
        asked = [shape for new in planned if not new.refusal and (shape := _shape(new)).spared()]
        unfit = fit_topics(self._target, asked).unfit
        return [_make_fit(new, unfit[new.topic], self._target) if new.topic in unfit else new for new in planned]

    def _hold_back_compaction(self, planned: Sequence[NewTopic], source: Metadata) -> list[NewTopic]:
        """A compacted topic can't be filled up to a log start above 0. It is compacted when the copy has begun."""
        fills = self._flow.offsets_preserve != "never"
        compacted = [new for new in planned if fills and "compact" in new.configs.get(CLEANUP_POLICY, "")]
        leaders = {(n.source, p): leader for n in compacted for p, leader in source.topics[n.source].leaders.items()}
        starts = list_offsets(self._source, leaders, EARLIEST)
        late = {topic for (topic, _), start in starts.items() if start > 0}
        return [_without_cleanup(new) if new in compacted and new.source in late else new for new in planned]


def left_out_text(changes: ConfigChanges, target: str) -> str:
    unknown = f"cluster {target} does not know {', '.join(changes.unknown)}" if changes.unknown else ""
    return "; ".join(filter(None, (unknown, changes.unfit)))


def unfit_text(names: Collection[str], target: Cluster, error: BrokerError) -> str:
    return f"cluster {target.address.alias} takes no {', '.join(names)}: {error}"


def _shape(new: NewTopic) -> TopicShape:
    return TopicShape(new.topic, new.partitions, new.replication_factor, new.configs, TIERED)


def _make_fit(new: NewTopic, error: BrokerError, target: Cluster) -> NewTopic:
    shape = _shape(new)
    warning = unfit_text(shape.spared(), target, error)
    return replace(new, configs=shape.bare().configs, warnings=(*new.warnings, warning))


def _without_cleanup(new: NewTopic) -> NewTopic:
    return replace(new, configs={name: value for name, value in new.configs.items() if name != CLEANUP_POLICY})
