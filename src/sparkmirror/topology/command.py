"""Commands of Kafka's own tools, as an operator can run them: whole, with the brokers that they are for. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

SERVERS = "--bootstrap-server"


def set_configs(servers: Sequence[str], topic: str, configs: Mapping[str, str]) -> str:
    """Sets configurations of a topic."""
    values = ",".join(f"{name}={value}" for name, value in configs.items())
    where = ("--entity-type", "topics", "--entity-name", topic)
    return shlex.join(("kafka-configs.sh", SERVERS, ",".join(servers), "--alter", *where, "--add-config", values))


def abort_transaction(servers: Sequence[str], topic: str, partition: int, first: int) -> str:
    """Ends the transaction that is open from an offset on."""
    where = ("--topic", topic, "--partition", str(partition), "--start-offset", str(first))
    return shlex.join(("kafka-transactions.sh", SERVERS, ",".join(servers), "abort", *where))
