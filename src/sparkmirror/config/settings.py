"""Every line of the file put in its scope, and looked up from there with MirrorMaker 2's precedence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple, TypeVar

from sparkmirror.config.keys import KNOWN_KEYS, Key, Scope
from sparkmirror.config.problems import Problems
from sparkmirror.config.properties import Entry

T = TypeVar("T")


class Place(NamedTuple):
    """`owner` is the alias or `A->B` that a line belongs to, else empty; `name` is the key without it."""

    scope: Scope
    owner: str
    name: str


def flow_name(source: str, target: str) -> str:
    return f"{source}->{target}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All entries of one file by place."""

    entries: Mapping[Place, Entry]

    @classmethod
    def of(cls, entries: Iterable[Entry], aliases: Sequence[str]) -> Settings:
        # Longest first: with the aliases `eu` and `eu.west`, `eu.west.topics` belongs to `eu.west`.
        clusters = sorted(aliases, key=len, reverse=True)
        flows = sorted((flow_name(a, b) for a, b in permutations(aliases, 2)), key=len, reverse=True)
        return cls(entries={_place(entry.key, clusters, flows): entry for entry in entries})

    def within(self, scope: Scope, owner: str = "") -> Iterator[tuple[str, Entry]]:
        """The names and entries of one owner, in file order."""
        for place, entry in self.entries.items():
            if place.scope is scope and place.owner == owner:
                yield place.name, entry

    def not_in_force(self) -> Iterator[tuple[Place, Entry]]:
        for place, entry in self.entries.items():
            key = KNOWN_KEYS.get(place.name)
            in_force = key is not None and place.scope in key.in_force
            if place.scope is not Scope.SPARK and not in_force:
                yield place, entry

    def flow_entry(self, key: Key[object], source: str, target: str) -> Entry | None:
        """`A->B.key` beats the global `key`; what a worker reads may also stand under its target, last."""
        name = flow_name(source, target)
        return self._first(
            key,
            Place(Scope.FLOW, name, key.name),
            Place(Scope.GLOBAL, "", key.name),
            Place(Scope.CLUSTER, target, key.name),
        )

    def source_entry(self, key: Key[object], source: str, target: str) -> Entry | None:
        """What a flow's consumer reads: `A->B.key`, else `A.key`, else the global `key`."""
        return self._first(
            key,
            Place(Scope.FLOW, flow_name(source, target), key.name),
            Place(Scope.CLUSTER, source, key.name),
            Place(Scope.GLOBAL, "", key.name),
        )

    def cluster_entry(self, key: Key[object], alias: str) -> Entry | None:
        """`A.key` beats the global `key`."""
        return self._first(key, Place(Scope.CLUSTER, alias, key.name), Place(Scope.GLOBAL, "", key.name))

    def _first(self, key: Key[object], *places: Place) -> Entry | None:
        for place in places:
            if place.scope in key.in_force and place in self.entries:
                return self.entries[place]
        return None


def parsed(key: Key[T], entry: Entry | None, problems: Problems) -> T:
    """The entry's typed value; the default where there is none, or where it is wrong (and reported)."""
    if entry is not None:
        try:
            return key.parse(entry.value)
        except ValueError as error:
            problems.add(entry.line, f"{entry.key}: {error}")
    return key.parse(key.default)


def _place(key: str, clusters: Sequence[str], flows: Sequence[str]) -> Place:
    for flow in flows:
        if key.startswith(flow + "."):
            return Place(Scope.FLOW, flow, key[len(flow) + 1 :])
    # Before the aliases: a cluster that is called `topics` must not swallow `topics.exclude`.
    if key in KNOWN_KEYS:
        return Place(Scope.GLOBAL, "", key)
    for alias in clusters:
        if key.startswith(alias + "."):
            return Place(Scope.CLUSTER, alias, key[len(alias) + 1 :])
    if "->" in key:
        return Place(Scope.STRAY, "", key)
    if key.startswith("spark."):
        return Place(Scope.SPARK, "", key)
    return Place(Scope.GLOBAL, "", key)
