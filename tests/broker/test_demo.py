"""`sparkmirror demo` as a user runs it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

COMMAND = str(Path(sys.executable).with_name("sparkmirror"))
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")


@pytest.fixture
def folder() -> Iterator[Path]:
    """All temporary files of the demo must come here and be gone at its end. Short, since Spark nests deeply."""
    with tempfile.TemporaryDirectory(prefix="demo-") as name:
        yield Path(name)


def start_demo(folder: Path, *arguments: str, **changes: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [COMMAND, "demo", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "TMPDIR": str(folder), **changes},
    )


def processes_of(folder: Path) -> list[str]:
    """What still runs with our folder for temporary files: command lines."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder).encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


@pytest.mark.timeout(300)
def test_demo_shows_that_both_sides_are_equal(folder: Path) -> None:
    demo = start_demo(folder, "--seconds", "5", "--quick")
    output, _ = demo.communicate(timeout=290)
    assert demo.returncode == 0, output
    assert re.search(r"[\d,]{6,} records in 3 topics are equal on both sides, offsets too", output), output
    assert not CONTROL.search(output)
    assert list(folder.iterdir()) == []
    assert processes_of(folder) == []


@pytest.mark.timeout(180)
def test_interrupt_leaves_nothing(folder: Path) -> None:
    demo = start_demo(folder)
    assert demo.stdout is not None
    for line in demo.stdout:
        if line.startswith("Writing the first records"):
            break
    while not list(folder.glob("*/mirror.log")):
        assert demo.poll() is None
        time.sleep(0.05)
    demo.send_signal(signal.SIGINT)
    began = time.monotonic()
    rest = demo.communicate(timeout=60)[0]
    assert demo.returncode == 130, rest
    assert time.monotonic() - began < 20
    assert list(folder.iterdir()) == []
    assert processes_of(folder) == []


def test_missing_java_is_one_sentence(folder: Path) -> None:
    demo = start_demo(folder, PATH="", JAVA_HOME="")
    output, _ = demo.communicate(timeout=60)
    assert demo.returncode == 3
    assert output.splitlines()[-1] == "Kafka needs Java 17 or newer and there is none on the PATH: install a JDK."
    assert "Traceback" not in output
