"""The same questions for our client and for Kafka's own, answered in one form."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sparkmirror.client import GroupOffsets, MirrorClient, translate_offsets
from tests.support.java_programs import start_program

DEADLINE_S = 60.0

Rows = set[tuple[str, int, int, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Offsets are asked for only where there is a `source`: without a checkpoints topic Java's takes a minute."""

    properties: Mapping[str, str]
    aliases: Sequence[str]
    source: str | None = None
    group: str = ""
    pattern: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    hops: dict[str, int]
    heartbeat_topics: set[str]
    checkpoint_topics: set[str]
    upstream_clusters: set[str]
    remote_topics: set[str]
    remote_topics_from: dict[str, set[str]]
    offsets: Rows = field(default_factory=set)
    matching: dict[str, Rows] = field(default_factory=dict)

    def about(self, token: str) -> Answers:
        """Only what has the token in its name: others use the cluster, too."""

        def of(names: Iterable[str]) -> set[str]:
            return {name for name in names if token in name}

        return Answers(
            hops=self.hops,
            heartbeat_topics=of(self.heartbeat_topics),
            checkpoint_topics=of(self.checkpoint_topics),
            upstream_clusters=of(self.upstream_clusters),
            remote_topics=of(self.remote_topics),
            remote_topics_from={alias: of(names) for alias, names in self.remote_topics_from.items()},
            offsets=self.offsets,
            matching=self.matching,
        )


class JavaMirrorClient:
    """Kafka's MirrorClient and RemoteClusterUtils, in a JVM that stays."""

    def __init__(self) -> None:
        self._program = start_program("AskMirror")

    def close(self) -> None:
        self._program.close()

    def ask(self, question: Question) -> Answers:
        asked: dict[str, Any] = {"properties": dict(question.properties), "aliases": list(question.aliases)}
        if question.source is not None:
            asked |= {"source": question.source, "group": question.group, "pattern": question.pattern}
        said = json.loads(self._program.ask(json.dumps(asked), DEADLINE_S))
        assert "error" not in said, said["error"]
        return Answers(
            hops=said["hops"],
            heartbeat_topics=set(said["heartbeat_topics"]),
            checkpoint_topics=set(said["checkpoint_topics"]),
            upstream_clusters=set(said["upstream_clusters"]),
            remote_topics=set(said["remote_topics"]),
            remote_topics_from={alias: set(names) for alias, names in said["remote_topics_from"].items()},
            offsets={tuple(row) for row in said.get("offsets", ())},
            matching={group: {tuple(row) for row in rows} for group, rows in said.get("matching", {}).items()},
        )


def ask_ours(question: Question) -> Answers:
    offsets: Rows = set()
    matching: dict[str, Rows] = {}
    with MirrorClient(question.properties) as client:
        if question.source is not None:
            offsets = _rows(translate_offsets(question.properties, question.source, question.group))
            found = client.remote_consumer_offsets_matching(re.compile(question.pattern), question.source)
            matching = {group: _rows(of_group) for group, of_group in found.items()}
        return Answers(
            hops={alias: client.replication_hops(alias) for alias in question.aliases},
            heartbeat_topics=client.heartbeat_topics(),
            checkpoint_topics=client.checkpoint_topics(),
            upstream_clusters=client.upstream_clusters(),
            remote_topics=client.remote_topics(),
            remote_topics_from={alias: client.remote_topics(alias) for alias in question.aliases},
            offsets=offsets,
            matching=matching,
        )


def _rows(offsets: GroupOffsets) -> Rows:
    return {(*place, *position) for place, position in offsets.items()}
