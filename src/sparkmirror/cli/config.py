"""`sparkmirror config`: what holds for each flow and where each value came from, as tables or as JSON."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from sparkmirror.cli.columns import Columns, draw_rows, plain_lines, widths_of
from sparkmirror.cli.demo.screen import is_lively
from sparkmirror.cli.flows import choose_flows
from sparkmirror.cli.output import complain, draw_parts, say, say_json
from sparkmirror.config.explain import Explained, explain_flow
from sparkmirror.config.keys import Scope
from sparkmirror.config.mirror import Examined, examine_file
from sparkmirror.config.model import FlowConfig, MirrorConfig
from sparkmirror.config.secrecy import shown_value
from sparkmirror.errors import ConfigError

WRONG_USE = 2
COLUMNS = Columns(
    heads=("KEY", "STATE", "FROM", "VALUE"),
    has_long=True,
    styles={"in": "green", "not": "yellow", "better": "cyan"},
)

Flows = Mapping[str, tuple[Explained, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigSettings:
    file: Path
    flow: str | None = None
    as_json: bool = False


def config(settings: ConfigSettings) -> int:
    try:
        examined = examine_file(settings.file)
        if examined.config is None:
            raise ConfigError("\n".join(examined.findings.errors))
        flows = explain_flows(examined, choose_flows(examined.config, settings.file, settings.flow))
    except ConfigError as error:
        complain(str(error))
        return WRONG_USE
    if settings.as_json:
        say_json(document(examined, examined.config, flows))
    else:
        _print_flows(examined.config, flows)
    return 0


def explain_flows(examined: Examined, flows: list[FlowConfig]) -> Flows:
    return {flow.name: explain_flow(examined.settings, flow.source.alias, flow.target.alias) for flow in flows}


# -- the two forms


def cells(row: Explained) -> tuple[str, ...]:
    came_from = "default" if row.line is None else f"line {row.line}: {row.written}"
    return row.name, row.state.value, came_from, row.value or "-"


def document(examined: Examined, config: MirrorConfig, flows: Flows) -> dict[str, Any]:
    """`line` and `written` are null for a default."""
    return {
        "file": str(config.path),
        "clusters": {cluster.alias: list(cluster.bootstrap_servers) for cluster in config.clusters},
        "flows": {
            name: {
                row.name: {
                    "value": row.value,
                    "state": row.state.value,
                    "why": row.why or None,
                    "line": row.line,
                    "written": row.written,
                }
                for row in rows
            }
            for name, rows in flows.items()
        },
        "heartbeats_only": [pair.name for pair in config.heartbeat_pairs],
        "spark": {key: shown_value(key, entry) for key, entry in examined.settings.within(Scope.SPARK)},
        "not_in_force": list(config.not_in_force),
        "warnings": list(config.warnings),
    }


def _print_flows(config: MirrorConfig, flows: Flows) -> None:
    console = Console(highlight=False) if is_lively(sys.stdout.isatty(), os.environ) else None
    servers = {flow.name: (flow.source, flow.target) for flow in config.flows}
    for index, (name, explained) in enumerate(flows.items()):
        rows = [cells(row) for row in explained]
        widths = widths_of(COLUMNS, rows)
        title = f"{name}: " + " -> ".join(",".join(side.bootstrap_servers) for side in servers[name])
        if console is None:
            say(*([""] if index else []), title, *plain_lines(COLUMNS, rows, widths))
            continue
        draw_parts(console, [Text(("\n" if index else "") + title, style="bold")])
        draw_parts(console, draw_rows(COLUMNS, rows, widths, console.width))
    for warning in config.warnings:
        if console is None:
            say(warning)
        else:
            draw_parts(console, [Text(warning, style="yellow")])
