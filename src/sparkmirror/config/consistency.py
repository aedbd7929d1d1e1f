"""What single keys can't show: flows that would feed themselves, and features that need one another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sparkmirror.config.findings import Findings
from sparkmirror.config.java_regex import compile_elements
from sparkmirror.config.keys import KNOWN_KEYS
from sparkmirror.config.keys.security import ROLES
from sparkmirror.config.logins import read_login
from sparkmirror.config.loops import can_be_permitted, find_loop
from sparkmirror.config.model import FlowConfig
from sparkmirror.config.properties import line_of
from sparkmirror.config.rename_loops import find_rename_loop
from sparkmirror.config.settings import Settings

PROTOCOL = "security.protocol"
_PLAIN_NAME = re.compile(r"[a-zA-Z0-9._-]+")


def refuse_cycles(flows: Sequence[FlowConfig], settings: Settings, findings: Findings) -> None:
    """Topics that keep their names on a ring of flows would be copied round and round for ever."""
    circle = find_loop(flows)
    if circle is None:
        _refuse_rows_both_ways(flows, settings, findings)
        _refuse_prefixes_apart(flows, settings, findings)
        _refuse_rename_loops(flows, settings, findings)
        _refuse_both_ways(flows, settings, findings)
        return
    first = circle[0]
    way = "->".join((first.source.alias, *(flow.target.alias for flow in circle)))
    kept = f"with {first.naming.policy_class.rpartition('.')[2]} topics keep their names"
    permitted = "identity.bidirectional = true, which skips what came from the other side, or "
    cure = permitted if can_be_permitted(circle) else ""
    findings.error(
        line_of(settings.entries.get(f"{first.name}.enabled")),
        f"{first.name}.enabled: {kept}, and on the way {way} a record would come back for ever: "
        f"expected {cure}one flow less, or topics that have no name in common",
    )


def _refuse_rename_loops(flows: Sequence[FlowConfig], settings: Settings, findings: Findings) -> None:
    loop = find_rename_loop(flows)
    if loop is None:
        return
    flow = next(flow for flow in loop.circle if flow.naming.topics_map)
    clusters = [loop.circle[0].source.alias, *(each.target.alias for each in loop.circle)]
    way = ", ".join(f"{name} on {alias}" for name, alias in zip(loop.names, clusters, strict=True))
    entry = settings.entries.get(f"{flow.name}.topics.map") or settings.entries.get("topics.map")
    findings.error(
        line_of(entry),
        f"topics.map: a topic would be {way}, and so on, so that a record would come back for ever: expected one of "
        f"{' and '.join(each.name for each in loop.circle)} to leave it out (topics.exclude), or another name",
    )


def _refuse_rows_both_ways(flows: Sequence[FlowConfig], settings: Settings, findings: Findings) -> None:
    for flow in flows:
        if flow.by_rows and flow.naming.is_mutual:
            entry = settings.entries.get(f"{flow.name}.pipeline.path") or settings.entries.get("pipeline.path")
            findings.error(
                line_of(entry),
                "pipeline.path: rows do not tell what came from the other side, as identity.bidirectional needs: "
                "expected batches",
            )


def _refuse_prefixes_apart(flows: Sequence[FlowConfig], settings: Settings, findings: Findings) -> None:
    """Each flow looks into the other's claims for what the other wrote."""
    prefixes = {flow.name: flow.naming.internal_prefix for flow in flows if flow.naming.is_mutual}
    for flow in flows:
        back = prefixes.get(f"{flow.target.alias}->{flow.source.alias}")
        if flow.name in prefixes and back not in (None, prefixes[flow.name]):
            key = "replication.internal.topic.prefix"
            entry = settings.entries.get(f"{flow.name}.{key}") or settings.entries.get(key)
            findings.error(line_of(entry), f"{key}: identity.bidirectional needs the same both ways, got also {back}")


def _refuse_both_ways(flows: Sequence[FlowConfig], settings: Settings, findings: Findings) -> None:
    """Each direction would take the other's older offset, or its copy's end, for the group's will."""
    syncs = {f.name for f in flows if f.groups.sync_offsets_interval_s is not None}
    for flow in flows:
        back = f"{flow.target.alias}->{flow.source.alias}"
        for key, is_on, what in (
            ("sync.group.offsets.rewind", flow.groups.sync_offsets_rewind, "offsets would go back and forth"),
            ("sync.group.deletes.enabled", flow.groups.sync_deletes, "a copy's end would be the end of the group"),
        ):
            if is_on and {flow.name, back} <= syncs:
                entry = settings.entries.get(f"{flow.name}.{key}") or settings.entries.get(key)
                findings.error(line_of(entry), f"{key}: {back} syncs groups, too, and {what}: expected false")


def refuse_wrong_logins(flows: Iterable[FlowConfig], settings: Settings, findings: Findings) -> None:
    """Each client that speaks SASL must have all that its mechanism takes."""
    for flow in flows:
        for role, reader in ROLES.items():
            given: Mapping[str, str] = getattr(flow.security, role)
            if not given.get(PROTOCOL, "").strip().upper().startswith("SASL") or _is_reported(given):
                continue
            try:
                read_login(given)
            except ValueError as error:
                side = flow.source if role.startswith("source") else flow.target
                key = str(error).partition(":")[0]
                places = [
                    settings.find(KNOWN_KEYS[k], flow.source.alias, flow.target.alias, reader)
                    for k in (key, PROTOCOL)
                    if k in KNOWN_KEYS
                ]
                entry = next((place for place in places if place is not None), None)
                findings.error(line_of(entry), f"cluster {side.alias}: {error}")


def _is_reported(given: Mapping[str, str]) -> bool:
    """A value that is wrong by itself was reported where it stands."""
    try:
        for name, value in given.items():
            if name in KNOWN_KEYS:
                KNOWN_KEYS[name].parse(value)
    except ValueError:
        return True
    return False


def warn_of_contradictions(flows: Iterable[FlowConfig], settings: Settings, findings: Findings) -> None:
    for flow in flows:
        for key, said in _contradictions(flow, settings):
            entry = settings.entries.get(f"{flow.name}.{key}") or settings.entries.get(key)
            findings.warn(line_of(entry), f"flow {flow.name}: {said}")


def _contradictions(flow: FlowConfig, settings: Settings) -> Iterator[tuple[str, str]]:
    if set(flow.source.bootstrap_servers) & set(flow.target.bootstrap_servers):
        yield "enabled", "source and target have a broker in common; expected two different clusters"
    if flow.groups.sync_offsets_rewind and flow.groups.checkpoints_interval_s is None:
        key = "sync.group.offsets.rewind"
        yield key, f"{key} changes nothing without checkpoints, which tell what was reset: set emit.checkpoints.enabled"
    out = compile_elements(flow.topics_exclude)
    for name in flow.topics:
        if _PLAIN_NAME.fullmatch(name) and out is not None and out.fullmatch(name):
            yield "topics", f"topics names {name}, which topics.exclude leaves out"
    key = "replication.policy.internal.topic.separator.enabled"
    separators = (f"{flow.name}.replication.policy.separator", "replication.policy.separator")
    if not flow.naming.internal_separator and not any(name in settings.entries for name in separators):
        yield key, f"{key} changes nothing without replication.policy.separator"
