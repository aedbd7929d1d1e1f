"""Keys that every client of a cluster inherits, besides its addresses: `security.protocol`, `ssl.*` and `sasl.*`."""

from __future__ import annotations

from sparkmirror.config import values as v
from sparkmirror.config.keys.key import Key, Reader, State
from sparkmirror.config.keys.sasl import sasl_keys
from sparkmirror.config.keys.tls import tls_keys

ROLES = {
    "source_consumer": Reader.SOURCE_CONSUMER_SECURITY,
    "source_producer": Reader.SOURCE_PRODUCER_SECURITY,
    "source_admin": Reader.SOURCE_ADMIN_SECURITY,
    "target_consumer": Reader.TARGET_CONSUMER_SECURITY,
    "target_producer": Reader.DATA_PRODUCER_SECURITY,
    "target_admin": Reader.TARGET_ADMIN_SECURITY,
}

_READERS = tuple(ROLES.values())
SECURITY: tuple[Key[object], ...] = (
    Key(
        name="security.protocol",
        parse=v.optional(v.security_protocol),
        default="",
        readers=_READERS,
        state=State.IN_FORCE,
    ),
    *tls_keys(_READERS),
    *sasl_keys(_READERS),
)
