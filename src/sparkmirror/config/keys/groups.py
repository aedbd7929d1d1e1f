"""Consumer groups, and the records by which MirrorMaker 2 tells of itself: heartbeats, checkpoints, offset syncs."""

from __future__ import annotations

from sparkmirror.config import values as v
from sparkmirror.config.keys.key import Key, Reader, State
from sparkmirror.config.keys.topics import MIRROR

_FORCE = State.IN_FORCE

GROUPS = Key(name="groups", parse=v.regex_list, default=".*", state=_FORCE)
GROUPS_EXCLUDE = Key(
    name="groups.exclude", parse=v.regex_list, default="console-consumer-.*, connect-.*, __.*", state=_FORCE
)
GROUP_FILTER_CLASS = Key(name="group.filter.class", parse=v.text, default=MIRROR + "DefaultGroupFilter", state=_FORCE)
REFRESH_GROUPS = Key(name="refresh.groups.enabled", parse=v.boolean, default="true", state=_FORCE)
REFRESH_GROUPS_INTERVAL = Key(
    name="refresh.groups.interval.seconds", parse=v.interval, default="5", mm2_default="600", state=_FORCE
)
SYNC_GROUPS = Key(name="sync.group.offsets.enabled", parse=v.boolean, default="false", state=_FORCE)
SYNC_GROUPS_INTERVAL = Key(name="sync.group.offsets.interval.seconds", parse=v.interval, default="60", state=_FORCE)
SYNC_GROUPS_REWIND = Key(name="sync.group.offsets.rewind", parse=v.boolean, default="false", state=_FORCE)
SYNC_GROUP_DELETES = Key(name="sync.group.deletes.enabled", parse=v.boolean, default="false", state=_FORCE)

EMIT_HEARTBEATS = Key(name="emit.heartbeats.enabled", parse=v.boolean, default="true", state=_FORCE)
HEARTBEATS_INTERVAL = Key(name="emit.heartbeats.interval.seconds", parse=v.interval, default="1", state=_FORCE)
HEARTBEATS_MIRRORED = Key(name="heartbeats.replication.enabled", parse=v.boolean, default="true", state=_FORCE)
EMIT_CHECKPOINTS = Key(name="emit.checkpoints.enabled", parse=v.boolean, default="true", state=_FORCE)
CHECKPOINTS_INTERVAL = Key(name="emit.checkpoints.interval.seconds", parse=v.interval, default="60", state=_FORCE)
EMIT_OFFSET_SYNCS = Key(name="emit.offset-syncs.enabled", parse=v.boolean, default="true", state=_FORCE)
OFFSET_LAG_MAX = Key(name="offset.lag.max", parse=v.integer(0, v.LONG_MAX), default="100", state=_FORCE)
OFFSET_SYNCS_LOCATION = Key(
    name="offset-syncs.topic.location", parse=v.one_of("source", "target"), default="source", state=_FORCE
)

# -- internal topics

# Ours, so that several mirrors can share clusters.
INTERNAL_PREFIX = Key(name="replication.internal.topic.prefix", parse=v.topic_name_part, default="mm2", state=_FORCE)
ALL_FACTORS = Key(
    name="replication.internal.topic.replication.factor",
    parse=v.optional(v.replication_factor),
    default="",
    state=_FORCE,
)


def _factor(name: str, *, reader: Reader = Reader.CONNECTOR, also: str = "") -> Key[int]:
    fallbacks = (ALL_FACTORS.name, also) if also else (ALL_FACTORS.name,)
    return Key(name=name, parse=v.replication_factor, default="3", readers=(reader,), state=_FORCE, fallbacks=fallbacks)


HEARTBEATS_FACTOR = _factor("heartbeats.topic.replication.factor")
CHECKPOINTS_FACTOR = _factor("checkpoints.topic.replication.factor")
OFFSET_SYNCS_FACTOR = _factor("offset-syncs.topic.replication.factor")
PROGRESS_FACTOR = _factor("offset.storage.replication.factor", reader=Reader.WORKER)
STATUS_FACTOR = _factor("status.storage.replication.factor", reader=Reader.WORKER, also=PROGRESS_FACTOR.name)

HEARTBEATS_RETENTION = Key(name="heartbeats.topic.retention.ms", parse=v.retention, default="", state=_FORCE)
CHECKPOINTS_RETENTION = Key(name="checkpoints.topic.retention.ms", parse=v.retention, default="", state=_FORCE)
OFFSET_SYNCS_RETENTION = Key(name="offset-syncs.topic.retention.ms", parse=v.retention, default="", state=_FORCE)
