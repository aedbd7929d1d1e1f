r"""Text that came from outside, on its way to a terminal, a log or a document.

Names of groups, brokers' messages, hosts and errors of other libraries may hold anything: ESC begins a command to the
terminal, CR and line ends forge lines, C1 and signs of direction do both in disguise. What is not printable is shown as
Python writes it: `\x1b`.
"""

from __future__ import annotations

import json
import re

LONGEST = 32_768
LONGEST_SAID = 1000  # of what a broker says beside its code
_REST = "..."


def shown(text: str, most: int = LONGEST) -> str:
    """In one line, of at most so many characters."""
    text = text if len(text) <= most else text[: most - len(_REST)] + _REST
    return text if text.isprintable() else "".join(map(_character, text))


def shown_lines(text: str) -> str:
    """The same where the text is our own and has several lines."""
    return text if text.isprintable() else "\n".join(shown(line, len(line)) for line in text.split("\n"))


def shown_json(document: object, indent: int | None = None) -> str:
    """A document that is the same to who parses it."""
    return _escape_json(json.dumps(document, indent=indent, ensure_ascii=False))


def _character(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def _escape_json(text: str) -> str:
    if text.isprintable():
        return text
    return re.sub(r"[^ -~\n]", lambda found: found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1], text)
