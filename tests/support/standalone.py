"""A Spark standalone cluster of processes on loopback."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path

import psutil
import pyspark

from tests.support.kafka_client import await_condition

SPARK_HOME = Path(pyspark.__file__).parent

# What a mirror's file needs for it beside `spark.master`.
ON_LOOPBACK = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m",
}


class Standalone:
    """One master, and workers that are executors' parents."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self.url = ""

    def start(self, workers: int, cores: int = 4) -> None:
        self._spawn("master", "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", "0")
        log = self._folder / "master.log"
        await_condition(lambda: "Starting Spark master at" in log.read_text(), "the Spark master", 60)
        self.url = log.read_text().split("Starting Spark master at ")[1].split()[0]
        for number in range(workers):
            words = (
                "--host",
                "127.0.0.1",
                "--cores",
                f"{cores}",
                "--memory",
                "1g",
                "--work-dir",
                str(self._folder / "work"),
            )
            self._spawn(f"worker{number}", "org.apache.spark.deploy.worker.Worker", *words, self.url)
        await_condition(lambda: log.read_text().count("Registering worker") == workers, "the Spark workers", 60)

    def _spawn(self, name: str, *words: str) -> None:
        environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(SPARK_HOME)}
        with (self._folder / f"{name}.log").open("wb") as log:
            self._processes.append(
                subprocess.Popen(
                    [str(SPARK_HOME / "bin" / "spark-class"), *words], stdout=log, stderr=log, env=environment
                )
            )

    def executors(self) -> list[psutil.Process]:
        """The executors' JVMs, by worker."""
        found = []
        for process in self._processes[1:]:
            for child in psutil.Process(process.pid).children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    if any("CoarseGrainedExecutorBackend" in word for word in child.cmdline()):
                        found.append(child)
        return found

    def workers(self) -> list[psutil.Process]:
        return [psutil.Process(process.pid) for process in self._processes[1:]]

    def freeze_executor(self) -> list[psutil.Process]:
        """Stop an executor with all its Python processes, as if its machine had vanished."""
        executor = self.executors()[-1]
        frozen = [executor, *executor.children(recursive=True)]
        for process in frozen:
            process.suspend()
        return frozen

    def lose_worker(self) -> None:
        """Kill a worker with its executors: nobody starts others in their place."""
        _kill_tree(self._processes.pop())

    def stop(self) -> None:
        for process in self._processes:
            _kill_tree(process)


def _kill_tree(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in [*psutil.Process(process.pid).children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
    process.kill()
    process.wait(timeout=10)
