"""How the mirror stands, as a document: for `--status-file` and for the progress lines."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sparkmirror.control.discovery import Landscape, Place
from sparkmirror.control.flow import FlowKeeper
from sparkmirror.control.lag import Ends, find_lag, last_known, sum_lags
from sparkmirror.control.lag_watch import OLD_S
from sparkmirror.control.ledger import Ledger
from sparkmirror.control.log import timestamp
from sparkmirror.control.part import Part
from sparkmirror.copy.receipt import NOTED, STOPPED
from sparkmirror.topology.fact import WHOLE_TOPIC, Fact
from sparkmirror.topology.standing import Standing
from sparkmirror.whole_file import replacing

Hints = Mapping[str, Mapping[Place, Standing]]  # by flow


def flow_status(keeper: FlowKeeper, ledger: Ledger, hints: Mapping[Place, Standing]) -> dict[str, Any]:
    """`hints`: what tasks told last. Lags are null where they are not known (`control/lag.py`)."""
    view = keeper.view
    facts = ledger.facts(keeper.flow.name)
    ends, heard_s = view.ends or {}, time.monotonic() - view.heard_at
    is_deaf = bool(view.problem) and (heard_s >= OLD_S or view.silent == keeper.flow.source.alias)
    partitions: list[dict[str, Any]] = []
    for p in view.landscape.partitions if view.landscape else ():
        place = (p.topic, p.partition)
        end, fact = ends.get(place), facts.get(place)
        told = hints.get(place) or keeper.progress.written.get(place)
        partitions.append(
            {
                "topic": p.topic,
                "partition": p.partition,
                "target_topic": p.remote,
                "source_end": _source_end(end, told, fact) if end else None,
                "target_end": max(end.target, told.target_end if told else 0) if end else None,
                "lag": last_known(find_lag(end, told, fact), is_deaf=is_deaf) if end else None,
                "state": fact.kind if fact and fact.kind != NOTED else "copying",
                "error": fact.said if fact else "",
            }
        )
    partitions += _unmade(view.landscape, facts) if view.landscape else ()
    return {
        "flow": keeper.flow.name,
        "state": _state(keeper),
        "problem": view.problem,
        "lag": sum_lags([p["lag"] for p in partitions]) if view.landscape else None,
        "source_heard_seconds_ago": round(heard_s, 1) if view.heard_at else None,
        "bytes_per_second": round(ledger.rate(keeper.flow.name)),
        "failed": sum(1 for p in partitions if p["state"] == STOPPED),
        "partitions": partitions,
        "facts": [{"topic": t, "partition": p} | asdict(fact) for (t, p), fact in sorted(facts.items())],
    }


def _unmade(landscape: Landscape, facts: Mapping[Place, Fact]) -> Iterator[dict[str, Any]]:
    """Partitions that can't be made on the target: nothing of them is there, and nobody asks how much that is."""
    known = {(p.topic, p.partition) for p in landscape.partitions}
    for pair in landscape.pairs:
        for place in ((pair.topic, number) for number in range(pair.present, pair.partitions)):
            fact = facts.get(place) or facts.get((pair.topic, WHOLE_TOPIC))
            if fact and fact.kind == STOPPED and place not in known:
                ends = dict.fromkeys(("source_end", "target_end", "lag"))
                where = {"topic": pair.topic, "partition": place[1], "target_topic": pair.remote}
                yield where | ends | {"state": STOPPED, "error": fact.said}


def _source_end(end: Ends, told: Standing | None, fact: Fact | None) -> int:
    """What was told may be newer; but of a partition that stopped the source may have lost what was copied."""
    is_stopped = fact is not None and fact.kind == STOPPED
    return end.source if told is None or is_stopped else max(end.source, told.next_offset)


def mirror_status(
    keepers: Sequence[FlowKeeper], ledger: Ledger, spark: dict[str, Any], parts: Iterable[Part], hints: Hints
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
        "flows": [flow_status(k, ledger, hints.get(k.flow.name, {})) for k in keepers],
    }


def progress_line(status: dict[str, Any]) -> str:
    rate = status["bytes_per_second"] / 1e6
    text = f"flow {status['flow']}: {status['state']}, {_lag_text(status)}, {rate:.1f} MB/s"
    if status["failed"]:
        text += f", {status['failed']} partitions stopped"
    return text


def _lag_text(status: dict[str, Any]) -> str:
    """How old it is where nobody can be asked."""
    if status["lag"] is None:
        return "lag unknown"
    age_s = status["source_heard_seconds_ago"] or 0.0
    old = f" {age_s:.0f} s ago" if status["problem"] and age_s >= OLD_S else ""
    return f"lag {status['lag']:,} records{old}"


def write_status(path: Path, status: dict[str, Any]) -> None:
    """Replace the file at once: a reader sees the old document or the new one."""
    with replacing(path) as file:
        file.write(json.dumps(status).encode())


def _state(keeper: FlowKeeper) -> str:
    if keeper.view.problem:
        return keeper.view.problem_state
    if keeper.view.halt is not None:
        return "halted"
    if keeper.view.landscape is None:
        return "starting"
    return "leading" if keeper.view.leads else "standby"
