"""`sparkmirror` as a command that ends by itself, between clusters of a test's own aliases."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import sparkmirror

COMMAND = str(Path(sys.executable).with_name("sparkmirror"))
SOURCES = str(Path(sparkmirror.__file__).parents[1])


def run_command(*arguments: str, deadline_s: float = 60.0) -> subprocess.CompletedProcess[str]:
    """Without a terminal, and with the code that is under test."""
    return subprocess.run(
        [COMMAND, *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=deadline_s,
        check=False,
        env=os.environ | {"PYTHONPATH": SOURCES},
    )
