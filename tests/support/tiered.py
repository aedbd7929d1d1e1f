"""Brokers with tiered storage (KIP-405): their remote storage is a folder, by the class that Kafka's own tests use."""

from __future__ import annotations

import os
from pathlib import Path

from sparkmirror.embedded import KafkaCluster
from sparkmirror.embedded.distribution import cache_root
from sparkmirror.embedded.guard import Guard
from sparkmirror.embedded.maven import fetch_jars
from sparkmirror.embedded.versions import KAFKA_VERSION

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>sparkmirror</groupId>
  <artifactId>tiered-storage-of-tests</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka-storage</artifactId>
      <version>${kafka.version}</version>
      <classifier>test</classifier>
      <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>
    </dependency>
  </dependencies>
</project>
"""


def tiered_cluster(name: str, folder: Path) -> KafkaCluster:
    """A broker that looks every half second what can go to its remote storage, and then from its disk."""
    storage = "org.apache.kafka.server.log.remote.storage.LocalTieredStorage"
    settings = {
        "remote.log.storage.system.enable": "true",
        "remote.log.storage.manager.class.name": storage,
        "remote.log.storage.manager.class.path": str(_fetch_storage_jar()),
        "remote.log.storage.manager.impl.prefix": "rsm.config.",
        "rsm.config.dir": str(folder),
        "remote.log.metadata.manager.listener.name": "PLAINTEXT",
        "remote.log.metadata.manager.impl.prefix": "rlmm.config.",
        "rlmm.config.remote.log.metadata.topic.replication.factor": "1",
        "rlmm.config.remote.log.metadata.topic.num.partitions": "1",
        "remote.log.manager.task.interval.ms": "500",
        "log.retention.check.interval.ms": "500",
        "log.initial.task.delay.ms": "500",
    }
    return KafkaCluster(name=name, overrides=settings, heap_mb=256)


def local_segments(cluster: KafkaCluster, topic: str, partition: int = 0) -> list[int]:
    """First offsets of the segments that the broker has on its own disk."""
    folder = cluster.brokers[0].data_path / f"{topic}-{partition}"
    return sorted(int(segment.stem) for segment in folder.glob("*.log"))


def _fetch_storage_jar() -> Path:
    home = cache_root() / f"tiered-{KAFKA_VERSION}"
    jar = home / f"kafka-storage-{KAFKA_VERSION}-test.jar"
    if not jar.exists():
        home.parent.mkdir(parents=True, exist_ok=True)
        work = home.with_name(f"{home.name}.{os.getpid()}.partial")
        guard = Guard(work, temporary=True)
        try:
            pom = work / "tiered.xml"
            pom.write_text(POM)
            fetch_jars(pom, KAFKA_VERSION, work / "jars", guard, work, lambda _: None)
            home.mkdir(exist_ok=True)
            (work / "jars" / jar.name).rename(jar)
        finally:
            guard.close()
    return jar
