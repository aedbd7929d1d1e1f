"""Rights on remote topics, added as the source's topics have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sparkmirror.config.model import FlowConfig
from sparkmirror.net.acls import create_topic_acls, describe_topic_acls
from sparkmirror.net.cluster import Cluster
from sparkmirror.topology.acls import ALLOW, DENY, KnownRights, TopicAcls, plan_acls

KnownOf = Callable[[str], KnownRights]


@dataclass(frozen=True, slots=True)
class AclPlan:
    """By remote topic. `unguarded`: a cluster that has no authorizer; then there is nothing to do."""

    topics: Mapping[str, TopicAcls] = field(default_factory=dict)
    unguarded: str = ""


class AclSync:
    """One flow's. Blocking."""

    def __init__(self, flow: FlowConfig, source: Cluster, target: Cluster, own: frozenset[str]) -> None:
        """`own`: the mirror's principals on the source."""
        self._own = own
        self._prefixed = flow.sync.acls_prefixed
        self._source = source
        self._target = target

    def plan(self, remotes: Mapping[str, str], known_of: KnownOf) -> AclPlan:
        """`remotes`: source topic -> remote topic. The target is asked only if the source has an authorizer."""
        here = describe_topic_acls(self._source)
        if here is None:
            return AclPlan(unguarded=self._source.address.alias)
        there = describe_topic_acls(self._target, needs="ALTER")
        if there is None:
            return AclPlan(unguarded=self._target.address.alias)
        known = {remote: known_of(remote) for remote in remotes.values()}
        return AclPlan(plan_acls(here, there, remotes, known, prefixed=self._prefixed, own=self._own))

    def apply(self, topics: Mapping[str, TopicAcls]) -> int:
        """How many were added. What is denied comes first, and where that is refused nothing is allowed."""
        missing = [grant.on(remote) for remote, acls in topics.items() for grant in acls.missing]
        for permission in (DENY, ALLOW):
            create_topic_acls(self._target, [acl for acl in missing if acl.permission == permission])
        return len(missing)
