"""What single keys can't show: flows that would feed themselves, and features that need one another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sparkmirror.config.findings import Findings
from sparkmirror.config.loops import can_be_permitted, find_loop
from sparkmirror.config.model import FlowConfig
from sparkmirror.config.properties import line_of
from sparkmirror.config.settings import Settings


def refuse_cycles(flows: Sequence[FlowConfig], settings: Settings, findings: Findings) -> None:
    """Topics that keep their names on a ring of flows would be copied round and round for ever."""
    circle = find_loop(flows)
    if circle is None:
        _refuse_rows_both_ways(flows, settings, findings)
        return
    first = circle[0]
    way = "->".join((first.source.alias, *(flow.target.alias for flow in circle)))
    kept = f"with {first.naming.policy_class.rpartition('.')[2]} topics keep their names"
    cause = kept if first.naming.keeps_names else "topics.map gives names that do not tell where a topic came from"
    permitted = "identity.bidirectional = true, which skips what came from the other side, or "
    cure = permitted if can_be_permitted(circle) else ""
    findings.error(
        line_of(settings.entries.get(f"{first.name}.enabled")),
        f"{first.name}.enabled: {cause}, and on the way {way} a record would come back for ever: "
        f"expected {cure}one flow less, or topics that have no name in common",
    )


def _refuse_rows_both_ways(flows: Sequence[FlowConfig], settings: Settings, findings: Findings) -> None:
    for flow in flows:
        if flow.path == "records" and flow.naming.is_mutual:
            entry = settings.entries.get(f"{flow.name}.pipeline.path") or settings.entries.get("pipeline.path")
            findings.error(
                line_of(entry),
                "pipeline.path: rows do not tell what came from the other side, as identity.bidirectional needs: "
                "expected batches",
            )


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
