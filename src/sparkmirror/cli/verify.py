"""`sparkmirror verify`: compares both sides of a flow, shows how far it is, and says what differs."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sparkmirror.cli.demo.screen import is_lively
from sparkmirror.cli.flows import choose_flow
from sparkmirror.cli.output import complain, say
from sparkmirror.cli.verify_progress import Progress, open_progress
from sparkmirror.cli.verify_view import draw_report, plain_report
from sparkmirror.config.mirror import load_mirror_config
from sparkmirror.control.address import check_stores
from sparkmirror.errors import ConfigError, SparkmirrorError
from sparkmirror.topology.select import refuse_unusable

if TYPE_CHECKING:
    from sparkmirror.control.verify import VerifyOptions
    from sparkmirror.control.verify_report import VerifyReport

NOT_COMPARED = 2
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_SIZES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifySettings:
    """What the command line says."""

    file: Path
    flow: str | None = None
    topics: str | None = None
    since: str | None = None
    sample: int | None = None
    throttle: str | None = None
    seed: int | None = None
    report: Path | None = None


def verify(settings: VerifySettings) -> int:
    try:
        return _verify(settings)
    except ConfigError as error:
        complain(str(error))
    except SparkmirrorError as error:
        complain(f"{error}; nothing was compared. sparkmirror doctor says what is wrong")
    return NOT_COMPARED


def _verify(settings: VerifySettings) -> int:
    options = _options(settings)
    config = load_mirror_config(settings.file)
    flow = choose_flow(config, settings.file, settings.flow)
    refuse_unusable(flow)
    check_stores(flow)
    if settings.report is not None and not settings.report.absolute().parent.is_dir():
        raise ConfigError(f"--report: {settings.report.absolute().parent} is no directory")
    from sparkmirror.control.status import write_status  # noqa: PLC0415 - Kafka's schemas and Spark only when needed
    from sparkmirror.control.verify import verify_flow  # noqa: PLC0415
    from sparkmirror.control.verify_report import document  # noqa: PLC0415

    with open_progress(flow.name) as progress, _stopping(progress):
        report = verify_flow(flow, config.spark, options, progress.show)
    if settings.report is not None:
        write_status(settings.report, document(report))
    _show(report)
    return report.exit_code


@contextlib.contextmanager
def _stopping(progress: Progress) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        progress.close()
        complain("stopped; nothing was changed on either cluster")
        os._exit(130)


def _show(report: VerifyReport) -> None:
    if is_lively(sys.stdout.isatty(), os.environ):
        draw_report(report)
    else:
        say(*plain_report(report))


def _options(settings: VerifySettings) -> VerifyOptions:
    from sparkmirror.control.verify import VerifyOptions  # noqa: PLC0415

    if settings.topics is not None:
        try:
            re.compile(settings.topics)
        except re.error as error:
            raise ConfigError(f"--topics: {settings.topics!r} is no regular expression: {error}") from error
    return VerifyOptions(
        topics=settings.topics,
        since_ms=None if settings.since is None else parse_since(settings.since, time.time()),
        sample=settings.sample,
        seed=secrets.randbelow(1 << 32) if settings.seed is None else settings.seed,
        bytes_per_second=None if settings.throttle is None else parse_rate(settings.throttle),
    )


def parse_since(text: str, now: float) -> int:
    """A time as ISO 8601 has it, or how long ago: milliseconds since 1970."""
    if ago := re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw])", text.strip()):
        return int((now - float(ago[1]) * _UNITS[ago[2]]) * 1000)
    try:
        return int(datetime.fromisoformat(text.strip()).timestamp() * 1000)
    except ValueError as error:
        raise ConfigError(
            f"--since: expected a time such as 2026-01-31T10:00:00Z or how long ago, such as 2h, got {text!r}"
        ) from error


def parse_rate(text: str) -> float:
    """Bytes a second; 10M is ten million."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmg]?)b?(?:/s)?", text.strip().lower())
    rate = float(found[1]) * _SIZES[found[2]] if found else 0.0
    if rate <= 0:
        raise ConfigError(f"--throttle: expected bytes a second, such as 5000000 or 5M, got {text!r}")
    return rate
