"""The parent's side of `guardian.py`: child processes and a folder that can't outlive this process."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from sparkmirror.errors import SetupError

CLOSE_DEADLINE_S = 60.0
REPLY_DEADLINE_S = 30.0


class Child:
    """A process that the guardian started."""

    def __init__(self, guard: Guard, pid: int) -> None:
        self._guard = guard
        self._exited = threading.Event()
        self.pid = pid
        self.status: int | None = None

    @property
    def running(self) -> bool:
        return not self._exited.is_set()

    def signal(self, number: signal.Signals) -> None:
        """Sent by the guardian, who knows whether the pid is still this process. Nothing if it has ended."""
        if self.running:
            self._guard.send({"signal": int(number), "pid": self.pid})

    def wait(self, timeout_s: float) -> bool:
        """True when the process has ended."""
        return self._exited.wait(timeout_s)

    def end(self, grace_s: float) -> None:
        """SIGTERM, and SIGKILL once `grace_s` is over."""
        self.ask_to_end()
        if not self.wait(grace_s):
            self.kill()

    def ask_to_end(self) -> None:
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)  # a paused process can't react

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.wait(REPLY_DEADLINE_S)

    def mark_exited(self, status: int) -> None:
        self.status = status
        self._exited.set()


class Guard:
    """Owns one guardian process. A temporary folder is made and removed by the guardian."""

    def __init__(self, directory: Path, *, temporary: bool, grace_s: float = 10.0) -> None:
        options = {
            "parent": os.getpid(),
            "directory": str(directory),
            "temporary": temporary,
            "grace_s": grace_s,
        }
        program = Path(__file__).with_name("guardian.py")
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(program), json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._made: Path | None = None
        self._children: dict[int, Child] = {}
        self._replies: queue.Queue[Child | str | None] = queue.Queue()
        self._spawning = threading.Lock()
        self._writing = threading.Lock()
        self._reader = threading.Thread(target=self._read, name="embedded-guard", daemon=True)
        self._reader.start()
        if self._next_reply() is not None:
            self.close()
            raise SetupError(f"The folder {directory} can't be made: name another one, or set TMPDIR.")
        self._made = directory if temporary else None

    def spawn(self, argv: Sequence[str], *, output: Path) -> Child:
        """Starts a child whose console goes to the end of the file `output`."""
        with self._spawning:
            self.send({"spawn": list(argv), "output": str(output)})
            reply = self._next_reply()
        if not isinstance(reply, Child):
            raise SetupError(f"A process could not be started: {reply}.")
        return reply

    def close(self) -> None:
        """Ends all children, and returns when the guardian is gone and the temporary folder with it."""
        assert self._process.stdin and self._process.stdout
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(CLOSE_DEADLINE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        self._process.stdout.close()
        if self._made is not None:
            shutil.rmtree(self._made, ignore_errors=True)  # still there only if the guardian was killed

    def send(self, command: Mapping[str, object]) -> None:
        assert self._process.stdin
        with self._writing:
            try:
                self._process.stdin.write(json.dumps(command).encode() + b"\n")
                self._process.stdin.flush()
            except (BrokenPipeError, ValueError) as error:  # ValueError: closed by us
                raise SetupError("The guardian of the embedded processes has ended: start them anew.") from error

    def _next_reply(self) -> Child | str | None:
        try:
            return self._replies.get(timeout=REPLY_DEADLINE_S)
        except queue.Empty:
            return "the guardian does not answer"

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            message = json.loads(line)
            if "exited" in message:
                self._children[message["exited"]].mark_exited(message["status"])
            elif "pid" in message:
                child = self._children[message["pid"]] = Child(self, message["pid"])
                self._replies.put(child)
            else:
                self._replies.put(message.get("error"))
        for child in self._children.values():
            if child.running:
                child.mark_exited(-signal.SIGKILL)
        self._replies.put("the guardian has ended")


def temporary_directory(name: str) -> Path:
    """Only a name: the guardian makes the folder, so that it is never there without one who removes it."""
    return Path(tempfile.gettempdir()).absolute() / f"sparkmirror-{name}-{uuid.uuid4().hex[:12]}"
