"""How records are copied: our own rules, what is bounded, and what becomes of errors."""

from __future__ import annotations

from sparkmirror.config import values as v
from sparkmirror.config.keys.key import Key, Reader, State

_FORCE = State.IN_FORCE
_TIMEOUT = v.integer(1, v.LONG_MAX)
_WORKER = (Reader.WORKER_ONLY,)

LEASE_SECONDS = Key(name="lease.seconds", parse=v.seconds(1), default="10", state=_FORCE)
OFFSETS_PRESERVE = Key(name="offsets.preserve", parse=v.one_of("auto", "always", "never"), default="auto", state=_FORCE)
MAX_HOLE = Key(name="offsets.preserve.max.hole", parse=v.integer(0, v.LONG_MAX), default="1000000", state=_FORCE)
_POLICY = v.one_of("fail", "continue")
ON_GAP = Key(name="on.gap", parse=_POLICY, default="fail", state=_FORCE)
ON_RECREATE = Key(name="on.recreate", parse=_POLICY, default="fail", state=_FORCE)
ON_DIVERGENCE = Key(name="on.divergence", parse=_POLICY, default="fail", state=_FORCE)
OPEN_TRANSACTION_WARN = Key(
    name="open.transaction.warn.seconds", parse=v.seconds(0, above=True), default="60", state=_FORCE
)
SYNC_LOG_START = Key(name="sync.log.start.enabled", parse=v.boolean, default="false", state=_FORCE)
LATENCY_TARGET = Key(name="latency.target.ms", parse=v.integer(1, 1000), default="8", state=_FORCE)
THROTTLE = Key(name="throttle.bytes.per.second", parse=v.throttle, default="-1", state=_FORCE)
# The batch way fits every flow that there is yet, so `auto` is that one.
PATH = Key(name="pipeline.path", parse=v.one_of("auto", "batches", "records"), default="auto", state=_FORCE)
TRANSFORM_SQL = Key(name="transform.sql", parse=v.text, default="")

# -- what is bounded

# KIP-382 names it and no release has it: 500 records between consumer and producer.
READAHEAD = Key(name="readahead.queue.capacity", parse=v.optional(v.integer(1, v.LONG_MAX)), default="", state=_FORCE)
# A broker answers at once when there is something, so a long wait costs nothing but saves requests.
POLL_TIMEOUT = Key(
    name="consumer.poll.timeout.ms",
    parse=v.optional(v.integer(0, v.INT_MAX)),
    default="",
    mm2_default="1000",
    state=_FORCE,
)
ADMIN_TIMEOUT = Key(name="admin.timeout.ms", parse=_TIMEOUT, default="60000", state=_FORCE)
FLUSH_TIMEOUT = Key(name="offset.flush.timeout.ms", parse=_TIMEOUT, default="5000", readers=_WORKER, state=_FORCE)
FLUSH_INTERVAL = Key(name="offset.flush.interval.ms", parse=_TIMEOUT, default="60000", readers=_WORKER, state=_FORCE)

# -- errors

# Connect's 0 is for converters and transforms; its clients try without end, and so does everything here.
ERRORS_RETRY_TIMEOUT = Key(
    name="errors.retry.timeout", parse=v.integer(-1, v.LONG_MAX), default="-1", mm2_default="0", state=_FORCE
)
ERRORS_RETRY_DELAY = Key(
    name="errors.retry.delay.max.ms",
    parse=v.optional(v.integer(1, v.LONG_MAX)),
    default="",
    mm2_default="60000",
    state=_FORCE,
)
ERRORS_TOLERANCE = Key(name="errors.tolerance", parse=v.one_of("none", "all"), default="none", state=_FORCE)
ERRORS_LOG = Key(name="errors.log.enable", parse=v.boolean, default="false", state=_FORCE)
ERRORS_LOG_MESSAGES = Key(name="errors.log.include.messages", parse=v.boolean, default="false", state=_FORCE)
