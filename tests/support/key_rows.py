"""Every key that a flow reads for itself: where its value arrives, its default, what it takes and what it refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from sparkmirror.config.keys import KNOWN_KEYS, Key
from sparkmirror.config.keys.clients import ADMIN_CONNECTION, CONSUMER_CONNECTION, PRODUCER_CONNECTION
from sparkmirror.config.keys.topics import CONFIGS_EXCLUDE, MIRROR
from sparkmirror.config.model import FlowConfig

Value = tuple[str, Any]


@dataclass(frozen=True, slots=True)
class KeyRow:
    """Two values that can be told apart, as text and typed; `wrong` is None where any text will do.

    `needs` are lines without which the value does not show.
    """

    name: str
    arrives: Callable[[FlowConfig], Any]
    default: Any
    one: Value
    two: Value
    wrong: str | None
    needs: str = ""

    @property
    def key(self) -> Key[object]:
        return KNOWN_KEYS[self.name]


def _switch(name: str, arrives: Callable[[FlowConfig], Any], default: bool) -> KeyRow:
    return KeyRow(name, arrives, default, (str(not default).lower(), not default), (str(default), default), "yes")


def _interval(name: str, arrives: Callable[[FlowConfig], Any], default: float | None, needs: str = "") -> KeyRow:
    return KeyRow(name, arrives, default, ("7", 7.0), ("-1", None), "soon", needs)


def _factor(name: str, arrives: Callable[[FlowConfig], Any]) -> KeyRow:
    return KeyRow(name, arrives, 3, ("1", 1), ("-1", -1), "0")


def _text(name: str, arrives: Callable[[FlowConfig], Any], default: str | None) -> KeyRow:
    return KeyRow(name, arrives, default, ("one", "one"), ("two", "two"), None)


def _number(name: str, arrives: Callable[[FlowConfig], Any], default: int | None) -> KeyRow:
    return KeyRow(name, arrives, default, ("11", 11), ("22", 22), "1.5")


def _list(name: str, arrives: Callable[[FlowConfig], Any], default: tuple[str, ...]) -> KeyRow:
    return KeyRow(name, arrives, default, ("x, y-.*", ("x", "y-.*")), ("", ()), "(")


def _words(name: str, arrives: Callable[[FlowConfig], Any], default: Any, one: Value, two: Value) -> KeyRow:
    return KeyRow(name, arrives, default, one, two, "other")


def _connection(client: str, keys: Iterable[Key[object]], arrives: Callable[[FlowConfig], Any]) -> list[KeyRow]:
    """A client's keys about connecting; each field is named as its key."""

    def row(bare: str) -> KeyRow:
        def at(flow: FlowConfig) -> Any:
            return getattr(arrives(flow), bare.replace(".", "_"))

        name = f"{client}.{bare}"
        if bare == "client.dns.lookup":
            words = ("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only")
            return _words(name, at, None, (words[0], words[0]), (words[1], words[1]))
        return _text(name, at, None) if bare == "client.id" else _number(name, at, None)

    return [row(key.bare) for key in keys]


ROWS: tuple[KeyRow, ...] = (
    _text("name", lambda f: f.connector_name, "MirrorSourceConnector"),
    _list("topics", lambda f: f.topics, (".*",)),
    _list("topics.exclude", lambda f: f.topics_exclude, (r"mm2.*\.internal", r".*\.replica", "__.*")),
    _text("topic.filter.class", lambda f: f.topic_filter_class, MIRROR + "DefaultTopicFilter"),
    KeyRow("tasks.min", lambda f: f.tasks_min, 1, ("4", 4), ("2", 2), "0"),
    KeyRow("tasks.max", lambda f: f.tasks_max, 1, ("4", 4), ("auto", None), "0"),
    KeyRow("replication.factor", lambda f: f.replication_factor, 2, ("3", 3), ("source", None), "0"),
    _switch("refresh.topics.enabled", lambda f: f.refresh_topics, True),
    KeyRow("refresh.topics.interval.seconds", lambda f: f.refresh_topics_interval_s, 5.0, ("7", 7.0), ("9", 9.0), "0"),
    # names
    _text("replication.policy.class", lambda f: f.naming.policy_class, MIRROR + "DefaultReplicationPolicy"),
    KeyRow("replication.policy.separator", lambda f: f.naming.separator, ".", ("_", "_"), ("-", "-"), "+"),
    _switch("replication.policy.internal.topic.separator.enabled", lambda f: f.naming.internal_separator, True),
    KeyRow("topics.map", lambda f: f.naming.topics_map, (), ("a:b, c.*:d", ("a:b", "c.*:d")), ("", ()), "a"),
    _switch("identity.bidirectional", lambda f: f.naming.identity_bidirectional, False),
    KeyRow("plugin.path", lambda f: f.naming.plugin_path, (), ("/a, /b", ("/a", "/b")), ("/c", ("/c",)), None),
    KeyRow(
        "replication.internal.topic.prefix", lambda f: f.naming.internal_prefix, "mm2", ("x", "x"), ("y", "y"), "a b"
    ),
    # what is kept alike
    _switch("sync.topic.configs.enabled", lambda f: f.sync.configs_interval_s is not None, True),
    _interval("sync.topic.configs.interval.seconds", lambda f: f.sync.configs_interval_s, 600.0),
    _switch("sync.topic.configs.strict", lambda f: f.sync.configs_strict, False),
    _list(
        "config.properties.exclude", lambda f: f.sync.configs_exclude, CONFIGS_EXCLUDE.parse(CONFIGS_EXCLUDE.default)
    ),
    _text("config.property.filter.class", lambda f: f.sync.config_filter_class, MIRROR + "DefaultConfigPropertyFilter"),
    _words("use.defaults.from", lambda f: f.sync.defaults_from, "target", ("source", "source"), ("target", "target")),
    _switch("sync.topic.acls.enabled", lambda f: f.sync.acls_interval_s is not None, True),
    _interval("sync.topic.acls.interval.seconds", lambda f: f.sync.acls_interval_s, 600.0),
    _switch("sync.topic.acls.prefixed.enabled", lambda f: f.sync.acls_prefixed, False),
    _switch("sync.topic.deletes.enabled", lambda f: f.sync.deletes, False),
    # groups
    _list("groups", lambda f: f.groups.include, (".*",)),
    _list("groups.exclude", lambda f: f.groups.exclude, ("console-consumer-.*", "connect-.*", "__.*")),
    _text("group.filter.class", lambda f: f.groups.filter_class, MIRROR + "DefaultGroupFilter"),
    _switch("refresh.groups.enabled", lambda f: f.groups.refresh_interval_s is not None, True),
    _interval("refresh.groups.interval.seconds", lambda f: f.groups.refresh_interval_s, 5.0),
    _switch("emit.checkpoints.enabled", lambda f: f.checkpoints_topic.is_wanted, True),
    _interval("emit.checkpoints.interval.seconds", lambda f: f.groups.checkpoints_interval_s, 60.0),
    _switch("sync.group.offsets.enabled", lambda f: f.groups.sync_offsets_interval_s is not None, False),
    _interval(
        "sync.group.offsets.interval.seconds",
        lambda f: f.groups.sync_offsets_interval_s,
        None,
        "sync.group.offsets.enabled = true",
    ),
    _switch("sync.group.offsets.rewind", lambda f: f.groups.sync_offsets_rewind, False),
    _switch("sync.group.deletes.enabled", lambda f: f.groups.sync_deletes, False),
    # heartbeats, offset syncs, internal topics
    _switch("emit.heartbeats.enabled", lambda f: f.heartbeats.topic.is_wanted, True),
    _interval("emit.heartbeats.interval.seconds", lambda f: f.heartbeats.interval_s, 1.0),
    _switch("heartbeats.replication.enabled", lambda f: f.heartbeats.are_mirrored, True),
    _switch("emit.offset-syncs.enabled", lambda f: f.offset_syncs.topic.is_wanted, True),
    _words(
        "offset-syncs.topic.location",
        lambda f: f.offset_syncs.location,
        "source",
        ("target", "target"),
        ("source", "source"),
    ),
    _number("offset.lag.max", lambda f: f.offset_syncs.lag_max, 100),
    _factor("heartbeats.topic.replication.factor", lambda f: f.heartbeats.topic.replication_factor),
    _factor("checkpoints.topic.replication.factor", lambda f: f.checkpoints_topic.replication_factor),
    _factor("offset-syncs.topic.replication.factor", lambda f: f.offset_syncs.topic.replication_factor),
    _factor("offset.storage.replication.factor", lambda f: f.internal_replication_factor),
    _factor("status.storage.replication.factor", lambda f: f.status_replication_factor),
    _factor("replication.internal.topic.replication.factor", lambda f: f.heartbeats.topic.replication_factor),
    _number("heartbeats.topic.retention.ms", lambda f: f.heartbeats.topic.retention_ms, None),
    _number("checkpoints.topic.retention.ms", lambda f: f.checkpoints_topic.retention_ms, None),
    _number("offset-syncs.topic.retention.ms", lambda f: f.offset_syncs.topic.retention_ms, None),
    KeyRow("offset.storage.topic", lambda f: f.storage.progress_topic, None, ("x", "x"), ("y", "y"), "a b"),
    _number("offset.storage.partitions", lambda f: f.storage.progress_partitions, 25),
    KeyRow("status.storage.topic", lambda f: f.storage.status_topic, None, ("x", "x"), ("y", "y"), "a b"),
    _number("status.storage.partitions", lambda f: f.storage.status_partitions, 5),
    # limits and errors
    _number("readahead.queue.capacity", lambda f: f.limits.readahead_records, None),
    _number("consumer.poll.timeout.ms", lambda f: f.limits.poll_timeout_ms, None),
    _number("admin.timeout.ms", lambda f: f.limits.admin_timeout_ms, 60000),
    _number("offset.flush.timeout.ms", lambda f: f.limits.flush_timeout_ms, 5000),
    _number("offset.flush.interval.ms", lambda f: f.limits.flush_interval_ms, 60000),
    _number("errors.retry.timeout", lambda f: f.errors.retry_timeout_ms, -1),
    _number("errors.retry.delay.max.ms", lambda f: f.errors.retry_delay_max_ms, None),
    _words("errors.tolerance", lambda f: f.errors.tolerate_all, False, ("all", True), ("none", False)),
    _switch("errors.log.enable", lambda f: f.errors.log, False),
    _switch("errors.log.include.messages", lambda f: f.errors.log_messages, False),
    # ours
    KeyRow("lease.seconds", lambda f: f.lease_s, 10.0, ("2", 2.0), ("3.5", 3.5), "0.5"),
    _words("offsets.preserve", lambda f: f.offsets_preserve, "auto", ("never", "never"), ("always", "always")),
    _number("offsets.preserve.max.hole", lambda f: f.max_hole, 1000000),
    _words("on.gap", lambda f: f.on_gap, "fail", ("continue", "continue"), ("fail", "fail")),
    _words("on.recreate", lambda f: f.on_recreate, "fail", ("continue", "continue"), ("fail", "fail")),
    _words("on.divergence", lambda f: f.on_divergence, "fail", ("continue", "continue"), ("fail", "fail")),
    KeyRow("open.transaction.warn.seconds", lambda f: f.open_transaction_warn_s, 60.0, ("7", 7.0), ("2", 2.0), "0"),
    _switch("sync.log.start.enabled", lambda f: f.sync_log_start, False),
    KeyRow("latency.target.ms", lambda f: f.latency_ms, 8, ("9", 9), ("1", 1), "0"),
    KeyRow("throttle.bytes.per.second", lambda f: f.bytes_per_second, None, ("9", 9), ("-1", None), "-2"),
    _words("pipeline.path", lambda f: f.path, "auto", ("records", "records"), ("batches", "batches")),
    # clients
    _words(
        "consumer.isolation.level",
        lambda f: f.read_committed,
        True,
        ("read_uncommitted", False),
        ("read_committed", True),
    ),
    _words(
        "consumer.auto.offset.reset",
        lambda f: f.consumer.auto_offset_reset,
        "earliest",
        ("latest", "latest"),
        ("by_duration:P1DT2.5S", 86402.5),
    ),
    _text("consumer.client.rack", lambda f: f.consumer.client_rack, None),
    _number("consumer.fetch.min.bytes", lambda f: f.consumer.fetch_min_bytes, None),
    _number("consumer.fetch.max.bytes", lambda f: f.consumer.fetch_max_bytes, None),
    _number("consumer.fetch.max.wait.ms", lambda f: f.consumer.fetch_max_wait_ms, None),
    _number("consumer.max.partition.fetch.bytes", lambda f: f.consumer.max_partition_fetch_bytes, None),
    _number("producer.buffer.memory", lambda f: f.producer.buffer_memory, None),
    _number("producer.max.request.size", lambda f: f.producer.max_request_size, None),
    *_connection("consumer", CONSUMER_CONNECTION, lambda f: f.consumer.connection),
    *_connection("producer", PRODUCER_CONNECTION, lambda f: f.producer.connection),
    *_connection("admin", ADMIN_CONNECTION, lambda f: f.source_admin),
)
