"""Which topics a flow names: lists of names or Java regexes, full match, exclude wins."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sparkmirror.config.java_regex import compile_elements
from sparkmirror.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicFilter:
    """None stands for an empty list, which matches nothing."""

    include: re.Pattern[str] | None
    exclude: re.Pattern[str] | None

    @classmethod
    def of(cls, include: Sequence[str], exclude: Sequence[str] = ()) -> TopicFilter:
        """ConfigError names the element that is no regex."""
        try:
            return cls(include=compile_elements(tuple(include)), exclude=compile_elements(tuple(exclude)))
        except ValueError as error:
            raise ConfigError(str(error)) from None

    def matches(self, topic: str) -> bool:
        return _matches(self.include, topic) and not _matches(self.exclude, topic)


def _matches(pattern: re.Pattern[str] | None, topic: str) -> bool:
    return pattern is not None and pattern.fullmatch(topic) is not None
