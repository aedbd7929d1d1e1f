"""Has librdkafka write one compressed batch a codec to a real broker and keeps what the broker stored.

    python -m tests.golden.write_librdkafka tests/golden/batches

librdkafka compresses otherwise than Java: snappy without the xerial framing, for one.
"""

from __future__ import annotations

import sys
from pathlib import Path

from confluent_kafka import Producer

from sparkmirror.batch.header import split_batches
from sparkmirror.embedded import KafkaCluster
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.log import read_log
from sparkmirror.net.topics import TopicShape, create_topic
from tests.support.golden import many_records

CODECS = ("gzip", "snappy", "lz4", "zstd")


def main(folder: Path) -> None:
    with KafkaCluster(name="golden") as kafka, Cluster(_address(kafka)) as cluster:
        for codec in CODECS:
            create_topic(cluster, TopicShape(codec, 1, 1))
            _produce(kafka.bootstrap_servers, codec)
            topic = cluster.fetch_metadata([codec]).topics[codec]
            batches = [bytes(batch) for _, batch in read_log(cluster, topic, 0, 0, len(many_records()))]
            if len(batches) != 1:
                raise SystemExit(f"{codec}: librdkafka made {len(batches)} batches; run it again")
            header = next(split_batches(memoryview(batches[0])))[0]
            print(codec, header)
            (folder / f"librdkafka-{codec}-many.bin").write_bytes(batches[0])


def _address(kafka: KafkaCluster) -> ClusterAddress:
    return ClusterAddress(alias="golden", bootstrap=(kafka.bootstrap_servers,))


def _produce(bootstrap: str, codec: str) -> None:
    producer = Producer(
        {"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 1000, "batch.size": 8 << 20}
    )
    for record in many_records():
        producer.produce(codec, value=record.value, key=record.key, partition=0, timestamp=record.timestamp)
    producer.flush(30)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
