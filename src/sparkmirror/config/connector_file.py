"""A connector's own file, as Connect takes it, put into the words of a MirrorMaker 2 file.

    source.cluster.alias = A                A line `clusters = A, B`
    target.cluster.alias = B                (`target` where it is missing, as in MirrorMaker 2)
    source.cluster.bootstrap.servers        A.bootstrap.servers
    target.cluster.bootstrap.servers        B.bootstrap.servers
    anything else                           A->B.anything: it is the flow's already
                                            A->B.enabled = true, a connector's default

MirrorSourceConnector alone emits neither heartbeats nor checkpoints, MirrorHeartbeatConnector alone mirrors nothing.
Without `connector.class` the file stands for all three connectors. Nothing goes the other way.
"""

from __future__ import annotations

from collections.abc import Mapping

from sparkmirror.config.findings import Findings
from sparkmirror.config.keys import PLACES, Reader, Scope
from sparkmirror.config.properties import Entry

_SOURCE, _TARGET = "source.cluster.alias", "target.cluster.alias"
_SERVERS = ".cluster.bootstrap.servers"
_ONLY_IN_THE_FILE = (Reader.FILE, Reader.WORKER)
_OFF = "false"
# What the other connectors would do and this one does not: unless the file asks for it, or in any case.
_UNASKED = {"MirrorSourceConnector": {"emit.heartbeats.enabled": _OFF, "emit.checkpoints.enabled": _OFF}}
_NEVER = {
    "MirrorHeartbeatConnector": {
        "topics": "",
        "topic.filter.class": "DefaultTopicFilter",
        "heartbeats.replication.enabled": _OFF,
        "emit.checkpoints.enabled": _OFF,
        "emit.offset-syncs.enabled": _OFF,
        "sync.group.offsets.enabled": _OFF,
    }
}


def is_connector_file(entries: Mapping[str, Entry]) -> bool:
    return _SOURCE in entries or "source" + _SERVERS in entries


def translate_connector_file(entries: Mapping[str, Entry], findings: Findings) -> dict[str, Entry]:
    source = entries.get(_SOURCE) or Entry(_SOURCE, "source", entries["source" + _SERVERS].line)
    target = entries.get(_TARGET) or Entry(_TARGET, "target", source.line)
    a, b = source.value.strip(), target.value.strip()
    translated = {
        "clusters": Entry("clusters", f"{a},{b}", source.line, (source,)),
        f"{a}->{b}.enabled": Entry(f"{a}->{b}.enabled", "true", source.line, (source,)),
        f"{b}->{a}.emit.heartbeats.enabled": Entry(f"{b}->{a}.emit.heartbeats.enabled", _OFF, source.line, (source,)),
    }
    unasked, never = _switches(entries, findings)
    for entry in (*unasked, *entries.values(), *never):
        key = _place(entry.key, a, b)
        if key is not None:
            translated[key] = entry if key == entry.key else Entry(key, entry.value, entry.line, (entry,))
    return translated


def _place(key: str, source: str, target: str) -> str | None:
    if key in (_SOURCE, _TARGET):
        return None
    if key.endswith(_SERVERS):
        return f"{source if key.startswith('source') else target}.bootstrap.servers"
    known = PLACES.get((Scope.GLOBAL, key))
    is_the_files = known is not None and all(reader in _ONLY_IN_THE_FILE for reader in known.readers)
    if is_the_files or key.startswith(("spark.", "config.providers")):
        return key
    return f"{source}->{target}.{key}"


def _switches(entries: Mapping[str, Entry], findings: Findings) -> tuple[list[Entry], list[Entry]]:
    """What this connector does not do unless it is asked to, and what it never does."""
    chosen = entries.get("connector.class")
    simple = chosen.value.strip().rpartition(".")[2] if chosen else ""
    if chosen is None or not simple:
        return [], []
    if simple not in _UNASKED.keys() | _NEVER.keys():
        expected = f"expected {' or '.join((*_UNASKED, *_NEVER))}, or no such line for all three connectors"
        why = "checkpoints are made from what a flow copies" if "Checkpoint" in simple else "no such connector mirrors"
        findings.error(chosen.line, f"connector.class: {simple} can't run alone: {why}; {expected}")

    def spoken(values: Mapping[str, str]) -> list[Entry]:
        return [Entry(name, value, chosen.line, (chosen,)) for name, value in values.items()]

    return spoken(_UNASKED.get(simple, {})), spoken(_NEVER.get(simple, {}))
