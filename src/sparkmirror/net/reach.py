"""Whether an address answers as a broker does, and which requests it knows."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field

from sparkmirror.errors import AuthenticationError, ConfigError, SparkmirrorError
from sparkmirror.net.channel import Channel
from sparkmirror.net.client import Client


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """`problem`: why not, empty if it answers. `versions`: api key -> the oldest and the newest version it knows."""

    host: str
    port: int
    problem: str = ""
    is_name_unknown: bool = False
    is_refused: bool = False  # it answers, but the two sides do not trust each other
    trusted_s: float | None = None  # how long its certificate is still valid, where it has one
    versions: Mapping[int, tuple[int, int]] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def try_address(host: str, port: int, client: Client, timeout_s: float) -> Reached:
    try:
        channel = Channel(host, port, client, timeout_s)
    except SparkmirrorError as error:
        unknown = isinstance(error.__cause__, socket.gaierror)
        refused = isinstance(error, AuthenticationError | ConfigError)
        return Reached(host=host, port=port, problem=str(error), is_name_unknown=unknown, is_refused=refused)
    trusted_s = channel.trusted_s
    channel.close()
    return Reached(host=host, port=port, versions=dict(channel.versions), trusted_s=trusted_s)
