"""The user's file: whatever stands in it, flows or a ConfigError."""

from __future__ import annotations

from pathlib import Path

from sparkmirror.config.mirror import parse_mirror_config
from sparkmirror.config.properties import decode_properties, parse_properties
from sparkmirror.errors import ConfigError
from tests.fuzz.target import Target

SEEDS = Path(__file__).parents[1] / "fixtures" / "seeds"
_TEXTS = [path.read_bytes() for path in sorted(SEEDS.glob("*.properties"))]


def _parse_properties(data: bytes) -> None:
    parse_properties(decode_properties(data), "mm2.properties")


def _parse_config(data: bytes) -> None:
    parse_mirror_config(decode_properties(data), "mm2.properties")


TARGETS = [
    Target("properties", _parse_properties, _TEXTS, (ConfigError,)),
    Target("config", _parse_config, _TEXTS, (ConfigError,)),
]
