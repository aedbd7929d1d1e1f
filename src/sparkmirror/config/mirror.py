"""A MirrorMaker 2 properties file -> `MirrorConfig`.

    text -> entries -> placeholders filled -> dialects -> MirrorMaker 2's spelling -> settings -> typed flows

Each step adds to the findings, so that one run shows everything that is wrong.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from sparkmirror.config.build import (
    build_clusters,
    build_flows,
    build_heartbeat_pairs,
    parse_aliases,
    warn_of_no_servers,
)
from sparkmirror.config.connector_file import is_connector_file
from sparkmirror.config.consistency import refuse_cycles, refuse_wrong_logins, warn_of_contradictions
from sparkmirror.config.dialects import translate_dialect
from sparkmirror.config.findings import Findings
from sparkmirror.config.keys import Scope
from sparkmirror.config.login_file import read_process_login
from sparkmirror.config.model import FlowConfig, MirrorConfig
from sparkmirror.config.notices import (
    idle_keys,
    judge_unknown_flows,
    refuse_wrong_values,
    warn_of_idle,
    warn_of_unread,
)
from sparkmirror.config.properties import comment_lines, decode_properties, latest_entries, read_properties, shown_key
from sparkmirror.config.providers import Surroundings, fill_placeholders
from sparkmirror.config.settings import Settings
from sparkmirror.config.sharing import mark_sharing
from sparkmirror.config.spelling import respell, respell_clusters
from sparkmirror.config.weakness import warn_of_weaknesses
from sparkmirror.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """A file that was read as far as it can be: `config` is None where there are errors."""

    findings: Findings
    settings: Settings
    config: MirrorConfig | None


def load_mirror_config(path: Path, *, only_targets: Collection[str] = ()) -> MirrorConfig:
    """Reads the file; ConfigError names it, and the line of each mistake.

    `only_targets` keeps the flows into these clusters, as MirrorMaker 2's `--clusters` does.
    """
    return _or_raise(examine_file(path, only_targets=only_targets))


def parse_mirror_config(
    text: str, name: str, *, only_targets: Collection[str] = (), surroundings: Surroundings | None = None
) -> MirrorConfig:
    """The same for text at hand; `name` stands for the file in messages. Reads nothing but `surroundings`."""
    return _or_raise(examine(text, name, only_targets=only_targets, surroundings=surroundings))


def examine_file(path: Path, *, only_targets: Collection[str] = ()) -> Examined:
    """ConfigError where the file can't be read."""
    try:
        content = path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigError(f"{path}: can't read the file: {reason}; expected a properties file") from None
    here = Surroundings(read_text=lambda file: decode_properties(Path(file).read_bytes()), variables=os.environ)
    return examine(decode_properties(content), str(path), only_targets=only_targets, surroundings=here)


def examine(
    text: str, name: str, *, only_targets: Collection[str] = (), surroundings: Surroundings | None = None
) -> Examined:
    findings = Findings(name)
    settings = _read_settings(text, surroundings or Surroundings(), findings)
    config = _build(settings, text, only_targets, findings) if settings.aliases else None
    return Examined(findings=findings, settings=settings, config=None if findings.errors else config)


def _read_settings(text: str, surroundings: Surroundings, findings: Findings) -> Settings:
    """Without clusters every other complaint would be noise: there are none then."""
    written = latest_entries(read_properties(text, findings), findings)
    filled = fill_placeholders(written, surroundings, findings)
    entries = translate_dialect(respell_clusters(filled), findings)
    aliases = parse_aliases(entries.get("clusters"), findings)
    return Settings(
        aliases=aliases,
        entries=respell(entries, aliases, findings) if aliases else entries,
        of_connector="clusters" not in filled and is_connector_file(filled),
        process_login=read_process_login(entries.values(), surroundings, findings),
    )


def _build(settings: Settings, text: str, only_targets: Collection[str], findings: Findings) -> MirrorConfig:
    refuse_wrong_values(settings, findings)
    judge_unknown_flows(settings, findings)
    clusters = build_clusters(settings)
    comments = list(comment_lines(text))
    flows = build_flows(settings, clusters, only_targets, comments, findings)
    warn_of_no_servers(settings, clusters, findings)
    refuse_cycles(flows, settings, findings)
    flows = mark_sharing(flows)
    warn_of_unread(settings, [_pair(flow) for flow in flows], findings)
    warn_of_contradictions(flows, settings, findings)
    warn_of_weaknesses(flows, settings, findings)
    pairs = build_heartbeat_pairs(settings, clusters, only_targets)
    refuse_wrong_logins((*flows, *pairs), settings, findings)
    warn_of_idle(settings, findings)
    return MirrorConfig(
        path=Path(findings.name),
        clusters=tuple(clusters.values()),
        flows=flows,
        heartbeat_pairs=pairs,
        spark={key: entry.value for key, entry in settings.within(Scope.SPARK)},
        warnings=findings.warnings,
        not_in_force=tuple(map(shown_key, idle_keys(settings))),
        lines={written.key: written.line for entry in settings.entries.values() for written in entry.written},
    )


def _pair(flow: FlowConfig) -> tuple[str, str]:
    return flow.source.alias, flow.target.alias


def _or_raise(examined: Examined) -> MirrorConfig:
    if examined.config is None:
        raise ConfigError("\n".join(examined.findings.errors))
    return examined.config
