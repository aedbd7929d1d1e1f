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
REPLICATION_FACTOR = Key(name="replication.factor", parse=v.replication_factor, default="2", in_force=_FLOW)
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

# The consumer's place (KIP-392): it is sent to a replica in the same rack, if the source's brokers know of racks.
RACK = Key(name="consumer.client.rack", parse=v.text, default="", in_force=_FLOW | {Scope.CLUSTER})
SOURCE_RACK = Key(name="source.consumer.client.rack", parse=v.text, default="", in_force=_FLOW)

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
    RACK,
    SOURCE_RACK,
)

_LONG = v.integer(-1, v.LONG_MAX)
_MIRROR = "org.apache.kafka.connect.mirror."
_CONFIG_EXCLUDE = (
    "follower.replication.throttled.replicas, leader.replication.throttled.replicas, "
    "message.timestamp.difference.max.ms, log.message.timestamp.before.max.ms, "
    "log.message.timestamp.after.max.ms, message.timestamp.type, "
    "unclean.leader.election.enable, min.insync.replicas"
)

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
    ("replication.policy.class", v.text, _MIRROR + "DefaultReplicationPolicy"),
    ("replication.policy.separator", v.text, "."),
    ("replication.policy.internal.topic.separator.enabled", v.boolean, "true"),
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
    ("config.properties.exclude", v.regex_list, _CONFIG_EXCLUDE),
    ("use.defaults.from", v.text, "target"),
    ("topic.filter.class", v.text, _MIRROR + "DefaultTopicFilter"),
    ("config.property.filter.class", v.text, _MIRROR + "DefaultConfigPropertyFilter"),
    ("consumer.poll.timeout.ms", _LONG, "1000"),
    ("refresh.topics.enabled", v.boolean, "true"),
    ("sync.topic.configs.enabled", v.boolean, "true"),
    ("sync.topic.configs.interval.seconds", _LONG, "600"),
    ("sync.topic.acls.enabled", v.boolean, "true"),
    ("sync.topic.acls.interval.seconds", _LONG, "600"),
    ("offset-syncs.topic.replication.factor", v.replication_factor, "3"),
    ("offset-syncs.topic.location", v.one_of("source", "target"), "source"),
    ("offset.lag.max", _LONG, "100"),
    ("emit.offset-syncs.enabled", v.boolean, "true"),
    ("heartbeats.replication.enabled", v.boolean, "true"),
    # checkpoint connector
    ("groups", v.regex_list, ".*"),
    ("groups.exclude", v.regex_list, "console-consumer-.*, connect-.*, __.*"),
    ("group.filter.class", v.text, _MIRROR + "DefaultGroupFilter"),
    ("refresh.groups.enabled", v.boolean, "true"),
    ("refresh.groups.interval.seconds", _LONG, "600"),
    ("emit.checkpoints.enabled", v.boolean, "true"),
    ("emit.checkpoints.interval.seconds", _LONG, "60"),
    ("sync.group.offsets.enabled", v.boolean, "false"),
    ("sync.group.offsets.interval.seconds", _LONG, "60"),
    ("checkpoints.topic.replication.factor", v.replication_factor, "3"),
    # heartbeat connector
    ("emit.heartbeats.enabled", v.boolean, "true"),
    ("emit.heartbeats.interval.seconds", _LONG, "1"),
    ("heartbeats.topic.replication.factor", v.replication_factor, "3"),
    # gone from recent releases, still in users' files
    ("topics.blacklist", v.regex_list, ""),
    ("groups.blacklist", v.regex_list, ""),
    ("config.properties.blacklist", v.regex_list, ""),
    ("use.incremental.alter.configs", v.one_of("requested", "required", "never"), "requested"),
    ("add.source.alias.to.metrics", v.boolean, "false"),
    ("auto.include.jmx.reporter", v.boolean, "true"),
    # our own
    ("topics.map", v.text_list, ""),
    ("transform.sql", v.text, ""),
    ("identity.bidirectional", v.boolean, "false"),
    ("sync.topic.deletes.enabled", v.boolean, "false"),
    ("sync.group.offsets.rewind", v.boolean, "false"),
    ("sync.topic.acls.prefixed.enabled", v.boolean, "false"),
    ("sync.topic.configs.strict", v.boolean, "false"),
)

KNOWN_KEYS: dict[str, Key[object]] = {key.name: key for key in _IN_FORCE} | {
    name: Key(name=name, parse=parse, default=default) for name, parse, default in _LATER
}
