"""Five ways to learn how a mirror stands, each reduced to what it says of one place.

file     the document of --status-file                 status   sparkmirror status FILE --json
log      lines on standard error                       doctor   sparkmirror doctor FILE --json
                                                       plan     sparkmirror plan FILE --json

A place is a partition, a topic (partition -1) or the whole flow (WHOLE_FLOW).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparkmirror.topology.fact import WHOLE_FLOW, WHOLE_TOPIC
from tests.support.command import run_command
from tests.truth.world import FLOW, Place, World

FILE, LOG, STATUS, DOCTOR, PLAN = VIEWS = ("file", "log", "status", "doctor", "plan")
COMMANDS = (STATUS, DOCTOR, PLAN)
DEADLINE_S = 90.0
_LINE = re.compile(r"\S+ (?:DEBUG|INFO|WARNING|ERROR) (.*)")


@dataclass(frozen=True)
class Said:
    """`state` is a word, `lag` a number or `unknown`, both empty where the view does not speak of them."""

    state: str = ""
    lag: str = ""
    text: str = ""
    code: int | None = None


def ask(view: str, world: World) -> tuple[Any, int]:
    """A command's document and its exit code."""
    done = run_command(view, str(world.file), "--json", deadline_s=DEADLINE_S)
    assert done.stdout.strip(), f"{view} printed nothing:\n{done.stderr[-3000:]}"
    return json.loads(done.stdout), done.returncode


def read_file(path: Path, place: Place) -> Said:
    try:
        document = json.loads(path.read_text())
    except (OSError, ValueError):
        return Said()
    flow = next(flow for flow in document["flows"] if flow["flow"] == FLOW)
    if place == WHOLE_FLOW:
        facts = [_fact(fact) for fact in flow["facts"] if not fact["topic"]]
        return Said(flow["state"], _lag(flow["lag"]), flow["problem"] or " ".join(facts))
    row = next((row for row in flow["partitions"] if (row["topic"], row["partition"]) == place), None)
    if row is not None:
        return Said(row["state"], _lag(row["lag"]), row["error"])
    found = [fact for fact in flow["facts"] if (fact["topic"], fact["partition"]) == place]
    return Said(found[0]["kind"] if found else "", "", " ".join(map(_fact, found)))


def read_log(text: str, place: Place) -> Said:
    """The last line that tells how the place stands."""
    topic, partition = place
    where = f"topic {topic}" if partition == WHOLE_TOPIC else f"{topic}-{partition}"
    start = f"flow {FLOW}: " + ("" if place == WHOLE_FLOW else f"{re.escape(where)}:? ")
    for line in reversed(text.splitlines()):
        message = _LINE.fullmatch(line)
        found = re.fullmatch(f"{start}(.*)", message[1]) if message else None
        if found is None:
            continue
        word = re.match(r"(stopped|waiting|noted|goes on)\b", found[1].removeprefix("all topics "))
        if place != WHOLE_FLOW and word is None and "is over" not in found[1]:
            continue
        if place == WHOLE_FLOW and not re.search(r"trying again|goes on|all topics|leading|unreachable", found[1]):
            continue
        return Said(word[1] if word else "", "", found[1])
    return Said()


def read_status(document: Any, code: int, place: Place) -> Said:
    flow = next(flow for flow in document["flows"] if flow["flow"] == FLOW)
    if place == WHOLE_FLOW:
        text = " ".join(filter(None, (flow["problem"], flow["rival"], flow.get("unable", ""), _fact(flow["fact"]))))
        return Said("running" if flow["running"] else "not running", "", text, code)
    row = next((p for p in flow["partitions"] if (p["topic"], p["partition"]) == place), None)
    if row is not None:
        return Said(row["state"], _lag(row["lag"]), _fact(row["fact"]), code)
    whole = next((t for t in flow["topics"] if t["topic"] == place[0]), None)
    return Said(whole["fact"]["kind"] if whole and whole["fact"] else "", "", _fact(whole and whole["fact"]), code)


def read_doctor(document: Any, code: int, place: Place) -> Said:
    """What did not pass. A verdict names its places itself."""
    found = [check for check in document["checks"] if check["level"] != "PASS" and _is_about(check, place)]
    worst = sorted(found, key=lambda check: ("FAIL", "WARN", "SKIP").index(check["level"]))
    text = " | ".join(f"{check['said']}; {check['cure']}" for check in worst)
    return Said(worst[0]["level"] if worst else "", "", text, code)


def read_plan(document: Any, code: int, place: Place) -> Said:
    flow = next(flow for flow in document["flows"] if flow["flow"] == FLOW)
    refused = [f"{step['topic']}: {step['refusal']}" for step in flow["steps"] if step["refusal"]]
    said = [text for text in (*refused, *flow["notes"]) if place == WHOLE_FLOW or _names(text, place[0])]
    state = "refused" if any(text in refused for text in said) else "noted" if said else ""
    return Said(state, "", flow["problem"] or " | ".join(said), code)


def read_command(view: str, answer: tuple[Any, int], place: Place) -> Said:
    return {STATUS: read_status, DOCTOR: read_doctor, PLAN: read_plan}[view](*answer, place)


def _fact(fact: Any) -> str:
    return f"{fact['name']}: {fact['error']}" if fact and fact["name"] else fact["error"] if fact else ""


def _lag(lag: int | None) -> str:
    return "unknown" if lag is None else str(lag)


def _names(text: str, topic: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(topic)}(?![\w])", text) is not None


def _is_about(check: Any, place: Place) -> bool:
    return place == WHOLE_FLOW or _names(check["said"], place[0])
