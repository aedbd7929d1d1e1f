"""A MirrorMaker 2 properties file -> `MirrorConfig`."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from sparkmirror.config.build import (
    build_clusters,
    build_flows,
    build_heartbeat_pairs,
    parse_aliases,
    warn_of_repeated_aliases,
    warn_of_unknown,
)
from sparkmirror.config.dialects import translate_dialect
from sparkmirror.config.keys import Scope
from sparkmirror.config.model import MirrorConfig
from sparkmirror.config.problems import Problems
from sparkmirror.config.properties import decode_properties, latest_entries, parse_properties
from sparkmirror.config.settings import Settings
from sparkmirror.errors import ConfigError


def load_mirror_config(path: Path, *, only_targets: Collection[str] = ()) -> MirrorConfig:
    """Reads the file; ConfigError names it, and the line of each mistake.

    `only_targets` keeps the flows into these clusters, as MirrorMaker 2's `--clusters` does.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigError(f"{path}: can't read the file: {reason}; expected a properties file") from None
    return parse_mirror_config(decode_properties(content), str(path), only_targets=only_targets)


def parse_mirror_config(text: str, name: str, *, only_targets: Collection[str] = ()) -> MirrorConfig:
    """The same for text at hand; `name` stands for the file in messages."""
    problems = Problems(name)
    latest, warnings = latest_entries(parse_properties(text, name), name)
    entries = translate_dialect(latest)
    aliases = parse_aliases(entries.get("clusters"), problems)
    if not aliases:
        # Without clusters every other complaint would be noise.
        problems.raise_if_any()
    warnings += warn_of_repeated_aliases(entries["clusters"], aliases, name)
    settings = Settings.of(entries.values(), aliases)
    clusters = build_clusters(settings, aliases, problems)
    flows = build_flows(settings, clusters, only_targets, problems)
    heartbeat_pairs = build_heartbeat_pairs(settings, clusters, only_targets, problems)
    problems.raise_if_any()
    return MirrorConfig(
        path=Path(name),
        clusters=tuple(clusters.values()),
        flows=flows,
        heartbeat_pairs=heartbeat_pairs,
        spark={key: entry.value for key, entry in settings.within(Scope.SPARK)},
        warnings=(*warnings, *warn_of_unknown(settings, name)),
        not_in_force=tuple(sorted(entry.key for _, entry in settings.not_in_force())),
        lines={entry.key: entry.line for entry in entries.values()},
    )
