"""Whether an address answers as a broker does, and which requests it knows."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field

from sparkmirror.errors import SparkmirrorError
from sparkmirror.net.channel import Channel
from sparkmirror.net.client import Client


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """`problem`: why not, empty if it answers. `versions`: api key -> the oldest and the newest version it knows."""

    host: str
    port: int
    problem: str = ""
    is_name_unknown: bool = False
    versions: Mapping[int, tuple[int, int]] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def try_address(host: str, port: int, client: Client, timeout_s: float) -> Reached:
    try:
        channel = Channel(host, port, client, timeout_s)
    except SparkmirrorError as error:
        unknown = isinstance(error.__cause__, socket.gaierror)
        return Reached(host=host, port=port, problem=str(error), is_name_unknown=unknown)
    channel.close()
    return Reached(host=host, port=port, versions=dict(channel.versions))
