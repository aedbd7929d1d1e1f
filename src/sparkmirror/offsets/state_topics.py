"""A flow's internal topics on its target, read and written whole: what a state is made of and restored into."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from sparkmirror.net.cluster import Cluster, Metadata
from sparkmirror.offsets import checkpoints, map_topic, progress
from sparkmirror.offsets.claims import parse_leadership
from sparkmirror.offsets.internal_topic import InternalTopic, parse_object
from sparkmirror.offsets.state_file import CHECKPOINTS, CLAIMS, OFFSET_MAP, PROGRESS, SECTIONS, Records
from sparkmirror.topology.internal_topics import CLAIM_CONFIGS, COMPACTED, SMALL
from sparkmirror.topology.storage import Storage


class Found(NamedTuple):
    """`generation`: of the newest leader record, else -1."""

    sections: Mapping[str, dict[bytes, bytes]]
    generation: int


class StateTopics:
    """Blocking; one user at a time. `checkpoints_topic`: made elsewhere, with the flow's settings."""

    def __init__(self, target: Cluster, storage: Storage, checkpoints_topic: str, replication_factor: int = -1) -> None:
        self._storage = storage
        sizes = {
            CLAIMS: (storage.claims, 1),
            PROGRESS: (storage.progress, storage.progress_partitions),
            OFFSET_MAP: (storage.offset_map, map_topic.PARTITIONS),
            CHECKPOINTS: (checkpoints_topic, 1),
        }
        configs = {CLAIMS: CLAIM_CONFIGS, CHECKPOINTS: SMALL}  # these may have a retention time
        self._topics = {
            section: InternalTopic(
                target,
                name,
                partitions=count,
                replication_factor=replication_factor,
                configs=configs.get(section, COMPACTED),
            )
            for section, (name, count) in sizes.items()
        }

    def read(self, metadata: Metadata) -> Found:
        """Progress before the map: it never says more than that one, whatever is written meanwhile."""
        claimed, generation = self._read_claims() if self.name_of(CLAIMS) in metadata.topics else ({}, -1)
        found = {CLAIMS: claimed}
        for section in SECTIONS[1:]:
            is_there = self.name_of(section) in metadata.topics
            found[section] = self._newest(section) if is_there else {}
        return Found(found, generation)

    def name_of(self, section: str) -> str:
        return self._topics[section].name

    def write(self, section: str, records: Records) -> None:
        """Make the topic unless it is there, and append."""
        topic = self._topics[section]
        topic.ensure()
        if section in (CLAIMS, CHECKPOINTS):
            topic.append(0, list(records.items()))
        else:
            topic.append_keyed(records)

    def is_ours(self, section: str, key: bytes | None, value: bytes | None) -> bool:
        """Whether a record is one of this flow's, and can be read."""
        storage = self._storage
        if section == CLAIMS:
            return bool(parse_object(key)) and "leader" not in parse_object(key)
        if section == PROGRESS:
            return progress.parse_record(key, value, storage.source, storage.connector) is not None
        if section == OFFSET_MAP:
            return map_topic.parse_key(key, storage.source) is not None and _is_chunk(value)
        return checkpoints.parse_record(key, value) is not None

    def _newest(self, section: str) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = {}
        for record in self._topics[section].read():
            if record.key is not None and record.value is None:
                found.pop(record.key, None)
            elif (
                record.key is not None and record.value is not None and self.is_ours(section, record.key, record.value)
            ):
                found[record.key] = record.value
        return found

    def _read_claims(self) -> tuple[dict[bytes, bytes], int]:
        """What holds: of producer ids the first claim, of all else the last word."""
        generation, claimed = -1, set()
        found: dict[bytes, bytes] = {}
        for record in self._topics[CLAIMS].read():
            leader, whose = parse_leadership(record, self._storage.source), claim_of(record.key)
            if leader:
                generation = max(generation, leader.generation)
            elif record.key is None or record.value is None:
                found.pop(record.key or b"", None)
            elif self.is_ours(CLAIMS, record.key, record.value) and (whose is None or whose not in claimed):
                claimed.add(whose)
                found[record.key] = record.value
        return found, generation


FLOWS_OWN = '""'  # as what `claim_of` says


def claim_of(key: bytes | None) -> str | None:
    """Whose producer id a record claims: the flow's own or an origin's; None if it claims none."""
    parsed = parse_object(key)
    return json.dumps(parsed.get("origin", "")) if "claim" in parsed else None


def is_lasting(key: bytes) -> bool:
    """Whether a record of the claim topic holds for good, and is not an order that may have been taken back."""
    return any(word in parse_object(key) for word in ("claim", "made", "holds", "configs", "rights", "skip"))


def claimed_ids(records: Records) -> dict[str, int]:
    """Producer ids by whose they are (`claim_of`)."""
    ids = ((claim_of(key), parse_object(value).get("producer_id")) for key, value in records.items())
    return {whose: claimed for whose, claimed in ids if whose is not None and isinstance(claimed, int)}


def _is_chunk(value: bytes | None) -> bool:
    try:
        map_topic.parse_head(value or b"")
    except ValueError:
        return False
    return True
