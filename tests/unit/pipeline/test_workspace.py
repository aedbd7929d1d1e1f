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


def test_names_that_others_made_stop_no_start_and_lead_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared, victim = tmp_path / "shared", tmp_path / "victim"
    shared.mkdir()
    (victim / "kept").mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(shared))
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for name in ("9" * 30, "²", "0", "-1", "", f"{ended.pid}"):
        (shared / f"{PREFIX}{name}-x").mkdir()
    (shared / f"{PREFIX}{ended.pid}-link").symlink_to(victim)
    (shared / f"{PREFIX}{ended.pid}-file").touch()
    assert make_workspace().is_dir()
    assert (victim / "kept").is_dir()
    assert not (shared / f"{PREFIX}{ended.pid}-x").exists(), "one of our own"
