"""Renames that undo one another: `x` becomes `y` on the way there, and `y` becomes `x` on the way back.

A name that `topics.map` gives does not tell where its records have been. So a topic is sent round in mind: what is
still on its way after some rounds would be for ever. Of a regex one name is tried that it matches; whether another
would go round is not known, and counts as no.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sparkmirror.config.java_regex import compile_elements
from sparkmirror.config.loops import Circle, circles, takes
from sparkmirror.config.model import FlowConfig
from sparkmirror.config.renames import Renames
from sparkmirror.errors import ConfigError

ROUNDS = 8
# What a part of a regex stands for in a name that it matches.
_STANDS_FOR = (
    (re.compile(r"(\.|\[[^]]*\]|\\[wSD])[*+]"), "x"),
    (re.compile(r"\\d[*+]?"), "1"),
    (re.compile(r"[()]"), ""),
)


class RenameLoop(NamedTuple):
    """`names`: what the topic is called on each cluster of the way, from the first back to the first."""

    circle: Circle
    names: tuple[str, ...]


def find_rename_loop(flows: Sequence[FlowConfig]) -> RenameLoop | None:
    try:
        renames = {flow.name: Renames.of(flow.naming.topics_map) for flow in flows}
    except ConfigError:
        return None  # said where it is used
    renaming = [c for c in circles(flows) if any(flow.naming.topics_map for flow in c) and not _leave_out(c)]
    for circle in renaming:
        for start in range(len(circle)):
            turned = (*circle[start:], *circle[:start])
            for topic in _samples(circle):
                names = _send(turned, topic, renames)
                if all(_goes_on(turned, topic, renames)):
                    return RenameLoop(turned, names)
    return None


def _leave_out(circle: Circle) -> bool:
    """Whether each flow leaves out what the other wrote."""
    return len(circle) == 2 and all(flow.naming.is_mutual for flow in circle)


def _goes_on(circle: Circle, topic: str, renames: dict[str, Renames]) -> Iterator[bool]:
    for _ in range(ROUNDS):
        names = _send(circle, topic, renames)
        yield len(names) == len(circle) + 1
        topic = names[-1]


def _send(circle: Circle, topic: str, renames: dict[str, Renames]) -> tuple[str, ...]:
    """The topic's names on its way; the way ends early with a flow that does not take it."""
    names = [topic]
    for flow in circle:
        if not takes(flow, names[-1]) or _has_been_there(flow, names[-1]):
            break
        names.append(_name_there(flow, names[-1], renames[flow.name]))
    return tuple(names)


def _name_there(flow: FlowConfig, topic: str, renames: Renames) -> str:
    rename = renames.find(topic)
    kept = topic if flow.naming.keeps_names else flow.source.alias + flow.naming.separator + topic
    return (rename.apply(topic) if rename else None) or kept


def _has_been_there(flow: FlowConfig, topic: str) -> bool:
    """By the aliases in front of a name, which the default policy puts there."""
    if flow.naming.keeps_names:
        return False
    separator = flow.naming.separator
    while alias := next((each for each in flow.aliases if topic.startswith(each + separator)), None):
        if alias == flow.target.alias:
            return True
        topic = topic.removeprefix(alias + separator)
    return False


def _samples(circle: Circle) -> Iterator[str]:
    for flow in circle:
        for pattern in (*(element.rpartition(":")[0].strip() for element in flow.naming.topics_map), *flow.topics):
            name = pattern
            for part, stand_in in _STANDS_FOR:
                name = part.sub(stand_in, name)
            name = name.replace("\\", "")
            compiled = compile_elements((pattern,))
            if compiled is not None and compiled.fullmatch(name):
                yield name
