"""Certificates and stores as an administrator makes them, for tests: a CA, and whom it vouches for."""

from __future__ import annotations

import datetime
import ipaddress
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import PrivateFormat, pkcs12
from cryptography.x509.oid import NameOID

DAY = datetime.timedelta(days=1)
HERE = ("localhost", "127.0.0.1")
PEM, DER = serialization.Encoding.PEM, serialization.Encoding.DER
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Identity:
    """A key with its certificate, and the CA that signed it."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    ca: x509.Certificate

    @property
    def chain_pem(self) -> str:
        return (self.certificate.public_bytes(PEM) + self.ca.public_bytes(PEM)).decode()

    def key_pem(self, password: str | None = None) -> str:
        locked = serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
        return self.key.private_bytes(PEM, PrivateFormat.PKCS8, locked).decode()

    def pkcs12(self, password: str) -> bytes:
        locked = serialization.BestAvailableEncryption(password.encode())
        return pkcs12.serialize_key_and_certificates(b"own", self.key, self.certificate, [self.ca], locked)

    def write_pem(self, path: Path) -> Path:
        """Key and chain, as a PEM key store has them."""
        path.write_text(self.key_pem() + self.chain_pem)
        return path

    def write_pkcs12(self, path: Path, password: str) -> Path:
        path.write_bytes(self.pkcs12(password))
        return path


class Authority:
    def __init__(self, name: str = "test CA") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        self.certificate = self._sign(self._name, self._key, -DAY, 30 * DAY, [], is_ca=True)

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(PEM).decode()

    def issue(
        self,
        name: str = "broker",
        hosts: Sequence[str] = HERE,
        begins: datetime.timedelta = -DAY,
        ends: datetime.timedelta = 30 * DAY,
    ) -> Identity:
        """Valid from and until so long from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        return Identity(key, self._sign(_name(name), key, begins, ends, hosts), self.certificate)

    def write_pem(self, path: Path) -> Path:
        path.write_text(self.pem)
        return path

    def write_pkcs12(self, path: Path, password: str) -> Path:
        """Java trusts only what an attribute of its own marks as trusted, and cryptography writes it."""
        locked = serialization.BestAvailableEncryption(password.encode())
        path.write_bytes(pkcs12.serialize_java_truststore([pkcs12.PKCS12Certificate(self.certificate, b"ca")], locked))
        return path

    def _sign(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        begins: datetime.timedelta,
        ends: datetime.timedelta,
        hosts: Sequence[str],
        *,
        is_ca: bool = False,
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        builder = x509.CertificateBuilder(
            issuer_name=self._name,
            subject_name=subject,
            public_key=key.public_key(),
            serial_number=next(_numbers),
            not_valid_before=now + begins,
            not_valid_after=now + ends,
        ).add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        if hosts:
            builder = builder.add_extension(
                x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False
            )
        return builder.sign(self._key, hashes.SHA256())


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _host(text: str) -> x509.GeneralName:
    return x509.IPAddress(ipaddress.ip_address(text)) if text[0].isdigit() else x509.DNSName(text)
