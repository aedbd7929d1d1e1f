"""A file with one flow whose source alias no other test uses: its internal topics are its own."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from pathlib import Path

from sparkmirror.config.mirror import load_mirror_config
from sparkmirror.config.model import FlowConfig


def write_flow(folder: Path, source: str, target: str, topics: str, extra: Mapping[str, str] | None = None) -> Path:
    """The flow into B is the file's only one. `FLOW.` and `SOURCE.` before a key of `extra` stand for its names."""
    alias = f"S{uuid.uuid4().hex[:6]}"
    lines = {
        "clusters": f"{alias}, B",
        f"{alias}.bootstrap.servers": source,
        "B.bootstrap.servers": target,
        f"{alias}->B.enabled": "true",
        f"{alias}->B.topics": topics,
        "replication.factor": "1",
        "offset.storage.replication.factor": "1",
        "lease.seconds": "5",
    }
    for key, value in (extra or {}).items():
        lines[key.replace("FLOW.", f"{alias}->B.").replace("SOURCE.", f"{alias}.")] = value
    file = folder / "mm2.properties"
    file.write_text("".join(f"{key} = {value}\n" for key, value in lines.items()))
    return file


def only_flow(file: Path) -> FlowConfig:
    (flow,) = load_mirror_config(file).flows
    return flow
