"""Files are replaced whole, and nobody who may write to their folder can turn the write elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sparkmirror.control.status import write_status
from sparkmirror.whole_file import replacing


def test_a_link_under_a_name_that_can_be_guessed_is_not_followed(tmp_path: Path) -> None:
    victim, path = tmp_path / "victim", tmp_path / "status.json"
    victim.write_text("mine")
    for name in (f".status.json.{os.getpid()}", ".status.json"):
        (tmp_path / name).symlink_to(victim)
    write_status(path, {"a": 1})
    assert victim.read_text() == "mine" and path.read_text() == '{"a": 1}' and not path.is_symlink()


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("old")
    with pytest.raises(RuntimeError), replacing(path) as file:
        file.write(b"half")
        raise RuntimeError
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_who_may_read_the_file_is_the_user_s_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with replacing(tmp_path / "x", lasts=True) as file:
            file.write(b"new")
    finally:
        os.umask(before)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o640


def test_a_command_and_all_that_it_starts_write_no_core_dump() -> None:
    program = (
        "import sys, resource\n"
        "sys.argv = ['sparkmirror', '--help']\n"
        "from sparkmirror.cli.main import main\n"
        "try:\n    main()\n"
        "except SystemExit:\n    print(resource.getrlimit(resource.RLIMIT_CORE))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "(0, 0)"
