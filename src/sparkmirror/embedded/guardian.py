"""The program that outlives its parent just long enough to leave nothing behind.

It starts the child processes itself (so that there is no moment in which a child exists and nobody would end
it), and ends them when its standard input closes or its parent is gone, `kill -9` included. Between parent and
guardian PR_SET_PDEATHSIG would not do: it fires when the parent's *thread* ends. The guardian has only one, so its
children may have it, and a killed guardian takes them along. It runs in a session of its own, so that Ctrl-C in
a terminal does not reach brokers which the parent still needs. Run by path with `-I -S`, it imports nothing of
sparkmirror.

Standard input, one JSON object a line        Standard output
  {"spawn": [argv], "output": path}             {"pid": 12} or {"error": "..."}
  {"signal": 15, "pid": 12}                     (nothing)
                                                {"exited": 12, "status": 0} whenever a child ends
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1


class Guardian:
    def __init__(self, parent: int, directory: str, temporary: bool, grace_s: float) -> None:
        self.directory = directory
        self.temporary = temporary
        self.grace_s = grace_s
        self.children: dict[int, subprocess.Popen[bytes]] = {}
        self.pid = os.getpid()
        self.libc = ctypes.CDLL(None) if sys.platform == "linux" else None
        self.asked_to_end = False
        self.pending = b""
        self.wake, wake_end = os.pipe()
        os.set_blocking(wake_end, False)
        signal.set_wakeup_fd(wake_end)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._ask_to_end)
        self.watched = [0, self.wake, *watch_process(parent)]

    def _ask_to_end(self, *_: object) -> None:
        self.asked_to_end = True

    def run(self) -> None:
        while not self.asked_to_end:
            ready, _, _ = select.select(self.watched, [], [])
            if self.wake in ready:
                os.read(self.wake, 4096)
                self.reap()
            if 0 in ready:
                self.read_commands()
            if not {0, self.wake}.issuperset(ready):
                return  # the parent's pidfd: a forked copy of the parent may still hold our input open

    def read_commands(self) -> None:
        data = os.read(0, 1 << 16)
        self.asked_to_end = self.asked_to_end or not data
        *lines, self.pending = (self.pending + data).split(b"\n")
        for line in lines:
            command = json.loads(line)
            if "spawn" in command:
                self.spawn(command["spawn"], command["output"])
            elif command["pid"] in self.children:  # not yet reaped, so the pid can't be somebody else's
                os.kill(command["pid"], command["signal"])

    def spawn(self, argv: list[str], output: str) -> None:
        try:
            with Path(output).open("ab") as console:
                child = subprocess.Popen(
                    argv,
                    stdin=subprocess.DEVNULL,
                    stdout=console,
                    stderr=subprocess.STDOUT,
                    preexec_fn=self.die_with_guardian,  # noqa: PLW1509  unsafe with threads: there are none
                )
        except OSError as error:
            self.tell({"error": f"{argv[0]}: {error}"})
            return
        self.children[child.pid] = child
        self.tell({"pid": child.pid})

    def die_with_guardian(self) -> None:
        """In the child, before its program begins."""
        if self.libc is not None:
            self.libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != self.pid:
                os._exit(1)  # it died a moment before it could have been noticed

    def reap(self) -> None:
        for pid, child in list(self.children.items()):
            status = child.poll()
            if status is not None:
                del self.children[pid]
                self.tell({"exited": pid, "status": status})

    def tell(self, message: dict[str, object]) -> None:
        with contextlib.suppress(BrokenPipeError):  # a dead parent shows as the end of input
            os.write(1, json.dumps(message).encode() + b"\n")

    def end(self) -> None:
        """Ends all children; data that is kept gets `grace_s` to be closed properly first."""
        if not self.temporary:
            self.signal_all(signal.SIGTERM)
            self.signal_all(signal.SIGCONT)  # a paused process can't react
            deadline = time.monotonic() + self.grace_s
            while self.children and time.monotonic() < deadline:
                if select.select([self.wake], [], [], 0.1)[0]:
                    os.read(self.wake, 4096)
                self.reap()
        self.signal_all(signal.SIGKILL)
        for child in self.children.values():
            child.wait()
        if self.temporary:
            remove_tree(self.directory)

    def signal_all(self, number: int) -> None:
        for pid in self.children:
            os.kill(pid, number)


def watch_process(pid: int) -> list[int]:
    """A descriptor that becomes readable when `pid` ends, where the system has one (Linux)."""
    if sys.platform != "linux":
        return []
    with contextlib.suppress(OSError):
        return [os.pidfd_open(pid)]
    return []


def remove_tree(directory: str) -> None:
    import shutil  # noqa: PLC0415  only needed at the very end, and slow to import

    os.chdir("/")
    shutil.rmtree(directory, ignore_errors=True)


def main() -> None:
    options = json.loads(sys.argv[1])
    guardian = Guardian(options["parent"], options["directory"], options["temporary"], options["grace_s"])
    if os.getppid() != options["parent"]:
        return  # it died before we could watch it; nothing was made yet
    if options["temporary"]:
        Path(options["directory"]).mkdir(mode=0o700)
    os.chdir(options["directory"])
    try:
        guardian.tell({"ready": True})
        guardian.run()
    finally:
        guardian.end()


if __name__ == "__main__":
    main()
