"""Two kinds of file without a `clusters` line, put into MirrorMaker 2's own words.

Tutorials print one:

    bootstrap.servers                         source.bootstrap.servers
    target.cluster.bootstrap.servers          target.bootstrap.servers
    source.replication.topic.NAME = RENAMED   source->target.topics = NAME, and so on
                                              source->target.topics.map = NAME:RENAMED, and so on
    source.replication.group.id = G           source->target.groups = G
                                              source->target.sync.group.offsets.enabled = true
                                              source->target.enabled = true

A connector's own file, as Connect takes it, is the other: `connector_file.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sparkmirror.config.connector_file import is_connector_file, translate_connector_file
from sparkmirror.config.findings import Findings
from sparkmirror.config.properties import Entry

_SOURCE_SERVERS = "bootstrap.servers"
_TARGET_SERVERS = "target.cluster.bootstrap.servers"
_TOPIC = re.compile(r"(?P<alias>[\w.-]+?)\.replication\.topic\.(?P<topic>.+)", re.ASCII)
_GROUP = re.compile(r"(?P<alias>[\w.-]+?)\.replication\.group\.id", re.ASCII)


def translate_dialect(entries: Mapping[str, Entry], findings: Findings) -> dict[str, Entry]:
    """The same entries where `clusters` is there; else a dialect's in MirrorMaker 2's words."""
    if "clusters" in entries:
        return dict(entries)
    if is_connector_file(entries):
        return translate_connector_file(entries, findings)
    if _SOURCE_SERVERS not in entries or _TARGET_SERVERS not in entries:
        return dict(entries)
    return _translate_tutorial(entries)


def _translate_tutorial(entries: Mapping[str, Entry]) -> dict[str, Entry]:
    source, target = entries[_SOURCE_SERVERS], entries[_TARGET_SERVERS]
    topics = [(found["topic"], entry) for entry in entries.values() if (found := _TOPIC.fullmatch(entry.key))]
    groups = [entry for entry in entries.values() if _GROUP.fullmatch(entry.key)]
    # The alias before `.replication` is the user's choice; without one, MirrorMaker 2's own word.
    owners = (_TOPIC.fullmatch(entry.key) or _GROUP.fullmatch(entry.key) for entry in entries.values())
    alias = next((found["alias"] for found in owners if found), "source")
    flow = f"{alias}->target"
    spoken = [
        Entry("clusters", f"{alias},target", source.line, (source,)),
        Entry(f"{alias}.bootstrap.servers", source.value, source.line, (source,)),
        Entry("target.bootstrap.servers", target.value, target.line, (target,)),
        Entry(f"{flow}.enabled", "true", target.line, (target,)),
        *_translate_topics(flow, topics),
        *_translate_groups(flow, groups),
    ]
    heard = {source, target, *groups, *(entry for _, entry in topics)}
    rest = {key: entry for key, entry in entries.items() if entry not in heard}
    return {entry.key: entry for entry in spoken} | rest


def _translate_topics(flow: str, topics: list[tuple[str, Entry]]) -> list[Entry]:
    if not topics:
        return []
    line, origins = topics[0][1].line, tuple(entry for _, entry in topics)
    patterns = [(as_regex(topic), entry.value.strip()) for topic, entry in topics]
    renames = ",".join(f"{pattern}:{name}" for pattern, name in patterns)
    return [
        Entry(f"{flow}.topics", ",".join(pattern for pattern, _ in patterns), line, origins),
        Entry(f"{flow}.topics.map", renames, line, origins),
    ]


def _translate_groups(flow: str, groups: list[Entry]) -> list[Entry]:
    if not groups:
        return []
    line, origins = groups[0].line, tuple(groups)
    names = ",".join(as_regex(entry.value.strip()) for entry in groups)
    return [
        Entry(f"{flow}.groups", names, line, origins),
        Entry(f"{flow}.sync.group.offsets.enabled", "true", line, origins),
    ]


def as_regex(name: str) -> str:
    """A name in which only `*` is special."""
    return name.replace(".", r"\.").replace("*", ".*")
