"""How the mirror stands, as a document: for `--status-file` and for the progress lines."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sparkmirror.control.flow import FlowKeeper
from sparkmirror.control.ledger import Ledger
from sparkmirror.control.log import timestamp
from sparkmirror.control.part import Part
from sparkmirror.copy.receipt import NOTED, STOPPED
from sparkmirror.whole_file import replacing


def flow_status(keeper: FlowKeeper, ledger: Ledger) -> dict[str, Any]:
    view = keeper.view
    facts = ledger.facts(keeper.flow.name)
    ends = view.ends or {}
    partitions = []
    for p in view.landscape.partitions if view.landscape else ():
        place = (p.topic, p.partition)
        end, fact = ends.get(place), facts.get(place)
        partitions.append(
            {
                "topic": p.topic,
                "partition": p.partition,
                "target_topic": p.remote,
                "source_end": end.source if end else None,
                "target_end": end.target if end else None,
                "lag": end.lag if end else None,
                "state": fact.kind if fact and fact.kind != NOTED else "copying",
                "error": fact.said if fact else "",
            }
        )
    known = [p["lag"] for p in partitions if p["lag"] is not None]
    return {
        "flow": keeper.flow.name,
        "state": _state(keeper),
        "problem": view.problem,
        "lag": sum(known),
        "bytes_per_second": round(ledger.rate(keeper.flow.name)),
        "failed": sum(1 for p in partitions if p["state"] == STOPPED),
        "partitions": partitions,
        "facts": [{"topic": t, "partition": p} | asdict(fact) for (t, p), fact in sorted(facts.items())],
    }


def mirror_status(
    keepers: Sequence[FlowKeeper], ledger: Ledger, spark: dict[str, Any], parts: Iterable[Part]
) -> dict[str, Any]:
    return {
        "time": timestamp(time.time()),
        "pid": os.getpid(),
        "records": ledger.records,
        "rebuilt": ledger.rebuilt,
        "holes": ledger.holes,
        "skipped": ledger.skipped,
        "bytes": ledger.bytes,
        "rounds": ledger.rounds,
        "spark": spark,
        "parts": [{"part": p.name, "state": p.state, "error": p.trouble} for p in parts],
        "flows": [flow_status(k, ledger) for k in keepers],
    }


def progress_line(status: dict[str, Any]) -> str:
    rate = status["bytes_per_second"] / 1e6
    text = f"flow {status['flow']}: {status['state']}, lag {status['lag']:,} records, {rate:.1f} MB/s"
    if status["failed"]:
        text += f", {status['failed']} partitions stopped"
    return text


def write_status(path: Path, status: dict[str, Any]) -> None:
    """Replace the file at once: a reader sees the old document or the new one."""
    with replacing(path) as file:
        file.write(json.dumps(status).encode())


def _state(keeper: FlowKeeper) -> str:
    if keeper.view.problem:
        return "unreachable"
    if keeper.view.halt is not None:
        return "halted"
    if keeper.view.landscape is None:
        return "starting"
    return "leading" if keeper.view.leads else "standby"
