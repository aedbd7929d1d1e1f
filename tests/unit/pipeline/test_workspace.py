"""Folders of runs that were killed are swept up by the next one; those of living runs are left alone."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sparkmirror.pipeline.workspace import PREFIX, make_workspace


def test_only_folders_of_dead_processes_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    dead, living, other = (tmp_path / f"{PREFIX}{x}" for x in (f"{ended.pid}-a", f"{os.getpid()}-b", "unknown"))
    for folder in (dead, living, other):
        folder.mkdir()
    made = make_workspace()
    assert made.is_dir() and living.is_dir() and other.is_dir()
    assert not dead.exists()
