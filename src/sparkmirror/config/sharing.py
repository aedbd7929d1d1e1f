"""Flows into one cluster that may write into the same topic there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sparkmirror.config.loops import may_share_topics
from sparkmirror.config.model import FlowConfig


def mark_sharing(flows: Sequence[FlowConfig]) -> tuple[FlowConfig, ...]:
    return tuple(replace(flow, shares_target=True) if _shares(flow, flows) else flow for flow in flows)


def _shares(flow: FlowConfig, flows: Sequence[FlowConfig]) -> bool:
    return any(_may_meet(flow, other) for other in flows if other is not flow and other.target is flow.target)


def _may_meet(one: FlowConfig, other: FlowConfig) -> bool:
    """Whether a topic of each may have the same name on the target. Renamed topics are not looked into."""
    if not all(flow.naming.keeps_names or flow.naming.topics_map for flow in (one, other)):
        return False
    return bool(one.naming.topics_map or other.naming.topics_map) or may_share_topics((one, other))
