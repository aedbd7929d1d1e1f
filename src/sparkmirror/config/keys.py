"""The keys of MirrorMaker 2's connectors and our own: name, type, default, and where each is in force.

A key comes into force by naming its scopes here and being read in `build.py`. Until then it is accepted and
shown as not in force, so that nobody believes a setting works that does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from sparkmirror.config import values as v

T_co = TypeVar("T_co", covariant=True)


class Scope(Enum):
    """Where a line of the file belongs."""

    GLOBAL = "key"
    FLOW = "A->B.key"
    CLUSTER = "A.key"
    SPARK = "spark.key"
    STRAY = "a flow of clusters that the file does not name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key(Generic[T_co]):
    """`default` is text in the file's own syntax and passes through the same parser as a user's value."""

    name: str
    parse: Callable[[str], T_co]
    default: str
    in_force: frozenset[Scope] = frozenset()


_FLOW = frozenset({Scope.GLOBAL, Scope.FLOW})

CLUSTERS = Key(name="clusters", parse=v.text, default="", in_force=frozenset({Scope.GLOBAL}))
# A client key: clusters inherit the global value where they have none of their own.
BOOTSTRAP_SERVERS = Key(
    name="bootstrap.servers",
    parse=v.address_list,
    default="",
    in_force=frozenset({Scope.GLOBAL, Scope.CLUSTER}),
)
# Dedicated MirrorMaker 2 looks at A->B.enabled alone to choose its flows; a global `enabled` does not count.
ENABLED = Key(name="enabled", parse=v.boolean, default="false", in_force=frozenset({Scope.FLOW}))
TOPICS = Key(name="topics", parse=v.regex_list, default=".*", in_force=_FLOW)
TOPICS_EXCLUDE = Key(
    name="topics.exclude", parse=v.regex_list, default=r"mm2.*\.internal, .*\.replica, __.*", in_force=_FLOW
)
TASKS_MAX = Key(name="tasks.max", parse=v.tasks, default="1", in_force=_FLOW)
REPLICATION_FACTOR = Key(name="replication.factor", parse=v.topic_replication_factor, default="2", in_force=_FLOW)
# A worker's key: MirrorMaker 2 reads it from the target cluster's keys too, where the global one wins.
INTERNAL_REPLICATION_FACTOR = Key(
    name="offset.storage.replication.factor",
    parse=v.replication_factor,
    default="3",
    in_force=_FLOW | {Scope.CLUSTER},
)
# Where the file does not name it, our status topic is replicated as the progress topic is.
STATUS_REPLICATION_FACTOR = Key(
    name="status.storage.replication.factor",
    parse=v.replication_factor,
    default="3",
    in_force=_FLOW | {Scope.CLUSTER},
)
# MirrorMaker 2 waits 600 s, so a new topic stays unmirrored for ten minutes. Metadata is cheap: 5 s here.
REFRESH_TOPICS_INTERVAL = Key(
    name="refresh.topics.interval.seconds", parse=v.seconds(0, above=True), default="5", in_force=_FLOW
)
LEASE_SECONDS = Key(name="lease.seconds", parse=v.seconds(1), default="10", in_force=_FLOW)

OFFSETS_PRESERVE = Key(
    name="offsets.preserve", parse=v.one_of("auto", "always", "never"), default="auto", in_force=_FLOW
)
MAX_HOLE = Key(name="offsets.preserve.max.hole", parse=v.integer(0, v.LONG_MAX), default="1000000", in_force=_FLOW)
_POLICY = v.one_of("fail", "continue")
ON_GAP = Key(name="on.gap", parse=_POLICY, default="fail", in_force=_FLOW)
ON_RECREATE = Key(name="on.recreate", parse=_POLICY, default="fail", in_force=_FLOW)
ON_DIVERGENCE = Key(name="on.divergence", parse=_POLICY, default="fail", in_force=_FLOW)
OPEN_TRANSACTION_WARN = Key(
    name="open.transaction.warn.seconds", parse=v.seconds(0, above=True), default="60", in_force=_FLOW
)
SYNC_LOG_START = Key(name="sync.log.start.enabled", parse=v.boolean, default="false", in_force=_FLOW)
THROTTLE = Key(name="throttle.bytes.per.second", parse=v.integer(-1, v.LONG_MAX), default="-1", in_force=_FLOW)
# The batch way fits every flow that there is yet, so `auto` is that one.
PATH = Key(name="pipeline.path", parse=v.one_of("auto", "batches", "records"), default="auto", in_force=_FLOW)
# MirrorMaker 2 reads uncommitted by default, and so copies aborted records.
ISOLATION = Key(
    name="consumer.isolation.level",
    parse=v.one_of("read_committed", "read_uncommitted"),
    default="read_committed",
    in_force=_FLOW | {Scope.CLUSTER},
)
SOURCE_ISOLATION = Key(
    name="source.consumer.isolation.level", parse=ISOLATION.parse, default=ISOLATION.default, in_force=_FLOW
)

# -- names

_MIRROR = "org.apache.kafka.connect.mirror."
POLICY_CLASS = Key(
    name="replication.policy.class", parse=v.text, default=_MIRROR + "DefaultReplicationPolicy", in_force=_FLOW
)
SEPARATOR = Key(name="replication.policy.separator", parse=v.text, default=".", in_force=_FLOW)
INTERNAL_SEPARATOR = Key(
    name="replication.policy.internal.topic.separator.enabled", parse=v.boolean, default="true", in_force=_FLOW
)
TOPIC_FILTER_CLASS = Key(
    name="topic.filter.class", parse=v.text, default=_MIRROR + "DefaultTopicFilter", in_force=_FLOW
)
TOPICS_MAP = Key(name="topics.map", parse=v.rename_list, default="", in_force=_FLOW)
IDENTITY_BIDIRECTIONAL = Key(name="identity.bidirectional", parse=v.boolean, default="false", in_force=_FLOW)
# A worker's key: MirrorMaker 2 reads it from the target cluster's keys.
PLUGIN_PATH = Key(name="plugin.path", parse=v.text_list, default="", in_force=_FLOW | {Scope.CLUSTER})

# -- what is kept alike

# The `log.` names are no topic's, so the timestamp limits are synced; as in MirrorMaker 2.
CONFIGS_EXCLUDE = Key(
    name="config.properties.exclude",
    parse=v.regex_list,
    default="follower.replication.throttled.replicas, leader.replication.throttled.replicas, "
    "message.timestamp.difference.max.ms, log.message.timestamp.before.max.ms, "
    "log.message.timestamp.after.max.ms, message.timestamp.type, "
    "unclean.leader.election.enable, min.insync.replicas",
    in_force=_FLOW,
)
CONFIG_FILTER_CLASS = Key(
    name="config.property.filter.class", parse=v.text, default=_MIRROR + "DefaultConfigPropertyFilter", in_force=_FLOW
)
# MirrorMaker 2 drops the global key without a word; here it holds.
DEFAULTS_FROM = Key(name="use.defaults.from", parse=v.text, default="target", in_force=_FLOW)
SYNC_CONFIGS = Key(name="sync.topic.configs.enabled", parse=v.boolean, default="true", in_force=_FLOW)
SYNC_CONFIGS_INTERVAL = Key(name="sync.topic.configs.interval.seconds", parse=v.interval, default="600", in_force=_FLOW)
SYNC_CONFIGS_STRICT = Key(name="sync.topic.configs.strict", parse=v.boolean, default="false", in_force=_FLOW)
SYNC_ACLS = Key(name="sync.topic.acls.enabled", parse=v.boolean, default="true", in_force=_FLOW)
SYNC_ACLS_INTERVAL = Key(name="sync.topic.acls.interval.seconds", parse=v.interval, default="600", in_force=_FLOW)
SYNC_ACLS_PREFIXED = Key(name="sync.topic.acls.prefixed.enabled", parse=v.boolean, default="false", in_force=_FLOW)
SYNC_DELETES = Key(name="sync.topic.deletes.enabled", parse=v.boolean, default="false", in_force=_FLOW)

# -- heartbeats and internal topics

EMIT_HEARTBEATS = Key(name="emit.heartbeats.enabled", parse=v.boolean, default="true", in_force=_FLOW)
HEARTBEATS_INTERVAL = Key(name="emit.heartbeats.interval.seconds", parse=v.interval, default="1", in_force=_FLOW)
HEARTBEATS_FACTOR = Key(
    name="heartbeats.topic.replication.factor", parse=v.replication_factor, default="3", in_force=_FLOW
)
HEARTBEATS_RETENTION = Key(name="heartbeats.topic.retention.ms", parse=v.retention, default="", in_force=_FLOW)
HEARTBEATS_MIRRORED = Key(name="heartbeats.replication.enabled", parse=v.boolean, default="true", in_force=_FLOW)
EMIT_CHECKPOINTS = Key(name="emit.checkpoints.enabled", parse=v.boolean, default="true", in_force=_FLOW)
CHECKPOINTS_FACTOR = Key(
    name="checkpoints.topic.replication.factor", parse=v.replication_factor, default="3", in_force=_FLOW
)
CHECKPOINTS_RETENTION = Key(name="checkpoints.topic.retention.ms", parse=v.retention, default="", in_force=_FLOW)
EMIT_OFFSET_SYNCS = Key(name="emit.offset-syncs.enabled", parse=v.boolean, default="true", in_force=_FLOW)
OFFSET_SYNCS_FACTOR = Key(
    name="offset-syncs.topic.replication.factor", parse=v.replication_factor, default="3", in_force=_FLOW
)
OFFSET_SYNCS_RETENTION = Key(name="offset-syncs.topic.retention.ms", parse=v.retention, default="", in_force=_FLOW)
OFFSET_SYNCS_LOCATION = Key(
    name="offset-syncs.topic.location", parse=v.one_of("source", "target"), default="source", in_force=_FLOW
)

_IN_FORCE: tuple[Key[object], ...] = (
    CLUSTERS,
    BOOTSTRAP_SERVERS,
    ENABLED,
    TOPICS,
    TOPICS_EXCLUDE,
    TASKS_MAX,
    REPLICATION_FACTOR,
    INTERNAL_REPLICATION_FACTOR,
    STATUS_REPLICATION_FACTOR,
    REFRESH_TOPICS_INTERVAL,
    LEASE_SECONDS,
    OFFSETS_PRESERVE,
    MAX_HOLE,
    ON_GAP,
    ON_RECREATE,
    ON_DIVERGENCE,
    OPEN_TRANSACTION_WARN,
    SYNC_LOG_START,
    THROTTLE,
    PATH,
    ISOLATION,
    SOURCE_ISOLATION,
    POLICY_CLASS,
    SEPARATOR,
    INTERNAL_SEPARATOR,
    TOPIC_FILTER_CLASS,
    TOPICS_MAP,
    IDENTITY_BIDIRECTIONAL,
    PLUGIN_PATH,
    CONFIGS_EXCLUDE,
    CONFIG_FILTER_CLASS,
    DEFAULTS_FROM,
    SYNC_CONFIGS,
    SYNC_CONFIGS_INTERVAL,
    SYNC_CONFIGS_STRICT,
    SYNC_ACLS,
    SYNC_ACLS_INTERVAL,
    SYNC_ACLS_PREFIXED,
    SYNC_DELETES,
    EMIT_HEARTBEATS,
    HEARTBEATS_INTERVAL,
    HEARTBEATS_FACTOR,
    HEARTBEATS_RETENTION,
    HEARTBEATS_MIRRORED,
    EMIT_CHECKPOINTS,
    CHECKPOINTS_FACTOR,
    CHECKPOINTS_RETENTION,
    EMIT_OFFSET_SYNCS,
    OFFSET_SYNCS_FACTOR,
    OFFSET_SYNCS_RETENTION,
    OFFSET_SYNCS_LOCATION,
)

_LONG = v.integer(-1, v.LONG_MAX)

# Known and not in force: (name, parser, default).
_LATER: tuple[tuple[str, Callable[[str], object], str], ...] = (
    # top level
    ("dedicated.mode.enable.internal.rest", v.boolean, "false"),
    ("config.providers", v.text_list, ""),
    ("listeners", v.text_list, "http://127.0.0.1:8083"),
    # every connector
    ("name", v.text, ""),
    ("connector.class", v.text, ""),
    ("source.cluster.alias", v.text, "source"),
    ("target.cluster.alias", v.text, "target"),
    ("admin.timeout.ms", _LONG, "60000"),
    ("forwarding.admin.class", v.text, "org.apache.kafka.clients.admin.ForwardingAdmin"),
    ("metric.reporters", v.text_list, "org.apache.kafka.common.metrics.JmxReporter"),
    ("metric.names.formats", v.text_list, "legacy"),
    ("tasks.max.enforce", v.boolean, "true"),
    ("transforms", v.text_list, ""),
    ("predicates", v.text_list, ""),
    ("config.action.reload", v.one_of("restart", "none"), "restart"),
    ("errors.retry.timeout", _LONG, "0"),
    ("errors.retry.delay.max.ms", _LONG, "60000"),
    ("errors.tolerance", v.one_of("none", "all"), "none"),
    ("errors.log.enable", v.boolean, "false"),
    ("errors.log.include.messages", v.boolean, "false"),
    ("exactly.once.support", v.one_of("requested", "required"), "requested"),
    ("transaction.boundary", v.one_of("poll", "interval", "connector"), "poll"),
    # source connector
    ("consumer.poll.timeout.ms", _LONG, "1000"),
    ("refresh.topics.enabled", v.boolean, "true"),
    ("offset.lag.max", _LONG, "100"),
    # checkpoint connector
    ("groups", v.regex_list, ".*"),
    ("groups.exclude", v.regex_list, "console-consumer-.*, connect-.*, __.*"),
    ("group.filter.class", v.text, _MIRROR + "DefaultGroupFilter"),
    ("refresh.groups.enabled", v.boolean, "true"),
    ("refresh.groups.interval.seconds", _LONG, "600"),
    ("emit.checkpoints.interval.seconds", _LONG, "60"),
    ("sync.group.offsets.enabled", v.boolean, "false"),
    ("sync.group.offsets.interval.seconds", _LONG, "60"),
    # gone from recent releases, still in users' files
    ("topics.blacklist", v.regex_list, ""),
    ("groups.blacklist", v.regex_list, ""),
    ("config.properties.blacklist", v.regex_list, ""),
    ("use.incremental.alter.configs", v.one_of("requested", "required", "never"), "requested"),
    ("add.source.alias.to.metrics", v.boolean, "false"),
    ("auto.include.jmx.reporter", v.boolean, "true"),
    # our own
    ("transform.sql", v.text, ""),
    ("sync.group.offsets.rewind", v.boolean, "false"),
)

KNOWN_KEYS: dict[str, Key[object]] = {key.name: key for key in _IN_FORCE} | {
    name: Key(name=name, parse=parse, default=default) for name, parse, default in _LATER
}
