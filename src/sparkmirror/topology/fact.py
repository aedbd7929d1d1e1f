"""What an operator should know of a partition or a topic: why it does not go on, or what was passed over."""

from __future__ import annotations

import re
from dataclasses import dataclass

WHOLE_TOPIC = -1  # stands for the partition where a fact is one of the topic
WHOLE_FLOW = ("", WHOLE_TOPIC)  # the place of a fact that is one of the flow

_NAMED = re.compile(r"([a-z]+(?:-[a-z]+)*): (.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """`kind`: stopped (until its cause is gone), waiting (passes by itself) or noted (it goes on all the same).

    `name` is the stable word that operators look for; what only passes has none. `since` is a time in RFC 3339,
    kept as long as kind and name stay.
    """

    kind: str
    error: str
    name: str = ""
    since: str = ""

    @property
    def said(self) -> str:
        return f"{self.name}: {self.error}" if self.name else self.error


def split_name(said: str) -> tuple[str, str]:
    """`gap: offsets ...` becomes its name and its text; the name is empty where there is none."""
    found = _NAMED.fullmatch(said)
    return (found[1], found[2]) if found else ("", said)
