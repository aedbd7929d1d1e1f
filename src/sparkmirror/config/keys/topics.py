"""Which clusters, flows and topics; what topics are called on the target, and what of them is kept alike."""

from __future__ import annotations

from sparkmirror.config import values as v
from sparkmirror.config.keys.key import Key, Reader, State

_FORCE = State.IN_FORCE
MIRROR = "org.apache.kafka.connect.mirror."

CLUSTERS = Key(name="clusters", parse=v.text, default="", readers=(Reader.FILE,), state=_FORCE)
BOOTSTRAP_SERVERS = Key(
    name="bootstrap.servers", parse=v.address_list, default="", readers=(Reader.CLUSTER,), state=_FORCE
)
# MirrorMaker 2 looks at A->B.enabled alone to choose its flows; a global `enabled` does not count.
ENABLED = Key(name="enabled", parse=v.boolean, default="false", readers=(Reader.CONNECTOR_ONLY,), state=_FORCE)
# The first part of the keys in the progress topic.
CONNECTOR_NAME = Key(name="name", parse=v.text, default="MirrorSourceConnector", state=_FORCE)

TOPICS = Key(name="topics", parse=v.regex_list, default=".*", state=_FORCE)
TOPICS_EXCLUDE = Key(
    name="topics.exclude", parse=v.regex_list, default=r"mm2.*\.internal, .*\.replica, __.*", state=_FORCE
)
TOPIC_FILTER_CLASS = Key(name="topic.filter.class", parse=v.text, default=MIRROR + "DefaultTopicFilter", state=_FORCE)
TASKS_MAX = Key(name="tasks.max", parse=v.tasks, default="1", state=_FORCE)
TASKS_MIN = Key(name="tasks.min", parse=v.integer(1, v.INT_MAX), default="1", state=_FORCE)
REPLICATION_FACTOR = Key(
    name="replication.factor",
    parse=v.topic_replication_factor,
    default="2",
    state=_FORCE,
)
REFRESH_TOPICS = Key(name="refresh.topics.enabled", parse=v.boolean, default="true", state=_FORCE)
# MirrorMaker 2 leaves a new topic unmirrored for ten minutes. Metadata is cheap.
REFRESH_TOPICS_INTERVAL = Key(
    name="refresh.topics.interval.seconds",
    parse=v.seconds(0, above=True),
    default="5",
    mm2_default="600",
    state=_FORCE,
)

# -- names

POLICY_CLASS = Key(
    name="replication.policy.class", parse=v.text, default=MIRROR + "DefaultReplicationPolicy", state=_FORCE
)
SEPARATOR = Key(name="replication.policy.separator", parse=v.topic_name_part, default=".", state=_FORCE)
INTERNAL_SEPARATOR = Key(
    name="replication.policy.internal.topic.separator.enabled", parse=v.boolean, default="true", state=_FORCE
)
TOPICS_MAP = Key(name="topics.map", parse=v.rename_list, default="", state=_FORCE)
IDENTITY_BIDIRECTIONAL = Key(name="identity.bidirectional", parse=v.boolean, default="false", state=_FORCE)
PLUGIN_PATH = Key(name="plugin.path", parse=v.text_list, default="", readers=(Reader.ANYWHERE,), state=_FORCE)

# -- what is kept alike

SYNC_CONFIGS = Key(name="sync.topic.configs.enabled", parse=v.boolean, default="true", state=_FORCE)
SYNC_CONFIGS_INTERVAL = Key(name="sync.topic.configs.interval.seconds", parse=v.interval, default="600", state=_FORCE)
SYNC_CONFIGS_STRICT = Key(name="sync.topic.configs.strict", parse=v.boolean, default="false", state=_FORCE)
# The `log.` names are no topic's, so the timestamp limits are synced; as in MirrorMaker 2.
CONFIGS_EXCLUDE = Key(
    name="config.properties.exclude",
    parse=v.regex_list,
    default="follower.replication.throttled.replicas, leader.replication.throttled.replicas, "
    "message.timestamp.difference.max.ms, log.message.timestamp.before.max.ms, "
    "log.message.timestamp.after.max.ms, message.timestamp.type, "
    "unclean.leader.election.enable, min.insync.replicas",
    state=_FORCE,
)
CONFIG_FILTER_CLASS = Key(
    name="config.property.filter.class",
    parse=v.text,
    default=MIRROR + "DefaultConfigPropertyFilter",
    state=_FORCE,
)
# Only the filter knows it in MirrorMaker 2, so that a top-level one is dropped.
DEFAULTS_FROM = Key(
    name="use.defaults.from",
    parse=v.one_of("source", "target"),
    default="target",
    readers=(Reader.CONNECTOR_ONLY,),
    state=_FORCE,
)
SYNC_ACLS = Key(name="sync.topic.acls.enabled", parse=v.boolean, default="true", state=_FORCE)
SYNC_ACLS_INTERVAL = Key(name="sync.topic.acls.interval.seconds", parse=v.interval, default="600", state=_FORCE)
SYNC_ACLS_PREFIXED = Key(name="sync.topic.acls.prefixed.enabled", parse=v.boolean, default="false", state=_FORCE)
SYNC_DELETES = Key(name="sync.topic.deletes.enabled", parse=v.boolean, default="false", state=_FORCE)
