"""A desk in a process of its own, so that its memory can be measured: prints its address and the tasks' keys."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psutil

from sparkmirror.pipeline.desk import Desk
from sparkmirror.pipeline.desk_keys import KEY_VARIABLE


class DeskProcess(NamedTuple):
    address: str
    keys: str
    process: psutil.Process


@contextmanager
def desk_process() -> Iterator[DeskProcess]:
    command = [sys.executable, "-m", "tests.support.desk_process"]
    with subprocess.Popen(
        command, cwd=Path(__file__).parents[2], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None and child.stdin is not None
        yield DeskProcess(child.stdout.readline().strip(), child.stdout.readline().strip(), psutil.Process(child.pid))
        child.stdin.close()


def main() -> None:
    desk = Desk(lambda _: 5.0)
    print(desk.address, desk.environment[KEY_VARIABLE], sep="\n", flush=True)
    sys.stdin.read()
    desk.close()


if __name__ == "__main__":
    main()
