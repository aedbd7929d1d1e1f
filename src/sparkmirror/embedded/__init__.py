"""Real Apache Kafka brokers, and the real MirrorMaker 2, for the demo, the tests and the benchmarks.

In: how many brokers, of which version, and which settings. Out: processes on loopback ports that answer requests.
Never: used by a mirror in production, left running or on disk once the process that asked for them is gone.
"""

from sparkmirror.embedded.broker import Broker
from sparkmirror.embedded.cluster import KafkaCluster, start_clusters
from sparkmirror.embedded.distribution import Distribution, prepare
from sparkmirror.embedded.mirrormaker import MirrorMaker2
from sparkmirror.embedded.settings import QUICK_FAILOVER
from sparkmirror.embedded.versions import KAFKA_VERSION, VERSIONS

__all__ = [
    "KAFKA_VERSION",
    "QUICK_FAILOVER",
    "VERSIONS",
    "Broker",
    "Distribution",
    "KafkaCluster",
    "MirrorMaker2",
    "prepare",
    "start_clusters",
]
