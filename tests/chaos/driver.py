"""One driver of a world with the processes under it, each of which can be killed or made to stand still."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import psutil

from tests.chaos.side import await_true
from tests.support.mirror_process import MirrorProcess

DAEMON = "sparkmirror.pipeline.daemon"


class Driver(MirrorProcess):
    """`environment` is added to ours."""

    def __init__(self, text: str, environment: Mapping[str, str] | None = None) -> None:
        super().__init__(text)
        self._environment = dict(environment or {})

    def start(self) -> Driver:
        before = {key: os.environ.get(key) for key in self._environment}
        os.environ.update(self._environment)
        try:
            super().start()
        finally:
            for key, text in before.items():
                os.environ.pop(key) if text is None else os.environ.update({key: text})
        return self

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def restart(self) -> None:
        """What is left of it is killed first, as whoever watches over it would do."""
        self.kill()
        self.start()

    def jvm(self) -> psutil.Process:
        return next(p for p in self.tree() if _says(p, "org.apache.spark"))

    def daemons(self) -> list[psutil.Process]:
        """The parents of the Python workers; they show the same command."""
        python = [p for p in self.tree() if _runs(p, DAEMON)]
        pids = {p.pid for p in python}
        return [p for p in python if p.ppid() not in pids]

    def workers(self, ports: Collection[int]) -> list[psutil.Process]:
        """Python workers that have a connection to one of these ports."""
        daemons = {p.pid for p in self.daemons()}
        return [p for p in self.tree() if _runs(p, DAEMON) and p.pid not in daemons and _is_connected(p, ports)]

    def facts(self, topic: str) -> list[dict[str, Any]]:
        """What the status file says of a source topic."""
        flows = self.status().get("flows", [])
        return [fact for flow in flows for fact in flow["facts"] if fact["topic"] == topic]

    def await_said(self, text: str, since: int, deadline_s: float) -> None:
        """In the log, behind the first `since` characters."""
        await_true(lambda: text in self.log()[since:], f"the mirror to say {text!r}", deadline_s)


def freeze(processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.suspend()


def wake(processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.resume()


def _runs(process: psutil.Process, module: str) -> bool:
    """The JVM only names it, in a setting."""
    try:
        return module in process.cmdline()
    except psutil.Error:
        return False


def _says(process: psutil.Process, text: str) -> bool:
    try:
        return any(text in word for word in process.cmdline())
    except psutil.Error:
        return False


def _is_connected(process: psutil.Process, ports: Collection[int]) -> bool:
    try:
        return any(each.raddr and each.raddr.port in ports for each in process.net_connections(kind="tcp"))
    except psutil.Error:
        return False
