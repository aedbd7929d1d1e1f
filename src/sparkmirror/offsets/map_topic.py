"""The offset map's topic on the target, `mm2-offset-map.<source>.internal`: runs of partitions whose offsets differ.

    key    ["OffsetMap",{"cluster":"a","partition":0,"topic":"t","chunk":3}]
    value  id of the source topic, of the target topic (16 bytes each, zeros: not known), a chunk of runs

Partitions with equal offsets have no records here. Who reads holds what each chunk covers, and where its record stands;
the runs themselves are fetched when somebody asks for an offset in them. Which chunks hold together: see map_chain.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from functools import lru_cache
from itertools import zip_longest
from typing import NamedTuple

from sparkmirror.errors import ConnectionLostError, MirrorError
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.internal_topic import UNREADABLE, Cursors, InternalRecord, InternalTopic, newest
from sparkmirror.offsets.map_chain import ChunkPlace, Ids, find_chain, order_changes
from sparkmirror.offsets.offset_map import OffsetMap, equal_map
from sparkmirror.offsets.run_book import RunBook
from sparkmirror.offsets.runs import SPAN_BYTES, Chunk, Span, parse_chunk, parse_span
from sparkmirror.topology.run import Run
from sparkmirror.topology.standing import Standing
from sparkmirror.topology.storage import Storage

PARTITIONS = 25
CHUNKS_HELD = 64
MAP_CHANGED = "map-changed"
_NAME = "OffsetMap"
_ID = 16
_HEAD = 2 * _ID + SPAN_BYTES

Place = tuple[str, int]


class _Book(NamedTuple):
    ids: Ids
    runs: RunBook


def encode_key(cluster: str, place: Place, chunk: int) -> bytes:
    where = {"cluster": cluster, "partition": place[1], "topic": place[0], "chunk": chunk}
    return json.dumps([_NAME, where], separators=(",", ":"), ensure_ascii=False).encode()


def parse_key(key: bytes | None, cluster: str) -> tuple[Place, int] | None:
    try:
        name, where = json.loads(key or b"null")
        if name != _NAME or where["cluster"] != cluster:
            return None
        return (str(where["topic"]), int(where["partition"])), int(where["chunk"])
    except UNREADABLE:
        return None


class OffsetMapTopic:
    """One flow's map. Blocking; one user at a time. `read` before anything else."""

    def __init__(self, cluster: Cluster, storage: Storage, replication_factor: int = -1) -> None:
        self._alias = storage.source
        self._seen = Cursors()
        self._known: dict[Place, dict[int, ChunkPlace]] = {}
        self._books: dict[Place, _Book] = {}
        self._unwritten: dict[Place, dict[int, bytes | None]] = {}
        self._topic = InternalTopic(
            cluster, storage.offset_map, partitions=PARTITIONS, replication_factor=replication_factor
        )
        self._load = lru_cache(CHUNKS_HELD)(self._fetch)

    def ensure(self) -> None:
        self._topic.ensure()

    def remake_if_lost(self) -> bool:
        return self._topic.remake_if_lost()

    def known_ids(self) -> dict[Place, set[Ids]]:
        """The partitions that something is known of, and the topics that it may be about."""
        found = {place: {chunk.ids for chunk in chunks.values()} for place, chunks in self._known.items() if chunks}
        for place, book in self._books.items():
            found.setdefault(place, set()).add(book.ids)
        return found

    # -- reading

    def read(self) -> None:
        """Bring what is known up to the topic's end. It is made with the first run that is written."""
        if not self._topic.is_there():
            return
        is_same, records = self._topic.read_news(self._seen)
        if not is_same:
            self._begin_anew()
        for record in newest(map(_keep_head, records)):
            self._seen.next[record.partition] = record.offset + 1
            self._note(record)
        self._topic.known_id = self._topic.known_id or self._seen.topic_id

    def _begin_anew(self) -> None:
        """What is known stood in a topic that is gone. Who writes is told: see `remake_if_lost`."""
        if self._books:
            raise ConnectionLostError(f"{self._topic.name} was deleted and made anew")
        self._known.clear()
        self._load.cache_clear()

    def _note(self, record: InternalRecord) -> None:
        parsed = parse_key(record.key, self._alias)
        if parsed is None:
            return
        place, number = parsed
        chunks = self._known.setdefault(place, {})
        chunks.pop(number, None)
        if record.value is not None:
            try:
                chunks[number] = ChunkPlace(*parse_head(record.value), record.partition, record.offset)
            except ValueError:
                return

    def map_of(self, place: Place, standing: Standing) -> OffsetMap:
        """As of when the progress record was written."""
        if not standing.translated:
            return equal_map(standing.target_end)
        chain = self._chain_of(place, standing)
        chunks = list(chain.values())
        is_whole = next(iter(chain)) == 0 if chain else not self.is_lost(place, standing)
        return OffsetMap(
            equal_end=max(standing.equal_end, 0),
            source_end=standing.next_offset,
            target_end=standing.target_end,
            spans=[chunk.span for chunk in chunks],
            load=lambda index: self._load(chunks[index]),
            begins_known=standing.equal_end >= 0 and is_whole,
        )

    def is_lost(self, place: Place, standing: Standing) -> bool:
        """Whether something was copied with other offsets and nothing says with which."""
        is_copied = bool(standing.translated) and standing.target_end > max(standing.equal_end, 0)
        return is_copied and not self._chain_of(place, standing)

    def _chain_of(self, place: Place, standing: Standing) -> dict[int, ChunkPlace]:
        return find_chain(self._known.get(place, {}), Ids(standing.source_id, standing.target_id))

    def _fetch(self, chunk: ChunkPlace) -> Chunk:
        record = next(self._topic.read_range(chunk.partition, chunk.offset, chunk.offset + 1), None)
        if record is None or record.value is None:
            raise MirrorError(MAP_CHANGED, "the offset map was written anew while it was read: try again")
        return parse_chunk(record.value[2 * _ID :])

    # -- writing

    def add(self, place: Place, ids: Ids, run: Run) -> None:
        """Runs of a partition come in about any order. Those of other topics than before replace all that was known."""
        book = self._books.get(place)
        if book is None or not book.ids.may_be(ids):
            book = self._open_book(place, ids)
        elif not ids.hold_for(book.ids):  # brokers say more by now
            book = book._replace(ids=Ids(ids.source or book.ids.source, ids.target or book.ids.target))
        self._books[place] = book
        book.runs.add(run)

    def _open_book(self, place: Place, ids: Ids) -> _Book:
        """Goes on with what is known of these topics, and leaves nothing else. Where chunks may be theirs that do not
        fit in, it begins above all: then what was said before counts as unknown, and not as nothing.
        """
        known = self._known.get(place, {})
        chain = find_chain(known, ids)
        doubtful = [n for n, chunk in known.items() if n > max(chain, default=-1) and chunk.ids.may_be(ids)]

        def load(number: int) -> Chunk:
            return self._load_chunk(place, number)

        if doubtful:
            return _Book(ids, RunBook(load, first=max(known) + 1))
        self._unwritten[place] = {number: None for number in known if number not in chain}
        return _Book(ids, RunBook(load, {number: chunk.span for number, chunk in chain.items()}))

    def prune(self, log_starts: Mapping[Place, int]) -> None:
        """Forget what the target's logs do not hold any more."""
        for place, start in log_starts.items():
            if place in self._books:
                self._books[place].runs.prune(start)

    def _load_chunk(self, place: Place, number: int) -> Chunk:
        unwritten = self._unwritten.get(place, {}).get(number)
        if unwritten is not None:
            return parse_chunk(unwritten[2 * _ID :])
        return self._load(self._known[place][number])

    def write(self) -> None:
        """Write what is new. What could not be written is written with the next."""
        for place, book in self._books.items():
            head = b"".join(map(_encode_id, book.ids))
            for number, value in book.runs.take_changes().items():
                changes = self._unwritten.setdefault(place, {})
                changes[number] = None if value is None else head + value
        orders = [
            [(place, number) for number in order_changes(self._spans_of(place), _spans(changes))]
            for place, changes in self._unwritten.items()
        ]
        for turn in zip_longest(*orders):  # one chunk of a partition at a time: a writer may die between two
            self._topic.append_keyed(
                {encode_key(self._alias, *each): self._unwritten[each[0]][each[1]] for each in turn if each}
            )
        if orders:
            self._unwritten = {}
            self.read()

    def _spans_of(self, place: Place) -> dict[int, Span]:
        return {number: chunk.span for number, chunk in self._known.get(place, {}).items()}


def _spans(changes: Mapping[int, bytes | None]) -> dict[int, Span | None]:
    return {number: None if value is None else parse_head(value)[1] for number, value in changes.items()}


def _encode_id(topic_id: str) -> bytes:
    return uuid.UUID(topic_id).bytes if topic_id else bytes(_ID)


def _parse_id(value: bytes) -> str:
    return str(uuid.UUID(bytes=value)) if any(value) else ""


def _keep_head(record: InternalRecord) -> InternalRecord:
    """Of very many chunks only what `parse_head` reads is held."""
    return record if record.value is None else record._replace(value=record.value[:_HEAD])


def parse_head(value: bytes) -> tuple[Ids, Span]:
    """ValueError: this is no chunk."""
    if len(value) < 2 * _ID:
        raise ValueError("a record of the offset map is too short")
    return Ids(_parse_id(value[:_ID]), _parse_id(value[_ID : 2 * _ID])), parse_span(value[2 * _ID :])
