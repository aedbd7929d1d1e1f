"""All that a running mirror shows or writes where somebody might look for a secret: Spark's UI, files, environments."""

from __future__ import annotations

import contextlib
import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil

from sparkmirror.pipeline.desk_keys import KEY_VARIABLE
from tests.support.kafka_client import await_condition
from tests.support.mirror_process import MirrorProcess

PAGES = ("jobs", "stages", "storage", "environment", "executors", "SQL", "StreamingQuery")
ANSWERS = ("jobs", "stages?details=true", "environment", "executors", "allexecutors", "sql?details=true&length=1000")
LAST = 6


def shown_by_spark(folder: Path) -> dict[str, str]:
    """What a file says so that Spark has a UI, and an event log below `folder`."""
    (folder / "events").mkdir()
    return {
        "spark.ui.enabled": "true",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file:{folder / 'events'}",
        "spark.eventLog.compress": "false",
        "spark.local.dir": str(folder),
    }


def all_of_mirror(mirror: MirrorProcess) -> dict[str, bytes]:
    """While it runs: the UI, command lines, log and status file."""
    page = re.findall(r'UI at (http://[^\s"]+)', mirror.log())[-1]
    await_condition(lambda: len(json.loads(get(f"{page}/api/v1/applications"))) == 1, "the UI", 60)
    seen = {f"UI {name}": text.encode() for name, text in all_of_ui(page)}
    for process in mirror.tree():
        with contextlib.suppress(psutil.Error):  # it has ended
            seen[f"command {process.pid}"] = " ".join(process.cmdline()).encode()
    return seen | {"log": mirror.log().encode(), "status file": mirror.status_file.read_bytes()}


def environments(mirror: MirrorProcess) -> dict[str, bytes]:
    """Of all its processes, without what each of them is given by the desk."""
    found = {}
    for process in mirror.tree():
        with contextlib.suppress(OSError):
            given = Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
            found[f"environment {process.pid}"] = b"\0".join(
                each for each in given if not each.startswith(KEY_VARIABLE.encode())
            )
    return found


def core_limit(pid: int) -> str:
    """How large a core dump of a process can be made; 0 for one that has ended."""
    try:
        lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
    except OSError:
        return "0"
    return next(line.split()[5] for line in lines if line.startswith("Max core file size"))


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return str(answer.read().decode(errors="replace"))


def all_of_ui(page: str) -> Iterator[tuple[str, str]]:
    """Each page and each answer, and the pages of the last executions, stages, jobs and queries."""
    api = f"{page}/api/v1/applications"
    api = f"{api}/{json.loads(get(api))[0]['id']}"
    for name in ANSWERS:
        yield f"answer {name}", get(f"{api}/{name}")
    pages = {name: get(f"{page}/{name}/") for name in PAGES}
    yield from pages.items()
    last = {
        "SQL/execution/?id={}": [each["id"] for each in json.loads(get(f"{api}/sql?length=1000"))],
        "stages/stage/?id={}&attempt=0": [each["stageId"] for each in json.loads(get(f"{api}/stages"))],
        "jobs/job/?id={}": [each["jobId"] for each in json.loads(get(f"{api}/jobs"))],
        "StreamingQuery/statistics?id={}": re.findall(r"statistics/?\?id=([0-9a-f-]+)", pages["StreamingQuery"]),
    }
    for path, found in last.items():
        assert found, path
        for number in sorted(found)[-LAST:]:
            yield path.format(number), get(f"{page}/{path.format(number)}")


def all_files(*folders: Path) -> Iterator[tuple[str, bytes]]:
    for folder in folders:
        for path in folder.rglob("*"):
            with contextlib.suppress(OSError):
                if path.is_file():
                    yield str(path), path.read_bytes()


def desk_variables(pid: int) -> list[str]:
    """The key by which the desk knows a Python worker."""
    try:
        given = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []
    named = dict(line.partition("=")[::2] for line in given)
    return [named[KEY_VARIABLE].split(" ")[0]] if KEY_VARIABLE in named else []
