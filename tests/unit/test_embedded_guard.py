"""The guardian ends its children and removes its folder, however its parent ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparkmirror.embedded import guard as guard_module
from sparkmirror.embedded.guard import Child, Guard
from sparkmirror.errors import SetupError

SLEEP = ["/bin/sleep", "600"]
IGNORES_TERM = ["/bin/sh", "-c", "trap '' TERM; echo trapped; while :; do sleep 0.1; done"]
WAIT_S = 10.0
SOURCES = str(Path(guard_module.__file__).parents[2])  # a child Python knows nothing of pytest's path

PARENT = """
import os, sys, time
from pathlib import Path
from sparkmirror.embedded.guard import Guard
guard = Guard(Path(sys.argv[1]), temporary=True)
child = guard.spawn(["/bin/sleep", "600"], output=Path(os.devnull))
if sys.argv[2] == "fork":
    copy = os.fork()
    if copy == 0:
        time.sleep(600)
    print(copy, flush=True)
print(child.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def guard(tmp_path: Path) -> Iterator[Guard]:
    guard = Guard(tmp_path / "made", temporary=True)
    yield guard
    guard.close()


def spawn(guard: Guard, argv: list[str]) -> Child:
    return guard.spawn(argv, output=Path(os.devnull))


def alive(pid: int) -> bool:
    """A zombie counts as gone: whether init reaps orphans is not ours."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_gone(*pids: int) -> None:
    deadline = time.monotonic() + WAIT_S
    while left := [pid for pid in pids if alive(pid)]:
        assert time.monotonic() < deadline, f"still there: {left}"
        time.sleep(0.02)


def test_temporary_folder_lives_as_long_as_the_guard(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    guard = Guard(folder, temporary=True)
    assert folder.is_dir()
    (folder / "data").write_text("x")
    child = spawn(guard, SLEEP)
    guard.close()
    assert not folder.exists()
    assert not child.running
    assert not alive(child.pid)


def test_given_folder_stays(tmp_path: Path) -> None:
    guard = Guard(tmp_path, temporary=False)
    child = spawn(guard, SLEEP)
    guard.close()
    assert tmp_path.is_dir()
    assert not child.running


def test_exit_status_is_told(guard: Guard) -> None:
    child = spawn(guard, ["/bin/sh", "-c", "exit 3"])
    assert child.wait(WAIT_S)
    assert child.status == 3


def test_end_kills_what_ignores_sigterm(guard: Guard, tmp_path: Path) -> None:
    output = tmp_path / "output"
    child = guard.spawn(IGNORES_TERM, output=output)
    while not output.exists() or not output.read_text():
        assert not child.wait(0.01)
    child.end(grace_s=0.2)
    assert child.status == -signal.SIGKILL


def test_end_reaches_a_paused_process(guard: Guard) -> None:
    child = spawn(guard, SLEEP)
    child.signal(signal.SIGSTOP)
    child.end(grace_s=WAIT_S)
    assert child.status == -signal.SIGTERM


def test_program_that_does_not_exist_is_an_error(guard: Guard) -> None:
    with pytest.raises(SetupError, match="no-such-program"):
        spawn(guard, ["/no-such-program"])


def test_folder_that_can_not_be_made_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="can't be made"):
        Guard(tmp_path / "missing" / "made", temporary=True)


def test_children_are_out_of_the_terminals_reach(guard: Guard) -> None:
    child = spawn(guard, SLEEP)
    assert os.getsid(child.pid) != os.getsid(0)
    assert os.getpgid(child.pid) != os.getpgid(0)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a child outlives a killed guardian")
def test_children_die_with_a_killed_guardian(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    guard = Guard(folder, temporary=True)
    child = spawn(guard, SLEEP)
    os.kill(os.getsid(child.pid), signal.SIGKILL)
    assert child.wait(WAIT_S)
    wait_gone(child.pid)
    guard.close()
    assert not folder.exists()


def test_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="can't be made"):
        Guard(tmp_path, temporary=True)
    assert tmp_path.is_dir()


@pytest.mark.parametrize("forked", ["alone", "fork"])
def test_nothing_is_left_when_the_parent_is_killed(tmp_path: Path, forked: str) -> None:
    """A forked copy of the parent holds the guardian's input open, so the parent itself is watched too."""
    folder = tmp_path / "made"
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(folder), forked],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": SOURCES},
    )
    assert parent.stdin and parent.stdout
    copies = [int(parent.stdout.readline())] if forked == "fork" else []
    child = int(parent.stdout.readline())
    guardian = os.getsid(child)
    parent.kill()
    parent.wait()
    wait_gone(child, guardian)
    for copy in copies:
        os.kill(copy, signal.SIGKILL)
    parent.stdin.close()
    parent.stdout.close()
    assert not folder.exists()
