"""Frames that come and go get no new pages from the system."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

FRAMES = """
import resource, sys
from sparkmirror.copy.memory import keep_freed_memory

if sys.argv[1] == "kept":
    keep_freed_memory()

def go_through(rounds):
    for _ in range(rounds):
        frames = [bytearray(2 << 20) for _ in range(10)]
        del frames

go_through(2)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
go_through(10)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def _count_faults(how: str) -> int:
    run = subprocess.run([sys.executable, "-c", FRAMES, how], capture_output=True, text=True, check=True)
    return int(run.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have their own ways")
def test_freed_memory_is_used_again() -> None:
    assert _count_faults("kept") < 100 < _count_faults("left")
