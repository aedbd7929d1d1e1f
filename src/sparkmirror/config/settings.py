"""Every line of the file, found again with MirrorMaker 2's precedence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import NamedTuple

from sparkmirror.config.keys import FAMILIES, KNOWN_KEYS, PLACES, Key, Reader, Scope
from sparkmirror.config.properties import Entry


class Place(NamedTuple):
    """`owner` is the alias or `A->B` that a line belongs to, else empty; `name` is the key without it."""

    scope: Scope
    owner: str
    name: str

    @property
    def key(self) -> Key[object] | None:
        """The key that is read from here."""
        return PLACES.get((self.scope, self.name))

    @property
    def is_of_family(self) -> bool:
        return self.name.startswith(FAMILIES)


def flow_name(source: str, target: str) -> str:
    return f"{source}->{target}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All entries of one file by key, each spelled as MirrorMaker 2 spells it."""

    aliases: tuple[str, ...]
    # Passwords stand in these; keep them out of logs.
    entries: Mapping[str, Entry] = field(repr=False)
    # The file is that of a single connector, as Connect takes it.
    of_connector: bool = False
    # `sasl.*` of clients that have none of their own, from the process's surroundings.
    process_login: Mapping[str, str] = field(default_factory=dict, repr=False)

    def find(self, key: Key[object], source: str, target: str, reader: Reader | None = None) -> Entry | None:
        """What holds for the flow; where the file has no such line, what speaks for it."""
        stated = self.find_stated(key, source, target, reader)
        if stated is not None:
            return stated
        spoken = (self.find(KNOWN_KEYS[name], source, target) for name in key.fallbacks)
        return next((entry for entry in spoken if entry is not None), None)

    def find_stated(self, key: Key[object], source: str, target: str, reader: Reader | None = None) -> Entry | None:
        """The strongest form of the key itself."""
        flow = flow_name(source, target)
        for form in key.forms(reader):
            entry = self.entries.get(form.format(flow=flow, source=source, target=target))
            if entry is not None:
                return entry
        return None

    def find_for_cluster(self, key: Key[object], alias: str) -> Entry | None:
        forms = (form.format(cluster=alias) for form in key.forms(Reader.CLUSTER))
        return next((self.entries[form] for form in forms if form in self.entries), None)

    def places(self) -> Iterator[tuple[Place, Entry]]:
        places = Places.of(self.aliases)
        for entry in self.entries.values():
            yield places.find(entry.key), entry

    def within(self, scope: Scope, owner: str = "") -> Iterator[tuple[str, Entry]]:
        """The names and entries of one owner, in file order."""
        for place, entry in self.places():
            if place.scope is scope and place.owner == owner:
                yield place.name, entry


@dataclass(frozen=True, slots=True)
class Places:
    """Tells to whom a key belongs. Longest first: `eu.west.topics` belongs to `eu.west` before `eu`."""

    clusters: tuple[str, ...]
    flows: tuple[str, ...]

    @classmethod
    def of(cls, aliases: Sequence[str]) -> Places:
        flows = (flow_name(a, b) for a, b in permutations(aliases, 2))
        return cls(tuple(sorted(aliases, key=len, reverse=True)), tuple(sorted(flows, key=len, reverse=True)))

    def find(self, key: str) -> Place:
        for flow in self.flows:
            if key.startswith(flow + "."):
                return Place(Scope.FLOW, flow, key[len(flow) + 1 :])
        # Before the aliases: a cluster that is called `topics` must not swallow `topics.exclude`.
        if (Scope.GLOBAL, key) in PLACES:
            return Place(Scope.GLOBAL, "", key)
        for alias in self.clusters:
            if key.startswith(alias + "."):
                return Place(Scope.CLUSTER, alias, key[len(alias) + 1 :])
        if "->" in key:
            return Place(Scope.STRAY, "", key)
        return Place(Scope.SPARK if key.startswith("spark.") else Scope.GLOBAL, "", key)
