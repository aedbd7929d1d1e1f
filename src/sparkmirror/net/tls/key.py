"""A private key on its way into OpenSSL."""

from __future__ import annotations

import os
import ssl
from collections.abc import Sequence

from sparkmirror.net.tls import pem


def load_key(context: ssl.SSLContext, key: bytes, chain: Sequence[bytes]) -> None:
    """OpenSSL takes keys from files alone: from one that is in memory, and gone at the end."""
    blocks = [pem.join_block("PRIVATE KEY", key), *(pem.join_block(pem.CERTIFICATE, each) for each in chain)]
    with os.fdopen(os.memfd_create("key", os.MFD_CLOEXEC), "wb") as file:
        file.write("".join(blocks).encode())
        file.flush()
        context.load_cert_chain(f"/proc/self/fd/{file.fileno()}")
