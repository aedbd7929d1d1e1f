"""On what and with what a result was made."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import psutil

from sparkmirror.cli.version import version_text
from sparkmirror.config.mirror import load_mirror_config
from sparkmirror.embedded import KAFKA_VERSION


def describe_machine() -> list[tuple[str, str]]:
    memory = psutil.virtual_memory()
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    return [
        ("CPU", f"{cpu_model()}, {psutil.cpu_count()} cores"),
        ("Memory", f"{memory.total / 2**30:.1f} GiB, {memory.available / 2**30:.1f} GiB free"),
        ("System", f"{platform.system()} {platform.release()} {platform.machine()}"),
        ("Load before the run", load),
    ]


def describe_versions() -> list[tuple[str, str]]:
    lines = [line.partition(" ") for line in version_text().splitlines()]
    return [
        *((name, text) for name, _, text in lines),
        ("Kafka and MirrorMaker 2", KAFKA_VERSION),
        ("confluent-kafka", version("confluent-kafka")),
    ]


def cpu_model(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Linux tells the model only there."""
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or "unknown"


def keys_not_in_force(properties: str, keys: Sequence[str]) -> list[str]:
    """Which of the switches `keys` sparkmirror accepts but does not act on, if they are added to its file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "mirror.properties")
        file.write_text(properties + "".join(f"{key} = true\n" for key in keys))
        idle = set(load_mirror_config(file).not_in_force)
    return [key for key in keys if key in idle]
