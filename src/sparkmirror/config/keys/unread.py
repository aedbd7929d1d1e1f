"""Keys that nothing here reads.

What they would change is settled by design, or only Java could do it, or it belongs to what is not there yet.
"""

from __future__ import annotations

from collections.abc import Iterator

from sparkmirror.config import values as v
from sparkmirror.config.keys.key import Key, Reader, State

_CONNECTOR = (Reader.CONNECTOR,)
_CONNECTOR_ONLY = (Reader.CONNECTOR_ONLY,)
_WORKER = (Reader.WORKER,)
_WORKER_ONLY = (Reader.WORKER_ONLY,)
_SOURCE = (Reader.SOURCE_CLIENT,)
_PRODUCER = (Reader.DATA_PRODUCER,)
_ADMIN = (Reader.SOURCE_CLIENT, Reader.TARGET_CLIENT)

# (why, readers, keys)
_BETTER: tuple[tuple[str, tuple[Reader, ...], str], ...] = (
    (
        "every record is written exactly once, always",
        _CONNECTOR_ONLY,
        "exactly.once.support transaction.boundary transaction.boundary.interval.ms",
    ),
    ("every record is written exactly once, always", _WORKER_ONLY, "exactly.once.source.support"),
    (
        "appends are acknowledged by all replicas, carry a sequence and are retried while the lease lasts",
        _PRODUCER,
        "producer.acks producer.enable.idempotence producer.max.in.flight.requests.per.connection producer.retries "
        "producer.delivery.timeout.ms producer.max.block.ms producer.transactional.id producer.transaction.timeout.ms "
        "producer.transaction.two.phase.commit.enable",
    ),
    (
        "records keep their batch's codec, and batches that come together are merged; the target topic's own "
        "compression.type makes its brokers compress anew",
        _PRODUCER,
        "producer.batch.size producer.linger.ms producer.compression.type producer.compression.gzip.level "
        "producer.compression.lz4.level producer.compression.zstd.level",
    ),
    (
        "records keep their partition and their bytes",
        _PRODUCER,
        "producer.partitioner.class producer.partitioner.ignore.keys producer.key.serializer producer.value.serializer "
        "producer.partitioner.adaptive.partitioning.enable producer.partitioner.availability.timeout.ms",
    ),
    ("records keep their bytes", _SOURCE, "consumer.key.deserializer consumer.value.deserializer"),
    (
        "partitions are assigned by lease, without a consumer group; MirrorMaker 2 uses none either",
        _SOURCE,
        "consumer.group.id consumer.group.instance.id consumer.group.protocol consumer.group.remote.assignor "
        "consumer.heartbeat.interval.ms consumer.session.timeout.ms consumer.max.poll.interval.ms "
        "consumer.partition.assignment.strategy consumer.enable.auto.commit consumer.auto.commit.interval.ms "
        "consumer.exclude.internal.topics consumer.internal.throw.on.fetch.stable.offset.unsupported "
        "consumer.share.acknowledgement.mode consumer.share.acquire.mode",
    ),
    ("no request of ours creates a topic by accident", _SOURCE, "consumer.allow.auto.create.topics"),
    (
        "batches are copied whole; what is held of them is bounded by bytes, and by readahead.queue.capacity",
        _SOURCE,
        "consumer.max.poll.records",
    ),
    ("what fails is tried again at its next time, without end", _ADMIN, "admin.retries"),
    ("each batch's CRC is checked before it is copied", _SOURCE, "consumer.check.crcs"),
    (
        "a client that has lost its brokers starts again from bootstrap.servers",
        _SOURCE,
        "consumer.metadata.recovery.strategy consumer.metadata.recovery.rebootstrap.trigger.ms",
    ),
    (
        "a client that has lost its brokers starts again from bootstrap.servers",
        _PRODUCER,
        "producer.metadata.recovery.strategy producer.metadata.recovery.rebootstrap.trigger.ms "
        "producer.metadata.max.idle.ms",
    ),
    (
        "a client that has lost its brokers starts again from bootstrap.servers",
        _ADMIN,
        "admin.metadata.recovery.strategy admin.metadata.recovery.rebootstrap.trigger.ms",
    ),
    (
        "drivers find their leader in a topic, so there is no group of workers and no REST between them",
        _WORKER_ONLY,
        "group.id session.timeout.ms heartbeat.interval.ms rebalance.timeout.ms connect.protocol "
        "scheduled.rebalance.max.delay.ms inter.worker.key.generation.algorithm inter.worker.key.size "
        "inter.worker.key.ttl.ms inter.worker.signature.algorithm inter.worker.verification.algorithms",
    ),
    (
        "drivers find their leader in a topic, so there is no group of workers and no REST between them",
        _WORKER,
        "worker.sync.timeout.ms worker.unsync.backoff.ms",
    ),
    (
        "drivers find their leader in a topic, so there is no group of workers and no REST between them",
        (Reader.FILE,),
        "dedicated.mode.enable.internal.rest",
    ),
    (
        "the file is read at each start, so there is no topic of configurations",
        _WORKER,
        "config.storage.topic config.storage.replication.factor",
    ),
    ("what is in flight is finished within five seconds", _WORKER, "task.shutdown.graceful.timeout.ms"),
    ("there are never more tasks than tasks.max", _CONNECTOR, "tasks.max.enforce"),
    ("only providers whose values expire act on it, and none here has such", _CONNECTOR, "config.action.reload"),
    (
        "configurations are changed key by key, and no others are touched",
        _CONNECTOR,
        "use.incremental.alter.configs",
    ),
    ("the version is that of sparkmirror", _CONNECTOR, "connector.plugin.version"),
    ("the connectors are built in", _CONNECTOR, "connector.class"),
    (
        "overrides are allowed, topics are made by replication.factor, and modules are looked for by name",
        _WORKER_ONLY,
        "connector.client.config.override.policy topic.creation.enable topic.tracking.enable "
        "topic.tracking.allow.reset plugin.discovery",
    ),
)

# Of what is not there yet: metrics.
_LATER: tuple[tuple[tuple[Reader, ...], str], ...] = (
    (_CONNECTOR, "add.source.alias.to.metrics auto.include.jmx.reporter"),
    (_WORKER_ONLY, "metrics.num.samples metrics.recording.level metrics.sample.window.ms"),
    (
        _SOURCE,
        "consumer.enable.metrics.push consumer.metrics.num.samples "
        "consumer.metrics.recording.level consumer.metrics.sample.window.ms",
    ),
    (
        _PRODUCER,
        "producer.enable.metrics.push producer.metrics.num.samples producer.metrics.recording.level "
        "producer.metrics.sample.window.ms",
    ),
    (
        _ADMIN,
        "admin.enable.metrics.push admin.metrics.num.samples "
        "admin.metrics.recording.level admin.metrics.sample.window.ms",
    ),
)

_JAVA = "a Java class can't run here"
_BYTES = ("ByteArrayConverter",)
# (why, readers, values that change nothing, keys)
_IMPOSSIBLE: tuple[tuple[str, tuple[Reader, ...], tuple[str, ...], str], ...] = (
    (_JAVA, (Reader.CONNECTOR, Reader.CLUSTER), ("ForwardingAdmin",), "forwarding.admin.class"),
    (_JAVA, (Reader.CONNECTOR, Reader.WORKER_ONLY), ("JmxReporter",), "metric.reporters"),
    (_JAVA, _SOURCE, ("JmxReporter",), "consumer.metric.reporters"),
    (_JAVA, _PRODUCER, ("JmxReporter",), "producer.metric.reporters"),
    (_JAVA, _ADMIN, ("JmxReporter",), "admin.metric.reporters"),
    (_JAVA, _SOURCE, (), "consumer.interceptor.classes consumer.security.providers"),
    (_JAVA, _PRODUCER, (), "producer.interceptor.classes producer.security.providers"),
    (_JAVA, _ADMIN, (), "admin.security.providers"),
    (_JAVA, _CONNECTOR, (), "transforms predicates"),
    ("a controller can't be asked for records", _ADMIN, (), "admin.bootstrap.controllers"),
    (
        "records keep their bytes",
        (Reader.CONNECTOR, Reader.WORKER),
        _BYTES,
        "key.converter value.converter header.converter",
    ),
    (_JAVA, _CONNECTOR, (), "key.converter.plugin.version value.converter.plugin.version"),
    (_JAVA, _CONNECTOR, (), "header.converter.plugin.version"),
    ("progress has one topic, offset.storage.topic", _CONNECTOR_ONLY, (), "offsets.storage.topic"),
    (
        "the aliases are those of the clusters line",
        _CONNECTOR,
        (),
        "source.cluster.alias target.cluster.alias",
    ),
)


def _better() -> Iterator[Key[object]]:
    for why, readers, names in _BETTER:
        for name in names.split():
            yield Key(name=name, parse=v.text, default="", readers=readers, state=State.BETTER, why=why)


def _impossible() -> Iterator[Key[object]]:
    for why, readers, harmless, names in _IMPOSSIBLE:
        for name in names.split():
            parse = v.refused(why, *harmless)
            yield Key(name=name, parse=parse, default="", readers=readers, state=State.IMPOSSIBLE, why=why)


def _later() -> Iterator[Key[object]]:
    for readers, names in _LATER:
        for name in names.split():
            yield Key(name=name, parse=v.text, default="", readers=readers)


UNREAD: tuple[Key[object], ...] = (*_better(), *_impossible(), *_later())
