"""The flows that a command line means."""

from __future__ import annotations

from pathlib import Path

from sparkmirror.config.model import FlowConfig, MirrorConfig
from sparkmirror.errors import ConfigError


def choose_flows(config: MirrorConfig, file: Path, name: str | None) -> list[FlowConfig]:
    """All, or the one of that name. ConfigError says which there are."""
    chosen = [flow for flow in config.flows if name in (None, flow.name)]
    if not chosen:
        raise ConfigError(f"{file}: no flow {name}: there are {_names(config)}{_hint(config, name or '')}")
    return chosen


def choose_flow(config: MirrorConfig, file: Path, name: str | None) -> FlowConfig:
    """The name may be left out where there is one flow."""
    chosen = choose_flows(config, file, name)
    if len(chosen) > 1:
        raise ConfigError(f"{file}: expected --flow with one of {_names(config)}")
    return chosen[0]


def _hint(config: MirrorConfig, name: str) -> str:
    """A shell reads `A->B` as `A-`, and writes what is printed into a file B."""
    if not name.endswith("-"):
        return ""
    meant = next((flow for flow in config.flows if flow.source.alias == name[:-1]), config.flows[0])
    return f"; put it in quotes, '{meant.name}', else the shell takes > for a file and writes to {meant.target.alias}"


def _names(config: MirrorConfig) -> str:
    return ", ".join(flow.name for flow in config.flows)
