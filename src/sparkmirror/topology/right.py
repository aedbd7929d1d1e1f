"""A right that brokers ask for: an operation on a resource, in Kafka's words, and the command that grants it. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import NamedTuple

TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID = "topic", "group", "cluster", "transactional id"


class Right(NamedTuple):
    """`is_prefix`: on all whose names begin so."""

    operation: str
    resource: str
    name: str = ""
    is_prefix: bool = False

    def at(self, alias: str) -> str:
        """`READ on topic orders of cluster A`."""
        if self.resource == CLUSTER:
            return f"{self.operation} on cluster {alias}"
        name = f"s {self.name}*" if self.is_prefix else f" {self.name}"
        return f"{self.operation} on {self.resource}{name} of cluster {alias}"

    def grant(self, principal: str, servers: str) -> str:
        """The command line of Kafka's own tool."""
        return shlex.join(self._words(principal, servers))

    def _words(self, principal: str, servers: str) -> Iterator[str]:
        yield from ("kafka-acls.sh", "--bootstrap-server", servers, "--add", "--allow-principal", principal)
        yield from ("--operation", self.operation.title().replace("_", ""))
        yield f"--{self.resource.replace(' ', '-')}"
        if self.resource != CLUSTER:
            yield self.name
        if self.is_prefix:
            yield from ("--resource-pattern-type", "prefixed")
