"""The real MirrorMaker 2 (dedicated mode) as a child process: the peer in benchmarks and parity tests."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from sparkmirror.embedded.distribution import KAFKA_VERSION, prepare
from sparkmirror.embedded.guard import Child, Guard, temporary_directory
from sparkmirror.embedded.java import STOCK_JVM_FLAGS, java_command
from sparkmirror.embedded.logfile import LogFollower, read_tail
from sparkmirror.embedded.maven import Progress
from sparkmirror.embedded.readiness import Readiness
from sparkmirror.errors import SetupError

# KAFKA_HEAP_OPTS of connect-mirror-maker.sh
STOCK_HEAP_FLAGS: tuple[str, ...] = ("-Xms256M", "-Xmx2G")
START_DEADLINE_S = 120.0
STOP_DEADLINE_S = 30.0
POLL_S = 0.05


class MirrorMaker2:
    """`properties` is the text of an mm2.properties, or the path of one."""

    def __init__(
        self,
        properties: str | Path,
        *,
        directory: Path | None = None,
        jvm_flags: Sequence[str] = (*STOCK_HEAP_FLAGS, *STOCK_JVM_FLAGS),
        arguments: Sequence[str] = (),
        version: str = KAFKA_VERSION,
        progress: Progress | None = None,
    ) -> None:
        self._properties = properties
        self._text = properties if isinstance(properties, str) else properties.read_text()
        self._temporary = directory is None
        self.directory = directory.absolute() if directory else temporary_directory("mm2")
        self.log_path = self.directory / "mirrormaker.log"
        self._jvm_flags = list(jvm_flags)
        self._arguments = list(arguments)
        self._version = version
        self._progress = progress
        self._guard: Guard | None = None
        self._child: Child | None = None
        self._follower = LogFollower(self.log_path)
        self._readiness = Readiness(self._text)

    @property
    def pid(self) -> int:
        return self._started().pid

    @property
    def running(self) -> bool:
        return self._child is not None and self._child.running

    def start(self) -> None:
        """Starts the process and returns at once; may be called again after `kill`."""
        if self.running:
            return
        distribution = prepare(self._version, progress=self._progress)
        if self._guard is None:
            if not self._temporary:
                self.directory.mkdir(parents=True, exist_ok=True)
            self._guard = Guard(self.directory, temporary=self._temporary)
        self._follower = LogFollower(self.log_path)
        self._readiness = Readiness(self._text)
        command = java_command(
            distribution.java,
            class_path=distribution.class_path,
            flags=self._jvm_flags,
            main="org.apache.kafka.connect.mirror.MirrorMaker",
            arguments=[str(self._write_properties()), *self._arguments],
            log=self.log_path,
        )
        self._child = self._guard.spawn(command, output=self._console)

    def wait_ready(self, deadline_s: float = START_DEADLINE_S) -> None:
        """Returns when all enabled flows run, with their tasks if there is something to mirror."""
        child = self._started()
        deadline = time.monotonic() + deadline_s
        while not self._is_ready():
            if child.wait(POLL_S):
                raise SetupError(f"MirrorMaker 2 ended with status {child.status}. {self._tail()}")
            if time.monotonic() > deadline:
                raise SetupError(f"MirrorMaker 2 was not ready after {deadline_s:.0f} s. {self._tail()}")

    def stop(self, deadline_s: float = STOP_DEADLINE_S) -> None:
        """SIGTERM, SIGKILL after `deadline_s`, and the end of the temporary folder. May be called twice."""
        if self._child is not None:
            self._child.end(deadline_s)
        if self._guard is not None:
            self._guard.close()
            self._guard = None

    def kill(self) -> None:
        """SIGKILL; returns when the process is gone. The folder stays until `stop`."""
        self._started().kill()

    def __enter__(self) -> Self:
        try:
            self.start()
            self.wait_ready()
        except BaseException:
            self.stop(deadline_s=0)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _is_ready(self) -> bool:
        for line in self._follower.read_lines():
            self._readiness.see(line)
        return self._readiness.ready

    def _write_properties(self) -> Path:
        if isinstance(self._properties, Path):
            return self._properties.absolute()
        path = self.directory / "mm2.properties"
        path.write_text(self._properties)
        return path

    def _started(self) -> Child:
        if self._child is None:
            raise SetupError("MirrorMaker 2 has not been started.")
        return self._child

    @property
    def _console(self) -> Path:
        return self.directory / "console.log"

    def _tail(self) -> str:
        return read_tail(self.log_path, self._console)
