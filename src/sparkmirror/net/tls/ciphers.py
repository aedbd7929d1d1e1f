"""Names of protocols and cipher suites, from Java's to OpenSSL's."""

from __future__ import annotations

import re
import ssl
from collections.abc import Sequence

VERSIONS = {
    "TLSv1": ssl.TLSVersion.TLSv1,
    "TLSv1.1": ssl.TLSVersion.TLSv1_1,
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}
DEFAULT_VERSIONS = ("TLSv1.2", "TLSv1.3")
_SUITE = re.compile(r"(?:TLS|SSL)_(.+)_WITH_(.+)")
_AES = re.compile(r"(AES|ARIA|CAMELLIA)_(\d+)")


def limit_versions(context: ssl.SSLContext, names: Sequence[str]) -> None:
    """From the oldest to the newest of them; ValueError where one is not known."""
    unknown = [name for name in names if name not in VERSIONS]
    if unknown:
        raise ValueError(f"ssl.enabled.protocols: expected some of {', '.join(VERSIONS)}, got {unknown[0]!r}")
    wanted = sorted(VERSIONS[name] for name in names)
    context.minimum_version, context.maximum_version = wanted[0], wanted[-1]


def limit_suites(context: ssl.SSLContext, names: Sequence[str]) -> None:
    """None: as OpenSSL has them. TLS 1.3 has names of its own, which can't be chosen; without these it is left out."""
    if not names:
        return
    older = [to_openssl(name) for name in names if _SUITE.fullmatch(name)]
    if len(older) == len(names):
        context.maximum_version = min(context.maximum_version, ssl.TLSVersion.TLSv1_2)
    elif not older:
        context.minimum_version = ssl.TLSVersion.TLSv1_3
    if older:
        try:
            context.set_ciphers(":".join(older))
        except ssl.SSLError:
            raise ValueError(f"ssl.cipher.suites: OpenSSL has none of {', '.join(names)}") from None


def to_openssl(name: str) -> str:
    """`TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256` is `ECDHE-RSA-AES128-GCM-SHA256`; TLS 1.3 suites keep their names."""
    match = _SUITE.fullmatch(name)
    if match is None:
        return name
    exchange, cipher = match.groups()
    cipher = _AES.sub(r"\1\2", cipher).replace("3DES_EDE_CBC", "DES-CBC3").replace("_CBC", "")
    cipher = cipher.replace("CHACHA20_POLY1305_SHA256", "CHACHA20-POLY1305")
    parts = (*([] if exchange == "RSA" else [exchange]), cipher)
    return "-".join(parts).replace("_", "-")
