"""The real MirrorMaker 2 (dedicated mode) as a child process: the peer in benchmarks and parity tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from sparkmirror.embedded.distribution import prepare
from sparkmirror.embedded.guard import Guard, temporary_directory
from sparkmirror.embedded.java import STOCK_JVM_FLAGS
from sparkmirror.embedded.logfile import LogFollower
from sparkmirror.embedded.maven import Progress
from sparkmirror.embedded.process import LoggedProcess
from sparkmirror.embedded.readiness import Readiness

MAIN = "org.apache.kafka.connect.mirror.MirrorMaker"
# KAFKA_HEAP_OPTS of connect-mirror-maker.sh
STOCK_HEAP_FLAGS: tuple[str, ...] = ("-Xms256M", "-Xmx2G")
START_DEADLINE_S = 120.0
STOP_DEADLINE_S = 30.0
POLL_S = 0.05


class MirrorMaker2(LoggedProcess):
    """`properties` is the text of an mm2.properties, or the path of one."""

    def __init__(
        self,
        properties: str | Path,
        *,
        directory: Path | None = None,
        jvm_flags: Sequence[str] = (*STOCK_HEAP_FLAGS, *STOCK_JVM_FLAGS),
        arguments: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> None:
        self.directory = directory.absolute() if directory else temporary_directory("mm2")
        super().__init__("MirrorMaker 2", self.directory / "mirrormaker.log")
        self._properties = properties
        self._text = properties if isinstance(properties, str) else properties.read_text()
        self._temporary = directory is None
        self._jvm_flags = list(jvm_flags)
        self._arguments = list(arguments)
        self._progress = progress
        self._guard: Guard | None = None
        self._follower = LogFollower(self.log_path)
        self._readiness = Readiness(self._text)

    def start(self) -> None:
        """Starts the process and returns at once; may be called again after `kill`."""
        if self.running:
            return
        distribution = prepare(progress=self._progress)
        if self._guard is None:
            if not self._temporary:
                self.directory.mkdir(parents=True, exist_ok=True)
            self._guard = Guard(self.directory, temporary=self._temporary)
        self._follower = LogFollower(self.log_path)
        self._readiness = Readiness(self._text)
        arguments = [str(self._write_properties()), *self._arguments]
        command = distribution.command(MAIN, *arguments, flags=self._jvm_flags, log=self.log_path)
        self._spawn(self._guard, command)

    def wait_ready(self, deadline_s: float = START_DEADLINE_S) -> None:
        """Returns when all enabled flows run, with their tasks if there is something to mirror."""
        self._wait_until(self._is_ready, deadline_s, POLL_S)

    def stop(self, deadline_s: float = STOP_DEADLINE_S) -> None:
        """SIGTERM, SIGKILL after `deadline_s`, and the end of the temporary folder. May be called twice."""
        if self._child is not None:
            self._child.end(deadline_s)
        if self._guard is not None:
            self._guard.close()
            self._guard = None

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
