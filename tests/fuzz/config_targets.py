"""The user's file: whatever stands in it, flows or a ConfigError."""

from __future__ import annotations

from pathlib import Path

from sparkmirror.config.mirror import parse_mirror_config
from sparkmirror.config.properties import decode_properties, parse_properties
from sparkmirror.config.providers import Surroundings
from sparkmirror.errors import ConfigError
from tests.fuzz.target import Target

SEEDS = Path(__file__).parents[1] / "fixtures" / "seeds"
_TEXTS = [path.read_bytes() for path in sorted(SEEDS.glob("*.properties"))]
# What the document wants in KAFKA_OPTS; nothing else can be read.
_SURROUNDINGS = Surroundings(
    read_text={"/jaas": (SEEDS / "kafka_client_jaas.conf").read_text()}.__getitem__,
    variables={"KAFKA_OPTS": "-Djava.security.auth.login.config=/jaas"},
)


def _parse_properties(data: bytes) -> None:
    parse_properties(decode_properties(data), "mm2.properties")


def _parse_config(data: bytes) -> None:
    parse_mirror_config(decode_properties(data), "mm2.properties", surroundings=_SURROUNDINGS)


TARGETS = [
    Target("properties", _parse_properties, _TEXTS, (ConfigError,)),
    Target("config", _parse_config, _TEXTS, (ConfigError,)),
]
