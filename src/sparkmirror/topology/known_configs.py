"""What the mirror knows of a remote topic's configurations: what it wrote, and what was changed by hand since. Pure.

*By hand* is what the topic has and the mirror did not write, unless the source has the same:

    the topic has   the mirror wrote   the source has
    1               1                  2                the mirror's: becomes 2
    1               -                  1                alike: the mirror's from here on
    3               1                  2                by hand: stays 3
    3               -                  2                by hand, from before the mirror: stays 3
    not set         1                  2                by hand: stays unset
    not set         -                  2                nobody's: becomes 2

By hand it stays, whatever it is changed to, also while the source happens to have the same, until somebody sets on the
target what the source has: that gives it back to the mirror.

A source topic that was made anew is another: nothing of what the topic has was written for that one. So it all counts
as set by hand, unless the new one has the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

Value = str | None  # None: not set


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownConfigs:
    """`written`: by name what the mirror wrote last; while a change is under way, also what was there before it.

    `source_id`: the source topic that it was written for; empty if brokers did not say it.
    """

    source_id: str = ""
    written: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    by_hand: Mapping[str, Value] = field(default_factory=dict)

    def is_by_hand(self, name: str, now: Value, wanted: Value, *, goes_round: bool) -> bool:
        """`goes_round`: the flow back brings what is set here to the source: then it is alike by no chance."""
        was_by_hand = name in self.by_hand
        if now == wanted:
            return was_by_hand and self.by_hand[name] == now and not goes_round
        return was_by_hand or now not in self.written.get(name, (None,))

    def for_source(self, source_id: str, names: Iterable[str]) -> KnownConfigs:
        """The same as it holds for the source topic of this id. `names`: of all configurations."""
        if not source_id or source_id == self.source_id:
            return self
        written = dict.fromkeys(names, ()) if self.source_id else self.written
        return replace(self, source_id=source_id, written=written)

    def beginning(self, values: Mapping[str, Value]) -> KnownConfigs:
        """While these are written: each may have come there or not."""
        both = {name: (*self.written.get(name, (None,)), value) for name, value in values.items()}
        return replace(self, written={**self.written, **{name: tuple(dict.fromkeys(v)) for name, v in both.items()}})

    def having(self, values: Mapping[str, Value]) -> KnownConfigs:
        """When these are written."""
        kept = {name: value for name, value in self.written.items() if name not in values}
        new = {name: (value,) for name, value in values.items() if value is not None}
        return replace(self, written={**kept, **new})


NOTHING_KNOWN = KnownConfigs()
