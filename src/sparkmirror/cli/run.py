"""`sparkmirror run`: from a file to a running mirror and an exit code."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sparkmirror.cli.output import complain
from sparkmirror.config.mirror import load_mirror_config
from sparkmirror.config.model import MirrorConfig
from sparkmirror.control.address import check_stores
from sparkmirror.control.log import set_up_logging
from sparkmirror.errors import BrokenPartError, ConfigError, SetupError
from sparkmirror.topology.select import refuse_unusable

log = logging.getLogger("sparkmirror.run")

WRONG_USE, CANT_START, NOT_WHOLE, BROKEN = 2, 3, 1, 4
STOP_DEADLINE_S = 4.8
LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("text", "json")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    file: Path
    clusters: tuple[str, ...] = ()
    once: bool = False
    status_file: Path | None = None
    log_level: str = "info"
    log_format: str = "text"


def run(settings: RunSettings) -> int:
    try:
        config = _check(settings)
    except ConfigError as error:
        complain(str(error))
        return WRONG_USE
    set_up_logging(settings.log_level, as_json=settings.log_format == "json")
    _announce(config)
    from sparkmirror.control.mirror import Mirror, RunOptions  # noqa: PLC0415 - Spark only when it is needed

    mirror = Mirror(config, RunOptions(status_file=settings.status_file, once=settings.once))
    _stop_on_signals(mirror.stop)
    try:
        missing = mirror.run()
    except SetupError as error:
        log.error("%s", error)
        return CANT_START
    except BrokenPartError as error:
        log.error("%s", error)
        return BROKEN
    for line in missing:
        log.error("%s", line)
    if mirror.summary:
        log.log(logging.ERROR if missing else logging.INFO, "%s", mirror.summary)
    return NOT_WHOLE if missing else 0


def _check(settings: RunSettings) -> MirrorConfig:
    if settings.log_level.lower() not in LEVELS:
        raise ConfigError(f"--log-level: expected one of {', '.join(LEVELS)}, got {settings.log_level!r}")
    if settings.log_format not in FORMATS:
        raise ConfigError(f"--log-format: expected text or json, got {settings.log_format!r}")
    config = load_mirror_config(settings.file, only_targets=settings.clusters)
    for flow in config.flows:
        refuse_unusable(flow)
        check_stores(flow)
    return config


def _announce(config: MirrorConfig) -> None:
    for warning in config.warnings:
        log.warning("%s", warning)
    for flow in config.flows:
        log.info(
            "flow %s: %s -> %s, topics %s",
            flow.name,
            ",".join(flow.source.bootstrap_servers),
            ",".join(flow.target.bootstrap_servers),
            ",".join(flow.topics),
        )


def _stop_on_signals(stop: Callable[[], None]) -> None:
    """The first signal stops in order, within seconds; the second at once."""

    def handle(number: int, _frame: object) -> None:
        signal.signal(signal.SIGINT, _leave)
        signal.signal(signal.SIGTERM, _leave)
        log.info("%s: finishing what is in flight", signal.Signals(number).name)
        watchdog = threading.Timer(STOP_DEADLINE_S, os._exit, (0,))
        watchdog.daemon = True
        watchdog.start()
        stop()

    signal.signal(signal.SIGINT, handle)
    signal.signal(signal.SIGTERM, handle)


def _leave(number: int, _frame: object) -> None:
    os._exit(128 + number)
