"""The clock of the mirror's processes jumps, by a small library that is loaded before them: never the machine's own."""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
from pathlib import Path

from tests.chaos.fault import Fault, Kind
from tests.chaos.world import World

CODE = Path(__file__).with_suffix(".c")
HOUR_S = 3600


def _why_no_clock() -> str:
    return "" if shutil.which("cc") else "needs a C compiler: apt-get install gcc"


def _build_library(folder: Path) -> Path:
    library = folder / "clock.so"
    if not library.exists():
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(CODE)], check=True, timeout=60)
    return library


class ClockStepped(Fault):
    """A driver with a clock of its own is started before; the clock steps, and steps back."""

    def __init__(self, world: World, dice: random.Random, seconds: int) -> None:
        super().__init__(world, dice)
        self._seconds = seconds

    def prepare(self) -> None:
        self._file = self.world.folder / "clock"
        self._step(0)
        self.world.dismiss(self.world.driver)
        library = _build_library(self.world.folder)
        self.world.start_driver({"LD_PRELOAD": str(library), "CLOCK_OFFSET_FILE": str(self._file)})
        self.world.await_copying()

    def begin(self) -> None:
        self._step(self._seconds)

    def hold(self) -> None:
        self.last(5, 8)

    def end(self) -> None:
        self._step(0)

    def _step(self, seconds: int) -> None:
        """In place, since the processes have mapped the file."""
        with self._file.open("r+b" if self._file.exists() else "wb") as file:
            file.write(struct.pack("=q", seconds))


def _kind(name: str, text: str, seconds: int) -> Kind:
    return Kind(
        name=name,
        text=f"the mirror's clock jumps {text}, and back",
        make=lambda world, dice: ClockStepped(world, dice, seconds),
        worlds=("one",),
        missing=_why_no_clock,
    )


KINDS = [
    _kind("clock-forward", "an hour ahead", HOUR_S),
    _kind("clock-backward", "two days back", -48 * HOUR_S),
]
