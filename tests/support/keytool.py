"""Java's own tool for stores."""

from __future__ import annotations

import subprocess
from pathlib import Path


def keytool(*arguments: str) -> None:
    subprocess.run(["keytool", "-noprompt", *arguments], check=True, capture_output=True, timeout=60)


def convert_keys(p12: Path, path: Path, kind: str, password: str) -> Path:
    """A key store in another format. Java gives each key of a JKS its store's password, if it is told no other."""
    passwords = ("-srcstorepass", password, "-deststorepass", password)
    stores = ("-srckeystore", str(p12), "-destkeystore", str(path), "-deststoretype", kind)
    keytool("-importkeystore", *stores, *passwords)
    return path


def make_trust(certificate: Path, path: Path, kind: str, password: str) -> Path:
    store = ("-keystore", str(path), "-storetype", kind, "-storepass", password)
    keytool("-importcert", "-alias", "ca", "-file", str(certificate), *store)
    return path
