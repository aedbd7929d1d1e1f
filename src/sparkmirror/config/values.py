"""Text of one value -> its type. Each parser raises ValueError that says what was expected.

Kafka's ConfigDef trims values and splits lists at commas; so do these.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TypeVar

from sparkmirror.config.java_regex import compile_elements
from sparkmirror.config.renames import Renames

T = TypeVar("T")

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
SHORT_MAX = 2**15 - 1

_TOPIC_NAME_PART = re.compile(r"[a-zA-Z0-9._-]+")
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
# Kafka's ClientUtils also takes a protocol in front (PLAINTEXT://host:9092) and ignores it.
_ADDRESS = re.compile(
    r"(?:[a-zA-Z][a-zA-Z0-9+.-]*://)?(?:\[(?P<ipv6>[0-9a-fA-F:.%]+)\]|(?P<host>[0-9a-zA-Z_.%-]+)):(?P<port>[0-9]+)"
)


def text(value: str) -> str:
    return value.strip()


def text_list(value: str) -> tuple[str, ...]:
    return tuple(part for part in (piece.strip() for piece in value.split(",")) if part)


def regex_list(value: str) -> tuple[str, ...]:
    """Names or Java regexes, kept as text: what crosses to executors is compiled there, from a cache."""
    elements = text_list(value)
    compile_elements(elements)
    return elements


def boolean(value: str) -> bool:
    word = value.strip().lower()
    if word not in ("true", "false"):
        raise ValueError(f"expected true or false, got {value.strip()!r}")
    return word == "true"


def integer(least: int, most: int) -> Callable[[str], int]:
    def parse(value: str) -> int:
        return _whole_number(value, least, most)

    return parse


def seconds(least: float, *, above: bool = False) -> Callable[[str], float]:
    """A finite number of seconds, at least (or above) the bound."""

    def parse(value: str) -> float:
        trimmed = value.strip()
        number = float(trimmed) if _NUMBER.fullmatch(trimmed) else math.nan
        fits = number > least if above else number >= least
        if not (fits and math.isfinite(number)):
            bound = f"above {least:g}" if above else f"of at least {least:g}"
            raise ValueError(f"expected a number of seconds {bound}, got {trimmed!r}")
        return number

    return parse


def share(value: str) -> float:
    """Kafka's factors and jitters: a number from 0 to 1."""
    trimmed = value.strip()
    if not _NUMBER.fullmatch(trimmed) or not 0 <= float(trimmed) <= 1:
        raise ValueError(f"expected a number from 0 to 1, got {trimmed!r}")
    return float(trimmed)


def tasks(value: str) -> int | None:
    """`auto` (None) lets the planner choose by partitions and free slots."""
    if value.strip().lower() == "auto":
        return None
    try:
        return _whole_number(value, 1, INT_MAX)
    except ValueError as error:
        raise ValueError(f"{error} (or auto)") from None


def replication_factor(value: str) -> int:
    """-1 is handed through: the broker then takes its own default."""
    number = _whole_number(value, -1, SHORT_MAX)
    if number == 0:
        raise ValueError("expected a replication factor of at least 1, or -1 for the broker's default, got '0'")
    return number


def topic_replication_factor(value: str) -> int | None:
    """`source` (None): as many as the source topic has."""
    if value.strip().lower() == "source":
        return None
    try:
        return replication_factor(value)
    except ValueError as error:
        raise ValueError(f"{error} (or source)") from None


def interval(value: str) -> float | None:
    """Seconds between two runs; a negative number (None) stands for never, as in MirrorMaker 2."""
    if value.strip().startswith("-") and _NUMBER.fullmatch(value.strip()):
        return None
    return seconds(0, above=True)(value)


def retention(value: str) -> int | None:
    """Milliseconds, -1 without end; empty (None): nothing is deleted by age."""
    return _whole_number(value, -1, LONG_MAX) if value.strip() else None


def throttle(value: str) -> int | None:
    """Bytes a second; -1 or 0 (None): as fast as it goes."""
    number = _whole_number(value, -1, LONG_MAX)
    return number if number > 0 else None


def rename_list(value: str) -> tuple[str, ...]:
    """`pattern:name` each. The last colon divides: a regex may have colons, a topic's name has none."""
    elements = text_list(value)
    Renames.of(elements)
    return elements


def topic_name_part(value: str) -> str:
    """What becomes part of topic names, so it obeys their rule."""
    if _TOPIC_NAME_PART.fullmatch(value.strip()) is None:
        raise ValueError(f"expected letters, digits, '.', '_' and '-', got {value.strip()!r}")
    return value.strip()


_DURATION = re.compile(r"P(?!$)(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.IGNORECASE)


def offset_reset(value: str) -> str | float:
    """Where a partition begins of which nothing is known: a word, or the seconds of `by_duration:PT1H` (KIP-1106)."""
    word, _, since = value.strip().partition(":")
    found = _DURATION.fullmatch(since) if word == "by_duration" else None
    if found is not None:
        days, hours, minutes, seconds_ = (float(part or 0) for part in found.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds_
    if value.strip() in ("earliest", "latest", "none"):
        return value.strip()
    said = "expected one of earliest, latest, none, or a time as in by_duration:PT1H"
    raise ValueError(f"{said}, got {value.strip()!r}")


def security_protocol(value: str) -> str:
    """Kafka takes it in any letter case."""
    return one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")(value.upper())


def read_committed(value: str) -> bool:
    return one_of("read_committed", "read_uncommitted")(value) == "read_committed"


def optional(parse: Callable[[str], T]) -> Callable[[str], T | None]:
    """None where the file says nothing: whoever reads it then takes what suits it best."""

    def parse_if_any(value: str) -> T | None:
        return parse(value) if value.strip() else None

    return parse_if_any


def refused(why: str, *harmless: str) -> Callable[[str], str]:
    """Accepts only values that change nothing; a class counts with or without its package."""

    def parse(value: str) -> str:
        given = value.strip()
        if given in ("", *harmless) or given.rpartition(".")[2] in harmless:
            return given
        expected = f"expected {' or '.join(harmless)} or no such line" if harmless else "expected no such line"
        raise ValueError(f"{given!r} is impossible here: {why}; {expected}")

    return parse


def address(value: str) -> tuple[str, int]:
    """`host:port`, `[ipv6]:port` -> host without brackets, port."""
    found = _ADDRESS.fullmatch(value.strip())
    if found is None or not 1 <= int(found["port"]) <= 65535:
        raise ValueError(f"expected host:port or [ipv6]:port with a port from 1 to 65535, got {value.strip()!r}")
    return found["ipv6"] or found["host"], int(found["port"])


def address_list(value: str) -> tuple[str, ...]:
    """Bootstrap servers as plain `host:port`, each once, in the order given."""
    pairs = dict.fromkeys(address(part) for part in text_list(value))
    return tuple(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in pairs)


def one_of(*words: str) -> Callable[[str], str]:
    def parse(value: str) -> str:
        if value.strip() not in words:
            raise ValueError(f"expected one of {', '.join(words)}, got {value.strip()!r}")
        return value.strip()

    return parse


def _whole_number(value: str, least: int, most: int) -> int:
    trimmed = value.strip()
    # int() would also take 1_000 and digits of other scripts, which Java refuses.
    if _WHOLE_NUMBER.fullmatch(trimmed) and len(trimmed) < 25 and least <= int(trimmed) <= most:
        return int(trimmed)
    raise ValueError(f"expected a whole number from {least} to {most}, got {trimmed!r}")
