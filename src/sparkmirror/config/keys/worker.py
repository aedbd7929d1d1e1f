"""Keys of Connect's workers: where progress and status are kept, and the REST service."""

from __future__ import annotations

from sparkmirror.config import values as v
from sparkmirror.config.keys.key import Key, Reader, State

_NAME = v.optional(v.topic_name_part)
_COUNT = v.integer(1, v.INT_MAX)
_WORKER = (Reader.WORKER,)
_FILE = (Reader.FILE,)
_FORCE = State.IN_FORCE

PROGRESS_TOPIC = Key(name="offset.storage.topic", parse=_NAME, default="", readers=_WORKER, state=_FORCE)
PROGRESS_PARTITIONS = Key(name="offset.storage.partitions", parse=_COUNT, default="25", readers=_WORKER, state=_FORCE)
STATUS_TOPIC = Key(name="status.storage.topic", parse=_NAME, default="", readers=_WORKER, state=_FORCE)
STATUS_PARTITIONS = Key(name="status.storage.partitions", parse=_COUNT, default="5", readers=_WORKER, state=_FORCE)

CONFIG_PROVIDERS = Key(name="config.providers", parse=v.text_list, default="", readers=_FILE, state=State.IN_FORCE)
LISTENERS = Key(name="listeners", parse=v.text_list, default="http://127.0.0.1:8083", readers=_FILE)
ADVERTISED_HOST = Key(name="rest.advertised.host.name", parse=v.text, default="", readers=_FILE)
ADVERTISED_PORT = Key(name="rest.advertised.port", parse=v.optional(v.integer(1, 65535)), default="", readers=_FILE)
ADVERTISED_LISTENER = Key(name="rest.advertised.listener", parse=v.text, default="", readers=_FILE)
ALLOW_ORIGIN = Key(name="access.control.allow.origin", parse=v.text, default="", readers=_FILE)
ALLOW_METHODS = Key(name="access.control.allow.methods", parse=v.text, default="", readers=_FILE)
RESPONSE_HEADERS = Key(name="response.http.headers.config", parse=v.text, default="", readers=_FILE)
CLIENT_AUTH = Key(name="ssl.client.auth", parse=v.text, default="none", readers=_FILE)
METRIC_NAMES = Key(name="metric.names.formats", parse=v.text_list, default="legacy")
