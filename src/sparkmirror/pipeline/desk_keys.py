"""Keys of the desk's connections: TLS 1.3, and each side knows the other's certificate and accepts no other.

The driver makes them when it starts. Those of tasks are among the environment of Spark's Python workers, which Spark
hands on without showing it; nothing of them is an option, a setting of Spark's, a row or a file.
"""

from __future__ import annotations

import base64
import datetime
import functools
import ssl
from dataclasses import dataclass

from sparkmirror.net.tls.key import load_key

ADDRESS_VARIABLE, KEY_VARIABLE = "SPARKMIRROR_DESK", "SPARKMIRROR_DESK_KEY"
_YEARS = datetime.timedelta(days=3650)  # machines' clocks may differ, and drivers run for long


@dataclass(frozen=True, slots=True)
class Keys:
    """Of one side: its key and certificate, and the other side's certificate. All in DER."""

    key: bytes
    certificate: bytes
    other: bytes

    def to_text(self) -> str:
        return " ".join(base64.b64encode(each).decode() for each in (self.key, self.certificate, self.other))

    @classmethod
    def from_text(cls, text: str) -> Keys:
        return cls(*(base64.b64decode(each) for each in text.split(" ")))

    def context(self, *, is_desk: bool) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if is_desk else ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False  # the certificate itself is known, whatever the address
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.load_verify_locations(cadata=self.other)
        load_key(context, self.key, [self.certificate])
        if is_desk:
            context.num_tickets = 0  # each connection proves anew who it is
        return context


def make_keys() -> tuple[Keys, Keys]:
    """The desk's and the tasks'."""
    (desk_key, desk), (task_key, task) = _make_identity("desk"), _make_identity("task")
    return Keys(desk_key, desk, task), Keys(task_key, task, desk)


@functools.lru_cache(maxsize=1)
def task_context(text: str) -> ssl.SSLContext:
    """One a process: its workers ask often."""
    return Keys.from_text(text).context(is_desk=False)


def _make_identity(name: str) -> tuple[bytes, bytes]:
    from cryptography import x509  # noqa: PLC0415 - the driver's alone
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"sparkmirror {name}")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _YEARS)
        .not_valid_after(now + _YEARS)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.DER
    secret = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return secret, certificate.public_bytes(encoding)
