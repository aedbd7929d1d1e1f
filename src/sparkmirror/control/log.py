"""Log lines: one an event, times in RFC 3339 UTC, as text or as JSON."""

from __future__ import annotations

import logging
import sys
import traceback
from datetime import UTC, datetime

from sparkmirror.errors import UnreachableError
from sparkmirror.shown import shown, shown_json

ROOT = "sparkmirror"


class TextFormatter(logging.Formatter):
    """`2026-01-31T10:00:00.000Z INFO flow a->b: ...`"""

    def format(self, record: logging.LogRecord) -> str:
        where = "".join(f" | {shown(line.strip())}" for line in trace_of(record).splitlines())
        return f"{timestamp(record.created)} {record.levelname} {one_line(record.getMessage())}{where}"


class JsonFormatter(logging.Formatter):
    """The same as an object a line."""

    def format(self, record: logging.LogRecord) -> str:
        return shown_json(
            {
                "time": timestamp(record.created),
                "level": record.levelname,
                "logger": record.name,
                "message": one_line(record.getMessage()),
            }
            | ({"traceback": trace_of(record)} if record.exc_info else {})
        )


def complaint_level(error: Exception) -> int:
    """A cluster that does not answer is the flow's keeper to say, once for all who ask it."""
    return logging.DEBUG if isinstance(error, UnreachableError) else logging.WARNING


def timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_timestamp(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


def trace_of(record: logging.LogRecord) -> str:
    return "".join(traceback.format_exception(*record.exc_info)) if record.exc_info else ""


def one_line(text: str) -> str:
    """Whoever wrote it."""
    return shown(" ".join(text.split("\n")))


def set_up_logging(level: str = "INFO", *, as_json: bool = False) -> None:
    """To standard error; libraries only from warnings on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if as_json else TextFormatter())
    logging.basicConfig(level=logging.ERROR, handlers=[handler], force=True)
    logging.getLogger(ROOT).setLevel(level.upper())
