"""A Spark standalone cluster of processes on loopback."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path

import psutil
import pyspark

from sparkmirror.embedded.ports import reserve_port
from tests.support.kafka_client import await_condition

SPARK_HOME = Path(pyspark.__file__).parent

_MASTER = "Starting Spark master at"

# What a mirror's file needs for it beside `spark.master`.
ON_LOOPBACK = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m",
}


class Standalone:
    """One master, which can come back, and workers that are executors' parents."""

    def __init__(self, folder: Path, secret: str = "") -> None:
        """`secret`: without it nobody is let in."""
        self._folder = folder
        self._settings = folder / "settings"
        self._settings.mkdir()
        if secret:
            lines = f"spark.authenticate true\nspark.authenticate.secret {secret}\n"
            (self._settings / "spark-defaults.conf").write_text(lines)
        self._port = reserve_port()
        self._master: subprocess.Popen[bytes] | None = None
        self._workers: list[subprocess.Popen[bytes]] = []
        self._cores = 0
        self.url = f"spark://127.0.0.1:{self._port.number}"

    def start(self, workers: int, cores: int = 4) -> None:
        self._cores = cores
        self.start_master()
        for number in range(workers):
            self._workers.append(self._spawn_worker(number))
        log = self._folder / "master.log"
        await_condition(lambda: log.read_text().count("Registering worker") == workers, "the Spark workers", 60)

    def start_master(self) -> None:
        """Where the last one stood; it knows the applications of before."""
        log = self._folder / "master.log"
        began = log.read_text().count(_MASTER) if log.exists() else 0
        words = ("--host", "127.0.0.1", "--port", f"{self._port.number}")
        self._master = self._spawn("master", "org.apache.spark.deploy.master.Master", *words)
        await_condition(lambda: log.read_text().count(_MASTER) > began, "the Spark master", 60)

    def kill_master(self) -> None:
        assert self._master is not None
        _kill(self._master)

    def start_worker(self, number: int) -> None:
        self._workers[number] = self._spawn_worker(number)

    def kill_worker(self, number: int) -> None:
        """With its executors."""
        _kill(self._workers[number])

    def _spawn_worker(self, number: int) -> subprocess.Popen[bytes]:
        place = ("--host", "127.0.0.1", "--work-dir", str(self._folder / "work"))
        size = ("--cores", f"{self._cores}", "--memory", "1g")
        return self._spawn(f"worker{number}", "org.apache.spark.deploy.worker.Worker", *place, *size, self.url)

    def _spawn(self, name: str, *words: str) -> subprocess.Popen[bytes]:
        kept = f"-Dspark.deploy.recoveryMode=FILESYSTEM -Dspark.deploy.recoveryDirectory={self._folder / 'kept'}"
        environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(SPARK_HOME)}
        environment |= {"SPARK_CONF_DIR": str(self._settings)}
        environment |= {"SPARK_DAEMON_JAVA_OPTS": kept}
        command = [str(SPARK_HOME / "bin" / "spark-class"), *words]
        with (self._folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, env=environment)

    def executors(self) -> list[psutil.Process]:
        """The executors' JVMs, by worker."""
        found = []
        for process in self._workers:
            for child in _children(process):
                with contextlib.suppress(psutil.NoSuchProcess):
                    if any("CoarseGrainedExecutorBackend" in word for word in child.cmdline()):
                        found.append(child)
        return found

    def processes(self) -> list[psutil.Process]:
        """All that are there now."""
        roots = [process for process in (self._master, *self._workers) if process is not None]
        return [each for root in roots for each in (psutil.Process(root.pid), *_children(root))]

    def workers(self) -> list[psutil.Process]:
        return [psutil.Process(process.pid) for process in self._workers]

    def freeze_executor(self) -> list[psutil.Process]:
        """Stop an executor with all its Python processes, as if its machine had vanished."""
        executor = self.executors()[-1]
        frozen = [executor, *executor.children(recursive=True)]
        for process in frozen:
            process.suspend()
        return frozen

    def lose_worker(self) -> None:
        """Kill a worker with its executors: nobody starts others in their place."""
        _kill(self._workers.pop())

    def stop(self) -> None:
        for process in (self._master, *self._workers):
            if process is not None:
                _kill(process)
        self._port.release()


def _kill(process: subprocess.Popen[bytes]) -> None:
    for child in _children(process):
        with contextlib.suppress(psutil.NoSuchProcess):
            child.kill()
    process.kill()
    process.wait(timeout=10)


def _children(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    try:
        return psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
