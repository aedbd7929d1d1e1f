"""How one kind of client connects: the source's consumer, the target's producer, an admin. Crosses to executors."""

from __future__ import annotations

from dataclasses import dataclass, field

from sparkmirror.net.security import Security

SYSTEMS = -1  # a buffer of the system's own size


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """None: as suits the one who connects.

    `setup_timeout_s` is for a whole connection, and grows with each failure; `canonical_names`: bootstrap servers are
    called by the names that their addresses have. `api_timeout_s` bounds a question with all its tries.
    """

    client_id: str = "sparkmirror"
    canonical_names: bool = False
    setup_timeout_s: float | None = None
    setup_timeout_max_s: float | None = None
    request_timeout_s: float | None = None
    api_timeout_s: float | None = None
    idle_s: float | None = None
    metadata_age_s: float | None = None
    receive_buffer_bytes: int | None = None
    send_buffer_bytes: int | None = None
    reconnect_s: float | None = None
    reconnect_max_s: float | None = None
    retry_s: float | None = None
    retry_max_s: float | None = None
    security: Security = field(default_factory=Security)
