"""The clock of the mirror's processes jumps, by libfaketime: never the machine's own."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.chaos.fault import Fault, Kind
from tests.chaos.world import World

LIBRARY_KEY = "FAKETIME_LIBRARY"
UNFAKED = "FAKETIME_DONT_FAKE_MONOTONIC"
HOUR_S = 3600


@cache
def _library() -> Path | None:
    named = os.environ.get(LIBRARY_KEY)
    found = [Path(named)] if named else sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    return next((path for path in found if path.exists()), None)


@cache
def why_no_clock() -> str:
    """Also where the library does not get along with this Python: 0.9.10 refuses every sleep of Python 3.11."""
    if not _library():
        return f"needs libfaketime: apt-get install libfaketime, or set {LIBRARY_KEY}"
    sleep = [sys.executable, "-c", "import time; time.sleep(0.01)"]
    environment = os.environ | {"LD_PRELOAD": str(_library()), "FAKETIME": "+1", UNFAKED: "1"}
    try:
        tried = subprocess.run(sleep, env=environment, capture_output=True, timeout=10, check=False)
    except subprocess.TimeoutExpired:
        return f"Python does not sleep under {_library()}"
    return f"Python can't sleep under {_library()}" if tried.returncode else ""


class ClockStepped(Fault):
    """A driver is started under libfaketime before; the clock steps, and steps back."""

    def __init__(self, world: World, dice: random.Random, seconds: int) -> None:
        super().__init__(world, dice)
        self._seconds = seconds

    def prepare(self) -> None:
        self._file = self.world.folder / "clock"
        self._step(0)
        self.world.dismiss(self.world.driver)
        self.world.start_driver(
            {
                "LD_PRELOAD": str(_library()),
                "FAKETIME_TIMESTAMP_FILE": str(self._file),
                "FAKETIME_CACHE_DURATION": "1",
                UNFAKED: "1",
            }
        )
        self.world.await_copying()

    def begin(self) -> None:
        self._step(self._seconds)

    def hold(self) -> None:
        self.last(5, 8)

    def end(self) -> None:
        self._step(0)

    def _step(self, seconds: int) -> None:
        new = self._file.with_suffix(".new")
        new.write_text(f"{seconds:+d}\n")
        new.replace(self._file)


def _kind(name: str, text: str, seconds: int) -> Kind:
    return Kind(
        name=name,
        text=f"the mirror's clock jumps {text}, and back",
        make=lambda world, dice: ClockStepped(world, dice, seconds),
        worlds=("one",),
        missing=why_no_clock,
    )


KINDS = [
    _kind("clock-forward", "an hour ahead", HOUR_S),
    _kind("clock-backward", "two days back", -48 * HOUR_S),
]
