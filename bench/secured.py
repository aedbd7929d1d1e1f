"""What brokers and mirrors need to speak TLS: a certificate for this machine that vouches for itself."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from sparkmirror.embedded.ports import HOST

LISTENER = "SSL"
_KEY_BITS = 2048


@dataclass(frozen=True, slots=True)
class Secured:
    keys: Path
    trust: Path

    @property
    def of_brokers(self) -> dict[str, str]:
        return {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(self.keys)}

    @property
    def of_mirrors(self) -> dict[str, str]:
        """The same for all of them."""
        return {
            "security.protocol": "SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.trust),
        }


def write_stores(folder: Path) -> Secured:
    key = rsa.generate_private_key(65537, _KEY_BITS)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "bench")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder(
            issuer_name=name,
            subject_name=name,
            public_key=key.public_key(),
            serial_number=x509.random_serial_number(),
            not_valid_before=now - datetime.timedelta(days=1),
            not_valid_after=now + datetime.timedelta(days=30),
        )
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    shown = certificate.public_bytes(serialization.Encoding.PEM)
    locked = serialization.NoEncryption()
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, locked)
    made = Secured(folder / "broker.pem", folder / "trust.pem")
    made.keys.write_bytes(private + shown)
    made.trust.write_bytes(shown)
    return made
