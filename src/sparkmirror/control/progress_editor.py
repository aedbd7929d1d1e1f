"""An operator's hand on a flow's progress: it reads it, sets it, forgets it. Never while somebody may write for it.

A position that is set is an offset alone, much as a MirrorMaker 2 leaves it: the copy then takes over from there
(`copy.position`). One that is forgotten is found from the target's log alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.address import flow_address
from sparkmirror.control.discovery import Place, count_partitions, pick_leaders
from sparkmirror.control.silence import Silence, find_writer
from sparkmirror.control.survey import read_progress
from sparkmirror.errors import ConfigError
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.offsets import LATEST, list_offsets
from sparkmirror.offsets.claims import Leadership
from sparkmirror.offsets.progress import ProgressTopic
from sparkmirror.topology.select import TopicSelector, plan_topics
from sparkmirror.topology.standing import AS_SET, Standing
from sparkmirror.topology.storage import Storage

MOST_NAMES = 20  # of what exists, in an error

_WITH_PARTITION = re.compile(r"(.+)[:-]([0-9]+)")


class ProgressEditor:
    """One flow's. Blocking; connections are opened when first needed."""

    def __init__(self, flow: FlowConfig) -> None:
        self._flow = flow
        self._source = Cluster(flow_address(flow.source, flow))
        self._target = Cluster(flow_address(flow.target, flow))
        self._silence: Silence | None = None

    def __enter__(self) -> ProgressEditor:
        return self

    def __exit__(self, *_: object) -> None:
        self._source.close()
        self._target.close()

    def read(self) -> dict[Place, Standing]:
        return read_progress(self._target, self._target.fetch_metadata(), self._flow)

    def find_writer(self, tell: Callable[[str], None]) -> Leadership | None:
        """Who may still write for the flow, if anybody may. `tell`: of a wait."""
        self._silence = Silence(self._target, self._flow)
        return find_writer(self._silence, self._flow, tell)

    def find_newcomer(self) -> Leadership | None:
        """Who leads the flow now and did not when nobody wrote for it."""
        return self._silence.leader if self._silence and self._silence.listen() else None

    def fetch_source_ends(self) -> dict[Place, int]:
        """Where the partitions end that the flow mirrors. Partitions without a leader are left out."""
        metadata = self._source.fetch_metadata()
        pairs = plan_topics(count_partitions(metadata), {}, TopicSelector.of(self._flow)).pairs
        places = [(pair.topic, number) for pair in pairs for number in range(pair.partitions)]
        return list_offsets(self._source, pick_leaders(metadata, places), LATEST)

    def write(self, progress: Mapping[Place, Standing | None]) -> None:
        topic = ProgressTopic(self._target, Storage.of(self._flow), self._flow.internal_replication_factor)
        topic.ensure()
        topic.write(progress)


def choose_places(text: str, known: Collection[Place]) -> list[Place]:
    """`topic` and `topic:` are all its partitions, `topic:3` and `topic-3` one. ConfigError says what there is."""
    topics = {topic for topic, _ in known}
    whole = sorted(place for place in known if place[0] == text.removesuffix(":"))
    one = _parse_place(text)
    if one and one in known and whole:
        raise ConfigError(f"{text} can mean a topic or a partition: write {text}: or {one[0]}:{one[1]}")
    if one and one in known:
        return [one]
    if whole:
        return whole
    if one and one[0] in topics:
        raise ConfigError(f"topic {one[0]} has no partition {one[1]}: it has {_numbers(one[0], known)}")
    raise ConfigError(f"no topic {text.removesuffix(':')}: there are {_names(topics)}")


def _parse_place(text: str) -> Place | None:
    found = _WITH_PARTITION.fullmatch(text)
    return (found[1], int(found[2])) if found else None


def plan_set(offset: int, places: Collection[Place], ends: Mapping[Place, int]) -> dict[Place, Standing | None]:
    """ConfigError where the source has not come so far."""
    for topic, partition in places:
        if offset > ends[topic, partition]:
            raise ConfigError(
                f"{topic}-{partition} ends at offset {ends[topic, partition]} in the source: "
                f"expected an offset up to that, got {offset}"
            )
    return {place: Standing(next_offset=offset, target_end=AS_SET) for place in places}


def _names(topics: Collection[str]) -> str:
    shown = ", ".join(sorted(topics)[:MOST_NAMES]) or "none"
    return shown + (f" and {len(topics) - MOST_NAMES} more" if len(topics) > MOST_NAMES else "")


def _numbers(topic: str, known: Collection[Place]) -> str:
    return ", ".join(str(number) for name, number in sorted(known) if name == topic)
