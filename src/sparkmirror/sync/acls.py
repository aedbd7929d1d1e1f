"""Rights on remote topics, added as the source's topics have them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sparkmirror.config.model import FlowConfig
from sparkmirror.net.acls import create_topic_acls, describe_topic_acls
from sparkmirror.net.cluster import Cluster
from sparkmirror.topology.acls import Acl, plan_acls
from sparkmirror.topology.select import TopicSelector


@dataclass(frozen=True, slots=True)
class AclPlan:
    """`unguarded`: the cluster that has no authorizer, if one has none; then there is nothing to do."""

    missing: tuple[Acl, ...] = ()
    unguarded: str = ""


class AclSync:
    """One flow's. Blocking."""

    def __init__(
        self, flow: FlowConfig, source: Cluster, target: Cluster, selector: TopicSelector, own: Collection[str]
    ) -> None:
        """`own`: the mirror's principals on the source."""
        self._own = own
        self._prefixed = flow.sync.acls_prefixed
        self._source = source
        self._target = target
        self._selector = selector

    def plan(self, topics: Collection[str]) -> AclPlan:
        """`topics`: all of the source. The target is asked only if the source has an authorizer."""
        here = describe_topic_acls(self._source)
        if here is None:
            return AclPlan(unguarded=self._source.address.alias)
        there = describe_topic_acls(self._target, needs="ALTER")
        if there is None:
            return AclPlan(unguarded=self._target.address.alias)
        return AclPlan(plan_acls(here, there, self._selector, topics, prefixed=self._prefixed, own=self._own))

    def apply(self, plan: AclPlan) -> None:
        create_topic_acls(self._target, plan.missing)
