"""Brokers with TLS for tests: a CA, what brokers have of it, and what a client is told."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.support.certificates import Authority, Identity

# The second one wants a certificate of the client's.
LISTENERS = {"SSL": "SSL", "MTLS": "SSL"}
PASSWORD = "s3cret-of-the-store"


@dataclass(frozen=True)
class Secured:
    """One CA for brokers and clients, with its files in a folder."""

    folder: Path
    ca: Authority

    @classmethod
    def make(cls, folder: Path) -> Secured:
        made = cls(folder, Authority())
        made.ca.write_pem(folder / "ca.pem")
        made.ca.write_pkcs12(folder / "trust.p12", PASSWORD)
        made.ca.issue("broker").write_pem(folder / "broker.pem")
        made.me.write_pkcs12(folder / "me.p12", PASSWORD)
        return made

    @cached_property
    def me(self) -> Identity:
        return self.ca.issue("me")

    @property
    def of_brokers(self) -> dict[str, str]:
        return {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.folder / "broker.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.folder / "ca.pem"),
            "listener.name.mtls.ssl.client.auth": "required",
        }

    def of_client(self, prefix: str = "", *, shows: bool = True) -> dict[str, str]:
        """`shows`: its own certificate, too."""
        trust = {
            "security.protocol": "SSL",
            "ssl.truststore.location": str(self.folder / "trust.p12"),
            "ssl.truststore.password": PASSWORD,
        }
        own = {"ssl.keystore.location": str(self.folder / "me.p12"), "ssl.keystore.password": PASSWORD}
        return {f"{prefix}{key}": value for key, value in (trust | own if shows else trust).items()}
