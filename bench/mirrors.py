"""The mirrors as processes that are started, measured and ended alike. None of them outlives the benchmark."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import psutil

from bench.measurement import Counts
from bench.process_tree import TreeMeter
from bench.setups import Setup
from sparkmirror.embedded import MirrorMaker2
from sparkmirror.embedded.guard import Guard, temporary_directory
from sparkmirror.embedded.logfile import read_tail
from sparkmirror.errors import SetupError

STOP_DEADLINE_S = 30.0
LEFTOVER_DEADLINE_S = 5.0


class MirrorProcess(Protocol):
    """A process under a guardian of its own, started by its constructor."""

    @property
    def pid(self) -> int: ...
    @property
    def running(self) -> bool: ...
    @property
    def logs(self) -> Sequence[Path]: ...
    def end(self) -> None: ...


class JavaMirror:
    """MirrorMaker 2 with the heap and JVM flags of its own script."""

    def __init__(self, setup: Setup) -> None:
        self._mm2 = MirrorMaker2(setup.properties)
        self._mm2.start()

    @property
    def pid(self) -> int:
        return self._mm2.pid

    @property
    def running(self) -> bool:
        return self._mm2.running

    @property
    def logs(self) -> Sequence[Path]:
        return self._mm2.log_path, self._mm2.directory / "console.log"

    def end(self) -> None:
        self._mm2.stop(STOP_DEADLINE_S)


class SparkMirror:
    """`sparkmirror run FILE`, as a user starts it. Its scratch space goes with the guardian's folder."""

    def __init__(self, setup: Setup, *, once: bool = False) -> None:
        script = Path(sys.executable).with_name("sparkmirror")
        env = shutil.which("env")
        if not script.exists() or env is None:
            raise SetupError("There is no sparkmirror beside this Python: run `make setup`, then `make bench`.")
        self._directory = temporary_directory("bench")
        self._guard = Guard(self._directory, temporary=True)
        file = self._directory / "mirror.properties"
        file.write_text(setup.properties)
        self._console = self._directory / "console.log"
        self._status = self._directory / "status.json"
        command = [env, f"TMPDIR={self._directory}", str(script), "run", str(file)]
        if not setup.is_steady:  # what nobody asks for there costs CPU
            command += ["--status-file", str(self._status)]
        self._child = self._guard.spawn([*command, *(["--once"] if once else [])], output=self._console)

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def running(self) -> bool:
        return self._child.running

    @property
    def status(self) -> int | None:
        return self._child.status

    def counts(self) -> Counts:
        """Of all that was mirrored so far, as its status file has it."""
        with contextlib.suppress(OSError, ValueError):
            document = json.loads(self._status.read_text())
            return Counts(document["records"], document["rebuilt"], document["holes"])
        return Counts(0, 0, 0)

    @property
    def logs(self) -> Sequence[Path]:
        return self._console, *self._directory.glob("sparkmirror-spark-*/stderr.log")

    def end(self) -> None:
        self._child.end(STOP_DEADLINE_S)
        self._guard.close()


class RunningMirror:
    """A mirror and the meter on its tree, whose root is the guardian: it inherits the CPU time of what ends."""

    def __init__(self, process: MirrorProcess) -> None:
        self.began = time.perf_counter()
        self.process = process
        try:
            self._guardian = psutil.Process(process.pid).ppid()
            self.meter = TreeMeter(self._guardian)
        except BaseException:
            process.end()
            raise

    def __enter__(self) -> Self:
        self.meter.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def is_running(self) -> bool:
        return self.process.running

    def counts(self) -> Counts | None:
        """None: MirrorMaker 2 says nothing of the kind."""
        return self.process.counts() if isinstance(self.process, SparkMirror) else None

    def stop(self) -> None:
        """In order, then by force, then whatever it left behind."""
        left = [process for process in self.meter.living() if process.pid != self._guardian]
        self.meter.__exit__(None, None, None)
        self.process.end()
        _, alive = psutil.wait_procs(left, timeout=LEFTOVER_DEADLINE_S)
        for process in alive:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()  # psutil looks first whether the pid is still that process

    def tail(self) -> str:
        return without_paths(read_tail(*self.process.logs))


def start_mirror(setup: Setup) -> RunningMirror:
    process: MirrorProcess = SparkMirror(setup) if setup.is_ours else JavaMirror(setup)
    return RunningMirror(process)


def without_paths(text: str) -> str:
    """Results are kept: they should not tell where somebody's home is."""
    for folder, name in ((tempfile.gettempdir(), "TMP"), (str(Path.cwd()), "."), (str(Path.home()), "~")):
        text = re.sub(rf"{re.escape(folder.rstrip('/'))}(?=/)", name, text) if folder != "/" else text
    return text
