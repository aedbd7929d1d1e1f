"""A dialect of tutorials that has no `clusters` line, put into MirrorMaker 2's own words.

    bootstrap.servers                         source.bootstrap.servers
    target.cluster.bootstrap.servers          target.bootstrap.servers
    source.replication.topic.NAME = RENAMED   source->target.topics = NAME, and so on
                                              source->target.enabled = true

The rename on the right of `replication.topic` stays in the entries: whoever reads them reports it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sparkmirror.config.properties import Entry

_SOURCE_SERVERS = "bootstrap.servers"
_TARGET_SERVERS = "target.cluster.bootstrap.servers"
_TOPIC = re.compile(r"(?P<alias>[\w.-]+?)\.replication\.topic\.(?P<topic>.+)", re.ASCII)


def translate_dialect(entries: Mapping[str, Entry]) -> dict[str, Entry]:
    """The same entries where `clusters` is there; else the dialect's in MirrorMaker 2's words."""
    if "clusters" in entries or _SOURCE_SERVERS not in entries or _TARGET_SERVERS not in entries:
        return dict(entries)
    source_servers, target_servers = entries[_SOURCE_SERVERS], entries[_TARGET_SERVERS]
    topics = [(found, entry) for entry in entries.values() if (found := _TOPIC.fullmatch(entry.key))]
    # The alias before `.replication` is the user's choice; without one, MirrorMaker 2's own word.
    alias = topics[0][0]["alias"] if topics else "source"
    flow = f"{alias}->target"
    spoken = [
        Entry("clusters", f"{alias},target", source_servers.line),
        Entry(f"{alias}.bootstrap.servers", source_servers.value, source_servers.line),
        Entry("target.bootstrap.servers", target_servers.value, target_servers.line),
        Entry(f"{flow}.enabled", "true", target_servers.line),
    ]
    if topics:
        names = ",".join(_as_regex(found["topic"]) for found, _ in topics)
        spoken.append(Entry(f"{flow}.topics", names, topics[0][1].line))
    rest = {key: entry for key, entry in entries.items() if key not in (_SOURCE_SERVERS, _TARGET_SERVERS)}
    return {entry.key: entry for entry in spoken} | rest


def _as_regex(name: str) -> str:
    """A topic name, in which only `*` is special."""
    return name.replace(".", r"\.").replace("*", ".*")
