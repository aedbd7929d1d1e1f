"""MirrorMaker 2's way to write a list on the command line: `--clusters A B C`."""

from __future__ import annotations

from collections.abc import Iterable


def spread_clusters(arguments: Iterable[str]) -> list[str]:
    """`--clusters A B,C` becomes `--clusters A --clusters B --clusters C`, which option parsers understand."""
    out: list[str] = []
    listing = False
    for argument in arguments:
        if argument.startswith("-"):
            name, _, value = argument.partition("=")
            listing = name == "--clusters"
            if listing and value:
                out += _spread(value)
            elif not listing:
                out.append(argument)
        elif listing:
            out += _spread(argument)
        else:
            out.append(argument)
    return out


def _spread(text: str) -> list[str]:
    return [word for alias in text.split(",") if alias.strip() for word in ("--clusters", alias.strip())]
