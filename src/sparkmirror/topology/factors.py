"""How many replicas a topic gets, and whether the cluster has brokers enough for them. Pure.

Kafka refuses a factor that is larger than the number of brokers, one topic at a time and only when it is asked.
Looked at beforehand, nothing is made before the file is right.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Factor:
    """`warning`: why it is not what was asked for."""

    value: int
    warning: str = ""


def plan_factor(wanted: int | None, source_replicas: int, live: int, target: str) -> Factor:
    """None stands for the source topic's own, as far as there are brokers on `target`."""
    if wanted is not None:
        return Factor(wanted)
    if source_replicas <= live:
        return Factor(source_replicas)
    said = f"the source topic has {source_replicas} replicas, and cluster {target} has {_brokers(live)}: it gets {live}"
    return Factor(live, said)


def why_impossible(key: str, value: int, live: int, cluster: str) -> str:
    """Empty if the cluster has brokers enough."""
    if value <= live:
        return ""
    return f"{key} is {value}, but cluster {cluster} has {_brokers(live)}: set it to {live}, or start more brokers"


def _brokers(live: int) -> str:
    return f"{live} live broker{'s' * (live != 1)}"
