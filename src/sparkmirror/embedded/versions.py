"""The Kafka versions that can be embedded, and what sets them apart for one who starts them."""

from __future__ import annotations

from dataclasses import dataclass

from sparkmirror.errors import SetupError

KAFKA_VERSION = "4.3.1"


@dataclass(frozen=True)
class KafkaVersion:
    """`zookeeper`: the cluster's state is kept there and not by the brokers themselves (KRaft)."""

    name: str
    pom: str = "broker-pom.xml"
    zookeeper: bool = False
    share_groups: bool = False


# KRaft before 3.3 was a preview. MirrorMaker 2 is only needed in the newest version, and Maven has none of 2.4.
VERSIONS = {
    version.name: version
    for version in (
        KafkaVersion(KAFKA_VERSION, pom="pom.xml", share_groups=True),
        KafkaVersion("3.9.2"),
        KafkaVersion("3.2.0", zookeeper=True),
        KafkaVersion("2.4.1", zookeeper=True),
    )
}


def find_version(name: str) -> KafkaVersion:
    if name not in VERSIONS:
        raise SetupError(f"Kafka {name} can't be embedded: choose one of {', '.join(VERSIONS)}.")
    return VERSIONS[name]
