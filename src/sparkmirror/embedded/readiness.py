"""When MirrorMaker 2 mirrors, as its log tells. Without its REST server (the default) nothing else does.

Each herder (one a direction, enabled or not) creates three connectors. The source connector of an enabled
flow says how many partitions it found; if there are any, a source task follows. Lines do not name their flow,
so they are counted.
"""

from __future__ import annotations

import re

CONNECTORS_PER_HERDER = 3  # source, checkpoint, heartbeat

HERDERS = re.compile(r"Kafka MirrorMaker starting with (\d+) herders")
CREATED = re.compile(r"Finished creating connector Mirror")
SOURCE_STARTED = re.compile(r"Started MirrorSourceConnector with (\d+) topic-partitions")
SOURCE_TASK = re.compile(r"MirrorSourceConnector-\d+\} Source task finished initialization and start")
ENABLED_FLOW = re.compile(r"^\s*\S+->\S+\.enabled\s*[=:]\s*true\s*$", re.MULTILINE)


class Readiness:
    """Fed with MM2's log lines, says whether all connectors of all enabled flows run."""

    def __init__(self, properties: str) -> None:
        self._flows = len(ENABLED_FLOW.findall(properties))
        self._herders: int | None = None
        self._created = 0
        self._sources = 0
        self._sources_with_work = 0
        self._tasks = 0

    def see(self, line: str) -> None:
        if match := HERDERS.search(line):
            self._herders = int(match.group(1))
        elif CREATED.search(line):
            self._created += 1
        elif match := SOURCE_STARTED.search(line):
            self._sources += 1
            self._sources_with_work += match.group(1) != "0"
        elif SOURCE_TASK.search(line):
            self._tasks += 1

    @property
    def ready(self) -> bool:
        return (
            self._herders is not None
            and self._created >= self._herders * CONNECTORS_PER_HERDER
            and self._sources >= self._flows
            and self._tasks >= self._sources_with_work
        )
