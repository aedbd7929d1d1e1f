"""`topics.map`: names on the target that the user gives, by name or by regex; several topics may share one.

    orders:orders-eu            orders      becomes  orders-eu
    logs-(.*):eu-logs-$1        logs-web    becomes  eu-logs-web
    clicks-.*:all-clicks        clicks-a, clicks-b   merge into all-clicks

The first pattern that matches a whole name counts. What matches none follows the replication policy.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sparkmirror.config.java_regex import compile_elements
from sparkmirror.config.name_pattern import NamePattern

_PLAIN_NAME = re.compile(r"[a-zA-Z0-9._-]+")
_GROUP = re.compile(r"\$(\d)")
LONGEST_NAME = 249


@dataclass(frozen=True, slots=True, kw_only=True)
class Rename:
    """`can_merge`: several topics can get this name."""

    pattern: NamePattern
    name: str
    can_merge: bool

    def example(self) -> str:
        """A name that it may give."""
        return _GROUP.sub("x", self.name)

    def apply(self, topic: str) -> str | None:
        found = self.pattern.fullmatch(topic)
        return _GROUP.sub(lambda group: found[int(group[1])] or "", self.name) if found else None


@dataclass(frozen=True, slots=True)
class Renames:
    entries: tuple[Rename, ...] = ()

    @classmethod
    def of(cls, elements: Sequence[str]) -> Renames:
        """ValueError names the element that is wrong."""
        pairs = [(pattern.strip(), name.strip()) for pattern, _, name in (e.rpartition(":") for e in elements)]
        names = [name for _, name in pairs]
        return cls(tuple(_rename(pattern, name, shared=names.count(name) > 1) for pattern, name in pairs))

    def find(self, topic: str) -> Rename | None:
        return next((entry for entry in self.entries if entry.pattern.fullmatch(topic)), None)


def _rename(pattern: str, name: str, *, shared: bool) -> Rename:
    if not pattern or not name:
        raise ValueError(f"expected pairs such as orders:orders-eu, got {pattern or name!r}")
    compiled = compile_elements((pattern,))
    assert compiled is not None
    groups = [int(number) for number in _GROUP.findall(name)]
    if any(number > compiled.groups for number in groups):
        raise ValueError(f"{pattern}:{name}: ${max(groups)} is no group of the pattern, which has {compiled.groups}")
    bare = _GROUP.sub("", name)
    if (bare and not _PLAIN_NAME.fullmatch(bare)) or len(bare) > LONGEST_NAME or name in (".", ".."):
        raise ValueError(f"{pattern}:{name}: expected a topic name of letters, digits, '.', '_', '-' and $1 to $9")
    can_merge = shared or not (groups or _PLAIN_NAME.fullmatch(pattern))
    return Rename(pattern=compiled, name=name, can_merge=can_merge)
