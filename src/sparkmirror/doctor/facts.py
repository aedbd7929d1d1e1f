"""What was found out about clusters and flows, for the judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sparkmirror.config.model import FlowConfig
from sparkmirror.errors import BrokerError
from sparkmirror.net.clock import ClockReading
from sparkmirror.net.cluster import Metadata
from sparkmirror.net.configs import Described
from sparkmirror.net.reach import Reached
from sparkmirror.net.rights import Rights
from sparkmirror.net.topics import TopicShape

Configs = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFacts:
    """One cluster. A problem says why what stands beside it is not known."""

    alias: str
    bootstrap: tuple[Reached, ...]
    metadata: Metadata | None = None
    metadata_problem: str = ""
    # How long our own certificate is still valid, where we show one.
    shown_s: float | None = None
    # By the names that the brokers give themselves.
    brokers: Mapping[int, Reached] = field(default_factory=dict)
    configs: Mapping[int, Configs] = field(default_factory=dict)
    configs_problem: str = ""
    clock: ClockReading | None = None
    clock_problem: str = ""

    def values(self, name: str) -> dict[int, int]:
        """A number of each broker's configuration, where it is known."""
        return {node: int(configs[name]) for node, configs in self.configs.items() if configs.get(name, "").isdecimal()}


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicNeed:
    """A topic that a flow reads or writes, and what for.

    `must`: operations without which it can't; `should`: others, with what is lost. `shape`: how it is made where it is
    missing, by the setting `factor_key`; None for a topic that must be there.
    """

    cluster: str
    topic: str
    must: tuple[str, ...] = ()
    should: Mapping[str, str] = field(default_factory=dict)
    shape: TopicShape | None = None
    factor_key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowFacts:
    """One flow, both of whose clusters answer; of a pair that only emits heartbeats the target alone is asked."""

    flow: FlowConfig
    needs: tuple[TopicNeed, ...]
    # Source topic -> remote topic.
    remotes: Mapping[str, str] = field(default_factory=dict)
    # What of `topics` leads to nothing.
    unmatched: tuple[str, ...] = ()
    # What is to be said of a MirrorMaker 2 that runs on the flow.
    rival: str = ""
    # Why it can't start.
    unable: str = ""
    # Partitions that stand still, by the reason.
    stuck: Mapping[str, list[str]] = field(default_factory=dict)
    # Topics and partitions that wait, or go on in spite of something, by what it is.
    told: Mapping[str, list[str]] = field(default_factory=dict)
    # What follows is by cluster; a cluster that did not answer stands in `problems`.
    rights: Mapping[str, Rights] = field(default_factory=dict)
    configs: Mapping[str, Described] = field(default_factory=dict)
    # Topics that are missing: why they could not be made, or only bare, and whether they could be written.
    refused: Mapping[str, Mapping[str, BrokerError]] = field(default_factory=dict)
    unfit: Mapping[str, Mapping[str, BrokerError]] = field(default_factory=dict)
    appendable: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    may_write_markers: bool | None = None
    # By cluster: groups that are followed, with the operation that is refused on them.
    refused_groups: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # By cluster: who the mirror's user is there.
    principals: Mapping[str, str] = field(default_factory=dict)
    syncs_acls: bool = False
    problems: Mapping[str, str] = field(default_factory=dict)
    # `source consumer` and `target producer`, where they do not come as the cluster's admin does.
    clients: Mapping[str, Reached] = field(default_factory=dict)

    def is_there(self, need: TopicNeed) -> bool:
        rights = self.rights.get(need.cluster)
        return rights is not None and need.topic in rights.of_topics and not rights.of_topics[need.topic].error
