"""What the parts of a flow's upkeep work with."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.incarnation_guard import IncarnationGuard
from sparkmirror.control.mixed_topics import find_mixed
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.claims import Claims
from sparkmirror.topology.incarnation import TopicIds
from sparkmirror.topology.select import TopicPair, TopicSelector


class Say(Protocol):
    def __call__(self, about: str, text: str, level: int = ...) -> None:
        """Log it once, until there is something else to say about that."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowTools:
    """One flow's."""

    flow: FlowConfig
    source: Cluster
    target: Cluster
    claims: Claims
    selector: TopicSelector
    guard: IncarnationGuard
    say: Say

    def find_mixed(self, pairs: Collection[TopicPair], ids: Mapping[str, TopicIds]) -> dict[str, str]:
        """See `mixed_topics`; `ids`: as just asked for."""
        return find_mixed(pairs, ids, self.selector, self.claims.memory, self.guard.find_foreign(ids))
