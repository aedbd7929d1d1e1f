"""What MirrorMaker 2's own classes make of properties files: one JVM for all of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.support.java_programs import start_program

MAIN = "org.apache.kafka.connect.mirror.ExpandConfig"
DEADLINE_S = 60.0


class JavaConfig:
    """`tables` has, for each of Kafka's tables of keys, their defaults as text."""

    def __init__(self) -> None:
        self._program = start_program(MAIN)
        self.tables: dict[str, dict[str, str | None]] = json.loads(self._program.await_line(DEADLINE_S))

    def expand(self, file: Path) -> dict[str, Any]:
        """`flows` by name, or `error`."""
        answer: dict[str, Any] = json.loads(self._program.ask(str(file), DEADLINE_S))
        return answer

    def close(self) -> None:
        self._program.close()

    @property
    def connector_keys(self) -> set[str]:
        return _union(self.tables[name] for name in ("source", "checkpoint", "heartbeat"))


def _union(tables: Iterable[Iterable[str]]) -> set[str]:
    return {name for table in tables for name in table}
