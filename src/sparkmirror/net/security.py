"""How a client proves who it is and sees who answers: `security.protocol` with its `ssl.*` and `sasl.*` keys.

The settings hold passwords and keys. They stay in memory: what crosses to executors names them (`owner`), and the
driver's desk hands them out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL = "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"
PROTOCOL_KEY = "security.protocol"

Settings = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """`owner`: the client that it belongs to, `A->B source consumer` for one; errors say it.

    `is_sealed`: its settings are with the driver.
    """

    protocol: str = PLAINTEXT
    owner: str = ""
    is_sealed: bool = False
    settings: Settings = field(default=(), repr=False)

    @classmethod
    def of(cls, settings: Mapping[str, str], owner: str) -> Security:
        """From the keys as a file has them; those of other protocols count for nothing."""
        protocol = (settings.get(PROTOCOL_KEY) or PLAINTEXT).strip().upper()
        if protocol == PLAINTEXT:
            return cls()
        wanted = (*(["ssl."] if protocol.endswith(SSL) else []), *(["sasl."] if protocol.startswith("SASL") else []))
        kept = {key: value.strip() for key, value in settings.items() if key.startswith(tuple(wanted))}
        return cls(protocol=protocol, owner=owner, settings=tuple(sorted(kept.items())))

    @property
    def has_tls(self) -> bool:
        return self.protocol in (SSL, SASL_SSL)

    @property
    def has_sasl(self) -> bool:
        return self.protocol in (SASL_PLAINTEXT, SASL_SSL)

    def get(self, key: str, default: str = "") -> str:
        """A setting; the default where it is not set. An empty value is a value."""
        return next((value for name, value in self.settings if name == key), default)
