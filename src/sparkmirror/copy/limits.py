"""Limits of a target topic that stand in the way of a source's record, and how they are raised."""

from __future__ import annotations

from dataclasses import dataclass

from sparkmirror.errors import BrokerError
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.configs import set_topic_configs
from sparkmirror.protocol import codes

NO_LIMIT = str(2**63 - 1)


@dataclass(frozen=True, slots=True)
class LimitRaise:
    """Configurations to set; `older`: what brokers before 3.6 call them."""

    name: str
    values: tuple[tuple[str, str], ...]
    older: tuple[tuple[str, str], ...] = ()

    def apply(self, cluster: Cluster, topic: str) -> None:
        try:
            set_topic_configs(cluster, topic, dict(self.values))
        except BrokerError as error:
            if error.code != codes.INVALID_CONFIG or not self.older:
                raise
            set_topic_configs(cluster, topic, dict(self.older))


TIMESTAMPS = LimitRaise(
    "message.timestamp limits",
    (("message.timestamp.before.max.ms", NO_LIMIT), ("message.timestamp.after.max.ms", NO_LIMIT)),
    (("message.timestamp.difference.max.ms", NO_LIMIT),),
)


def message_bytes(size: int) -> LimitRaise:
    return LimitRaise("max.message.bytes", (("max.message.bytes", str(size)),))
