"""Small Java programs of tests and benchmark: compiled once a version of theirs, and run beside the brokers' jars."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from sparkmirror.embedded.archive import archive_flags
from sparkmirror.embedded.distribution import Distribution, cache_root, prepare
from sparkmirror.embedded.java import java_command
from sparkmirror.errors import SetupError

COMPILE_DEADLINE_S = 60.0
CLOSE_DEADLINE_S = 5.0
HEAP = "-Xmx768m"


class JavaProgram:
    """A running program that is asked and answers line by line, and that ends when its standard input does.

    The input is a pipe that only this process holds, so that it can't outlive us, `kill -9` included. `sources`: the
    folder of the programs, of which `main` is one.
    """

    def __init__(self, sources: Path, main: str, *arguments: str, flags: Sequence[str] = ()) -> None:
        distribution = prepare()
        self._name = main
        self._folder = Path(tempfile.mkdtemp(prefix="sparkmirror-java-"))
        self._log = self._folder / "program.log"
        command = java_command(
            distribution.java,
            # The jars in the archive's order and then ours: an archive holds for class paths that begin with its own.
            class_path=f"{distribution.class_path}:{compiled_classes(sources, distribution)}",
            flags=[HEAP, "-XX:+UseSerialGC", *flags, *archive_flags(distribution.archive)],
            main=main,
            arguments=arguments,
            log=self._log,
        )
        with (self._folder / "console.log").open("wb") as console:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=console)

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, line: str, deadline_s: float) -> str:
        assert self._process.stdin
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()
        return self.await_line(deadline_s)

    def await_line(self, deadline_s: float) -> str:
        """The next line of its output. A program that does not say one in time is killed."""
        assert self._process.stdout
        watchdog = threading.Timer(deadline_s, self._process.kill)
        watchdog.start()
        try:
            line = self._process.stdout.readline()
        finally:
            watchdog.cancel()
        if not line:
            raise SetupError(f"{self._name} ended or was silent for {deadline_s:g} s:\n{self._tail()}")
        return line.decode()

    def close(self) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        try:
            self._process.wait(timeout=CLOSE_DEADLINE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _tail(self) -> str:
        files = [self._folder / "console.log", self._log]
        return "\n".join(file.read_text(errors="replace")[-4000:] for file in files if file.exists())


def compiled_classes(sources: Path, distribution: Distribution) -> Path:
    """The folder of the classes: in the cache, named by all that they are made from."""
    files = sorted(sources.glob("*.java"))
    content = b"".join(file.read_bytes() for file in files)
    digest = hashlib.sha256(content + distribution.home.name.encode() + distribution.java.build.encode())
    folder = cache_root() / f"java-classes-{digest.hexdigest()[:12]}"
    if not folder.exists():
        _compile(files, distribution, folder)
    return folder


def _compile(files: list[Path], distribution: Distribution, folder: Path) -> None:
    """Into a folder of our own that is renamed as the last step; if another process was first, its is as good."""
    partial = folder.with_name(f"{folder.name}.{os.getpid()}.partial")
    # The compiler as a module of the java that we have: where its `javac` lies does not matter.
    compiler = [str(distribution.java.path), "-m", "jdk.compiler/com.sun.tools.javac.Main", "-Xlint:all", "-Werror"]
    command = [*compiler, "-cp", distribution.class_path, "-d", str(partial), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_DEADLINE_S, check=False)
    if done.returncode:
        raise SetupError(f"The programs in {files[0].parent.name} could not be compiled:\n{done.stdout}{done.stderr}")
    try:
        partial.rename(folder)
    except OSError:
        shutil.rmtree(partial)
