"""What `--version` prints."""

from __future__ import annotations

import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version

from sparkmirror import __version__


def version_text() -> str:
    lines = [
        ("sparkmirror", __version__),
        ("Spark", _package("pyspark")),
        ("Java", _java()),
        ("Python", platform.python_version()),
    ]
    return "\n".join(f"{name} {text}" for name, text in lines)


def _package(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not found"


def _java() -> str:
    java = shutil.which("java")
    if java is None:
        return "not found (install a JDK, version 17 or later)"
    said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=20, check=False).stderr
    words = said.split('"')
    return words[1] if len(words) > 1 else said.strip().splitlines()[0]
