"""What single keys can't show: flows that would feed themselves, and features that need one another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from sparkmirror.config.findings import Findings
from sparkmirror.config.model import FlowConfig
from sparkmirror.config.properties import line_of
from sparkmirror.config.settings import Settings

_PLAIN_NAME = re.compile(r"[a-zA-Z0-9_-]+(\\?\.[a-zA-Z0-9_-]+)*")


def refuse_cycles(flows: Sequence[FlowConfig], settings: Settings, findings: Findings) -> None:
    """Topics that keep their names on a ring of flows would be copied round and round for ever."""
    keeping = [flow for flow in flows if flow.naming.keeps_names and not flow.naming.identity_bidirectional]
    for flow in keeping:
        ring = _way_back(flow, keeping)
        if ring:
            way = "->".join((flow.source.alias, *(step.target.alias for step in ring)))
            entry = settings.entries.get(f"{flow.name}.enabled")
            findings.error(
                line_of(entry),
                f"{flow.name}.enabled: with {flow.naming.policy_class.rpartition('.')[2]} topics keep their names, and "
                f"on the way {way} a record would come back for ever: expected identity.bidirectional = true, which "
                "skips what came from the other side, or one flow less, or topics that have no name in common",
            )
            return


def _way_back(first: FlowConfig, flows: Sequence[FlowConfig]) -> tuple[FlowConfig, ...] | None:
    """The shortest ring that begins with the flow, through flows whose topics can be the same."""
    ways: list[tuple[FlowConfig, ...]] = [(first,)]
    seen = {first.target.alias}
    while ways:
        way = ways.pop(0)
        if way[-1].target.alias == first.source.alias:
            return way
        for step in flows:
            follows = step.source.alias == way[-1].target.alias and step.target.alias not in seen
            if follows and _may_share_topics(first, step):
                seen.add(step.target.alias)
                ways.append((*way, step))
    return None


def _may_share_topics(one: FlowConfig, other: FlowConfig) -> bool:
    """Only lists of plain names can be told apart for certain."""
    if not all(_PLAIN_NAME.fullmatch(topic) for topic in (*one.topics, *other.topics)):
        return bool(one.topics and other.topics)
    return bool({_plain(topic) for topic in one.topics} & {_plain(topic) for topic in other.topics})


def _plain(topic: str) -> str:
    return topic.replace("\\", "")


def warn_of_contradictions(flows: Iterable[FlowConfig], settings: Settings, findings: Findings) -> None:
    for flow in flows:
        for key, said in _contradictions(flow, settings):
            entry = settings.entries.get(f"{flow.name}.{key}") or settings.entries.get(key)
            findings.warn(line_of(entry), f"flow {flow.name}: {said}")


def _contradictions(flow: FlowConfig, settings: Settings) -> Iterator[tuple[str, str]]:
    if set(flow.source.bootstrap_servers) & set(flow.target.bootstrap_servers):
        yield "enabled", "source and target have a broker in common; expected two different clusters"
    if flow.groups.sync_offsets_interval_s is not None and flow.groups.checkpoints_interval_s is None:
        said = "group offsets are synced from checkpoints, and these are off; expected emit.checkpoints.enabled = true"
        yield "sync.group.offsets.enabled", said
    if flow.groups.checkpoints_interval_s is not None and not flow.offset_syncs.topic.is_wanted:
        said = "checkpoints are made from offset syncs, and these are off; expected emit.offset-syncs.enabled = true"
        yield "emit.offset-syncs.enabled", said
    key = "replication.policy.internal.topic.separator.enabled"
    separators = (f"{flow.name}.replication.policy.separator", "replication.policy.separator")
    if not flow.naming.internal_separator and not any(name in settings.entries for name in separators):
        yield key, f"{key} changes nothing without replication.policy.separator"
