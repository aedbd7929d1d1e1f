"""Which topics, groups and topic configurations a flow is about, by MirrorMaker 2's default filters.

Lists hold names or Java regexes, matched against whole names; exclude wins. The words are those of MirrorMaker 2's
TopicFilter, GroupFilter and ConfigPropertyFilter, because users write filters of their own in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sparkmirror.config.java_regex import compile_elements
from sparkmirror.config.name_pattern import NamePattern
from sparkmirror.errors import ConfigError


class TopicFilter(Protocol):
    def should_replicate_topic(self, topic: str) -> bool: ...


class GroupFilter(Protocol):
    def should_replicate_group(self, group: str) -> bool: ...


class ConfigPropertyFilter(Protocol):
    def should_replicate_config_property(self, name: str) -> bool: ...

    def should_replicate_source_default(self, name: str) -> bool:
        """Whether a value that the source has by default is set on the target."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NameFilter:
    """None stands for an empty list, which matches nothing."""

    include: NamePattern | None
    exclude: NamePattern | None

    @classmethod
    def of(cls, include: Sequence[str], exclude: Sequence[str] = ()) -> NameFilter:
        """ConfigError names the element that is no regex."""
        return cls(include=_compile(include), exclude=_compile(exclude))

    def matches(self, name: str) -> bool:
        return _matches(self.include, name) and not _matches(self.exclude, name)


@dataclass(frozen=True, slots=True)
class DefaultTopicFilter:
    names: NameFilter

    def should_replicate_topic(self, topic: str) -> bool:
        return self.names.matches(topic)


@dataclass(frozen=True, slots=True)
class DefaultGroupFilter:
    names: NameFilter

    def should_replicate_group(self, group: str) -> bool:
        return self.names.matches(group)


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultConfigPropertyFilter:
    exclude: NamePattern | None
    use_source_defaults: bool

    @classmethod
    def of(cls, exclude: Sequence[str], defaults_from: str = "target") -> DefaultConfigPropertyFilter:
        return cls(exclude=_compile(exclude), use_source_defaults=defaults_from == "source")

    def should_replicate_config_property(self, name: str) -> bool:
        return not _matches(self.exclude, name)

    def should_replicate_source_default(self, name: str) -> bool:
        return self.use_source_defaults


def _compile(elements: Sequence[str]) -> NamePattern | None:
    try:
        return compile_elements(tuple(elements))
    except ValueError as error:
        raise ConfigError(str(error)) from None


def _matches(pattern: NamePattern | None, name: str) -> bool:
    return pattern is not None and pattern.fullmatch(name) is not None
