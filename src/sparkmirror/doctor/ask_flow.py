"""Asks both clusters of a flow about the topics that it needs. Nothing is written: what would be is only validated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple, TypeVar

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.group_keeper import choose_groups
from sparkmirror.control.survey import survey_flow
from sparkmirror.doctor.facts import ClusterFacts, FlowFacts, TopicNeed
from sparkmirror.doctor.needs import Asked, plan_flow_topics, plan_needs, plan_pair_needs
from sparkmirror.errors import BrokerError, SparkmirrorError
from sparkmirror.net.acls import describe_topic_acls
from sparkmirror.net.cluster import Cluster, Metadata
from sparkmirror.net.configs import Described, describe_topic_configs
from sparkmirror.net.groups import list_groups
from sparkmirror.net.principal import principal_of
from sparkmirror.net.rights import (
    Rights,
    fetch_rights,
    find_uncommitted,
    find_undescribed,
    may_append,
    may_write_markers,
)
from sparkmirror.net.topics import Fit, fit_topics
from sparkmirror.protocol import codes
from sparkmirror.topology.choose import choose_group_filter, find_unmatched

_ANY_PRODUCER = 0
MOST_GROUPS = 50

T = TypeVar("T")


class _Side(NamedTuple):
    rights: Rights
    configs: Described
    fit: Fit
    appendable: Mapping[str, bool]


class FlowAsker:
    """`clusters`: by alias, those that answer. What fails is said, and does not keep the rest from being asked."""

    def __init__(self, flow: FlowConfig, clusters: Mapping[str, Cluster]) -> None:
        self._flow = flow
        self._clusters = clusters
        self._problems: dict[str, str] = {}

    def ask(self, facts: Mapping[str, ClusterFacts], *, is_pair: bool) -> FlowFacts:
        """`facts`: of both clusters, with their metadata; of a pair's target alone."""
        source, target = self._flow.source.alias, self._flow.target.alias
        there = facts[target].metadata
        assert there is not None
        if is_pair:
            return self._ask_topics(tuple(plan_pair_needs(self._flow)), {}, Described())
        here = facts[source].metadata
        assert here is not None
        plan = plan_flow_topics(self._flow, here, there)
        remotes = {pair.topic: pair.remote for pair in plan.pairs}
        described = self._describe(source, set(remotes))
        asked = Asked(here=here, there=there, configs=described.found, known=self._known_configs(there))
        found = self._ask_topics(tuple(plan_needs(self._flow, plan, asked)), remotes, described)
        survey = survey_flow(self._flow)
        return replace(
            found,
            unmatched=tuple(find_unmatched(self._flow, here.topics)),
            stuck={said: [f"{row.topic}-{row.partition}" for row in rows] for said, rows in survey.stuck().items()}
            | survey.unseen(),
            told=survey.told(),
            rival=survey.rival,
            unable=survey.unable,
        )

    def _ask_topics(self, needs: tuple[TopicNeed, ...], remotes: Mapping[str, str], described: Described) -> FlowFacts:
        aliases = dict.fromkeys(need.cluster for need in needs)
        sides = {alias: self._ask_side(alias, [need for need in needs if need.cluster == alias]) for alias in aliases}
        asked = {alias: side for alias, side in sides.items() if side is not None}
        configs = {alias: side.configs for alias, side in asked.items()}
        configs.setdefault(self._flow.source.alias, Described()).found.update(described.found)
        return FlowFacts(
            flow=self._flow,
            needs=needs,
            remotes=remotes,
            rights={alias: side.rights for alias, side in asked.items()},
            configs=configs,
            refused={alias: side.fit.refused for alias, side in asked.items()},
            unfit={alias: side.fit.unfit for alias, side in asked.items()},
            appendable={alias: side.appendable for alias, side in asked.items()},
            may_write_markers=self._may_write_markers() if remotes else None,
            syncs_acls=bool(remotes) and self._syncs_acls(),
            refused_groups=self._ask_groups() if remotes else {},
            principals={alias: principal_of(each.address.client.security) for alias, each in self._clusters.items()},
            problems=self._problems,
        )

    def _ask_side(self, alias: str, needs: list[TopicNeed]) -> _Side | None:
        cluster = self._clusters[alias]
        rights = self._try(alias, lambda: fetch_rights(cluster, [need.topic for need in needs]))
        if rights is None:
            return None
        there = {name for name, topic in rights.of_topics.items() if not topic.error}
        new = [need.shape for need in needs if need.shape is not None and need.topic not in there]
        return _Side(
            rights,
            self._describe(alias, {need.topic for need in needs if need.factor_key} & there),
            self._try(alias, lambda: fit_topics(cluster, new)) or Fit({}, {}),
            self._try(alias, lambda: may_append(cluster, [shape.name for shape in new])) or {},
        )

    def _may_write_markers(self) -> bool | None:
        if self._flow.offsets_preserve == "never":
            return None
        target = self._flow.target.alias
        topic = self._flow.source.alias  # any name will do
        return self._try(target, lambda: may_write_markers(self._clusters[target], topic, _ANY_PRODUCER))

    def _syncs_acls(self) -> bool:
        """Whether it wants to, and the source has rights to keep alike."""
        if self._flow.sync.acls_interval_s is None:
            return False
        try:
            return describe_topic_acls(self._clusters[self._flow.source.alias]) is not None
        except BrokerError as error:
            return error.code in codes.FORBIDDEN
        except SparkmirrorError:
            return False

    def _ask_groups(self) -> dict[str, dict[str, str]]:
        """Of groups that are followed, some."""
        source, target = self._flow.source.alias, self._flow.target.alias
        listing = self._try(source, lambda: list_groups(self._clusters[source])) if self._flow.follows_groups else None
        if listing is None:
            return {}
        groups = choose_groups(listing, choose_group_filter(self._flow).should_replicate_group)[:MOST_GROUPS]
        refused = {source: self._try(source, lambda: find_undescribed(self._clusters[source], groups)) or []}
        if self._flow.groups.sync_offsets_interval_s is not None:
            refused[target] = self._try(target, lambda: find_uncommitted(self._clusters[target], groups)) or []
        operations = {source: "DESCRIBE", target: "READ"}
        return {alias: dict.fromkeys(names, operations[alias]) for alias, names in refused.items()}

    def _known_configs(self, there: Metadata) -> Mapping[str, object] | None:
        some = next((topic.name for topic in there.topics.values() if not topic.error), None)
        return self._describe(self._flow.target.alias, {some}).found.get(some) if some else None

    def _describe(self, alias: str, topics: set[str]) -> Described:
        return self._try(alias, lambda: describe_topic_configs(self._clusters[alias], topics)) or Described()

    def _try(self, alias: str, ask: Callable[[], T]) -> T | None:
        try:
            return ask()
        except SparkmirrorError as error:
            self._problems[alias] = str(error)
            return None
