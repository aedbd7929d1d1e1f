"""Which producer id a flow writes with, and which driver leads it: `mm2-claims.<source>.internal` on the target.

Two mirrors that start at once must not write under two ids, and only one may lead. Both questions are put to
one partition's log, whose order is the same for everybody:

    offset  key                      value
         0  {"claim":"8c…"}          {"producer_id":4000}      <- the first claim holds, for good
         1  {"claim":"f1…"}          {"producer_id":4001}
         2  {"leader":"a"}           {"driver":"8c…",…}         <- generation 2
         3  {"leader":"a"}           {"driver":"f1…",…}         <- generation 3: f1 leads, 8c stands by
         4  {"made":"a.orders"}      {"topic_id":"5d…",…}      <- see topic_memory
         5  {"origin":["x",0],…}     {"producer_id":4002}      <- of x-0 alone, which shares a target partition
         6  {"halt":"a"}             {"by":"ops@host1",…}      <- see halts
         7  {"skip":5000}            {}                        <- what the flow from the target wrote with, ever
         8  {"accept":["x",0],…}     {"fact":"gap",…}          <- see accepts

A claim has a key of its own, so compaction keeps it. The newest leader record wins; its offset is its generation (in
a topic that was lost and restored, its offset and `base`, so that generations never come again). A
driver that leads writes one every `lease.seconds`; one that stands by takes over when it has seen none for a while,
or at once when the leader says that it is released. For whoever asks who leads, the record also has the leader's host
and process id, since when it leads, and how far the copy was when it last looked (see seen).

A topic that was deleted and made anew says nothing of all that, and drivers that believe in two logs would write under
two ids. So whoever notices it leads no more. One that led writes at once what the old topic said, the same producer id
above all, and that nobody leads; others wait for that (see control/flow). The claim comes last,
so a topic that has one says all.

A topic that was not compacted may have lost records by age. Who leads says them again. If another claim stands in the
log then and the one that is known does not, whoever comes follows that one: so must all, as if the topic was made anew.
"""

from __future__ import annotations

import json
import os
import platform
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from kafka.protocol.producer import InitProducerIdRequest

from sparkmirror.errors import ConnectionLostError
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.denial import refused
from sparkmirror.offsets.accepts import Accepted, accept_key, parse_accept_key, parse_accepted
from sparkmirror.offsets.halts import Halt, parse_halt, parse_repeat
from sparkmirror.offsets.internal_topic import InternalRecord, InternalTopic, parse_object
from sparkmirror.offsets.seen import Seen, parse_seen
from sparkmirror.offsets.topic_memory import HeldTopic, MadeTopic, TopicConfigs, TopicMemory, rights_value
from sparkmirror.protocol import codes
from sparkmirror.topology.acls import KnownRights
from sparkmirror.topology.internal_topics import CLAIM_CONFIGS
from sparkmirror.topology.right import CLUSTER, Right
from sparkmirror.topology.storage import Storage

Place = tuple[str, int]

CLAIM_RETRY_S = 0.3
CLAIM_DEADLINE_S = 30.0
LOOK_BACK = 100
UNSEEN = 1000  # so many generations, at most, may have come since a driver last read a topic that is gone


@dataclass(frozen=True, slots=True)
class Leadership:
    """The newest leader record of a flow. Times are by the driver's clock; `since_ms` -1: not said.

    `longest_s`: how long its leases may last after this record, 0 if that is not said. `halt`: the one that it heeds,
    and `at_rest` whether it has come to its end. `seen`: how far the copy was. `unsure`: it is not known who led
    before, and his leases may last that long, too. `base`: what generations are counted from.
    """

    generation: int
    driver: str
    released: bool
    written_ms: int = -1
    since_ms: int = -1
    host: str = ""
    pid: int = -1
    longest_s: float = 0.0
    halt: Halt | None = None
    at_rest: bool = False
    seen: Seen | None = None
    base: int = 0
    unsure: bool = False

    def rests_for(self, halt: Halt) -> bool:
        return self.at_rest and self.halt is not None and self.halt.number == halt.number

    @property
    def leaves_leases(self) -> bool:
        return not self.released or self.unsure

    def __str__(self) -> str:
        return f"driver {self.driver[:8]}" + (f" on {self.host} (pid {self.pid})" if self.host else "")


class Claims:
    """One driver's view of a flow's claim topic.

    `say_again`: called where this driver led and the topic was made anew, before others read in it that nobody leads.
    False: another may have led since, so it is left to them.
    """

    def __init__(
        self,
        cluster: Cluster,
        storage: Storage,
        replication_factor: int,
        say_again: Callable[[], bool] = lambda: True,
    ) -> None:
        self._say_again = say_again
        self.driver = uuid.uuid4().hex
        self.leader: Leadership | None = None
        self.before: Leadership | None = None  # whoever led when this driver took the lead
        self.takes = 0  # times that it did
        self.halt: Halt | None = None
        self.accepted: Mapping[Place, Accepted] = {}  # replaced, never changed
        self.seen: Seen | None = None  # told with the next leader record
        self.rested = -1  # the number of the halt for which all has come to its end
        self._source = storage.source
        self._cluster = cluster
        self._topic = _open(cluster, storage, replication_factor)
        self._producer_id: int | None = None
        self._origins: dict[Place, int] = {}
        self.drawn: set[int] = set()  # producer ids that this driver drew
        self.every_id: set[int] = set()  # that was ever claimed here, whether it holds or not
        self.skipped: set[int] = set()  # as the topic says it
        self.has_led = False  # somebody has led under the claim that holds
        self.memory = TopicMemory()
        self.times_anew = 0  # times that the topic was found to be made anew
        self._topic_id = ""
        self._kept: dict[bytes, bytes] = {}  # all but who leads, as it was written
        self._kept_at: dict[bytes, int] = {}  # the offset of each
        self._lost: dict[bytes, bytes] = {}  # the same of a topic that was made anew since
        self._led_lost = False  # whether this driver led by that one
        self._next = 0
        self._since_ms = -1
        self._longest_s = 0.0
        self._base = 0
        self._lock = threading.RLock()  # the lead is kept on a thread of its own

    @property
    def claimed(self) -> tuple[int | None, dict[Place, int]]:
        """What was claimed so far, as last read."""
        return self._producer_id, dict(self._origins)

    def claim_producer_id(self) -> int:
        """The flow's producer id: the one claimed first, ours or not. It never changes, so it is asked for once."""
        if self._producer_id is None:
            self._claim()
        if self._producer_id is None:
            raise ConnectionLostError(f"{self._topic.name} does not show the claim that was written")
        return self._producer_id

    def _claim(self) -> None:
        with self._lock:
            self._topic.ensure()
        self.refresh()
        with self._lock:
            if self._producer_id is None and self._lost:
                self._restore()
                self.refresh()
        if self._producer_id is None:
            drawn = self._draw()
            self._append((_dump({"claim": self.driver}), _dump({"producer_id": drawn})))
            self.refresh()

    def _draw(self) -> int:
        drawn = draw_producer_id(self._cluster)
        self.drawn.add(drawn)
        return drawn

    def has_claim(self) -> bool:
        """Whether somebody has claimed a producer id for the flow. Makes the topic if it is not there."""
        with self._lock:
            self._topic.ensure()
        self.refresh()
        return self.is_claimed

    @property
    def has_lost(self) -> bool:
        """Whether this driver has read claims that the topic, made anew, does not say yet."""
        return bool(self._lost)

    @property
    def is_claimed(self) -> bool:
        """Whether a producer id is known to be claimed for the flow."""
        return self._producer_id is not None

    def _restore(self) -> None:
        """Say what the topic said before it was made anew. First that nobody leads, and the flow's claim last: that may
        take several batches, and whoever reads the claim takes all for said.
        """
        unknown = self._leader_value(released=True, unsure=True)
        last_claims = sorted(self._lost.items(), key=lambda record: _is_flows_claim(record[0]))
        self._append((self._leader_key, _dump(unknown)), *last_claims)

    @property
    def read_to(self) -> int:
        """The offset up to which the topic is known."""
        return self._next

    def claim_origins(self, places: Collection[Place]) -> dict[Place, int]:
        """Producer ids of single partitions: those claimed first, ours or not."""
        if not self.is_claimed:
            raise ConnectionLostError(f"{self._topic.name} was made anew, and does not say yet what it said before")
        if missing := [place for place in places if place not in self._origins]:
            self._append(
                *(
                    (
                        _dump({"origin": list(place), "claim": self.driver}),
                        _dump({"producer_id": self._draw()}),
                    )
                    for place in missing
                )
            )
            self.refresh()
        return {place: self._origins[place] for place in places if place in self._origins}

    def lead(self, longest_s: float) -> None:
        """Write a leader record; its offset is the new generation. Its leases last no longer than `longest_s`."""
        if not self.leads():
            self._since_ms = int(time.time() * 1000)
        self._longest_s = longest_s
        self._say(released=False)
        self.refresh()

    def note_made(self, made: Mapping[str, MadeTopic]) -> None:
        """The mirror made these remote topics, so it may raise their limits."""
        self._append(*((_dump({"made": topic}), _dump(one.to_value())) for topic, one in made.items()))
        self.refresh()

    def note_held(self, held: Mapping[str, HeldTopic]) -> None:
        """Which source topics are written into remote topics: said before the first record."""
        self._append(*((_dump({"holds": topic}), _dump(one.to_value())) for topic, one in held.items()))
        self.refresh()

    def note_configs(self, configs: Mapping[str, TopicConfigs]) -> None:
        """What is known of remote topics' configurations: said before one is written, and after."""
        self._append(*((_dump({"configs": topic}), _dump(known.to_value())) for topic, known in configs.items()))
        self.refresh()

    def note_rights(self, rights: Mapping[str, KnownRights]) -> None:
        """What is known of rights on remote topics: said after they were added."""
        self._append(*((_dump({"rights": topic}), _dump(rights_value(known))) for topic, known in rights.items()))
        self.refresh()

    def note_skipped(self, producer_ids: Iterable[int]) -> None:
        """What these wrote on the source came from the target, and is never copied back."""
        self._append(*((_dump({"skip": each}), _dump({})) for each in sorted(producer_ids)))
        self.refresh()

    def note_spent(self, places: Iterable[Place]) -> None:
        """What was accepted of these is over."""
        self._append(*((_dump(accept_key(self._source, place)), None) for place in places))
        self.refresh()

    def release(self) -> None:
        """Leave the lead to whoever stands by."""
        self._say(released=True)

    def note_unknown_leader(self, base: int, longest_s: float) -> None:
        """The topic was lost: generations go on from `base`, and leases of whoever led may still last."""
        self._base, self._longest_s = base, longest_s
        self._say(released=True, unsure=True)

    @property
    def led_last(self) -> bool:
        """Whether this driver led by a topic that was made anew, and nobody has led since."""
        return self._led_lost and (self.leader is None or self.leader.driver == self.driver)

    def leads(self) -> bool:
        return self.leader is not None and self.leader.driver == self.driver and not self.leader.released

    @property
    def has_rest_to_say(self) -> bool:
        """All has come to its end for the halt, and the newest leader record does not say so."""
        halt, leader = self.halt, self.leader
        return halt is not None and self.rested == halt.number and not (leader and leader.rests_for(halt))

    def refresh(self) -> None:
        """Read what was written since; all, where the topic was made anew."""
        with self._lock:
            topic_id, begin, end, records = self._read_on(self._next)
            if end < self._next or (self._topic_id and topic_id and topic_id != self._topic_id):
                self._begin_anew()
                self._topic.ensure()  # somebody else may have made it as any other topic
                topic_id, begin, _, records = self._read_on(0)
            self._take(topic_id, records)
            self._heed_loss(begin)
            if self._led_lost and not self.is_claimed:
                self._led_lost = self._say_again()
            if self._led_lost and not self.is_claimed:
                self._restore()
                self._take_rest()

    def _take_rest(self) -> None:
        topic_id, _, _, records = self._read_on(self._next)
        self._take(topic_id, records)

    def _heed_loss(self, begin: int) -> None:
        """The log begins behind something that it should have kept: see above."""
        gone = {key: value for key, value in self._kept.items() if self._kept_at[key] < begin}
        if begin and self._first_claim(begin) not in (None, self._producer_id):  # also before one that was said again
            self._begin_anew()
            self._take_rest()
        elif gone and self.leads():
            self._append(*gone.items())
            self._take_rest()

    def _first_claim(self, begin: int) -> int | None:
        """The flow's producer id for whoever reads the log from there."""
        standing = sorted((at, key) for key, at in self._kept_at.items() if at >= begin)
        claimed = (parse_claim(key, self._kept[key]) for _, key in standing)
        return next((each for each in claimed if each is not None), None)

    def _read_on(self, first: int) -> tuple[str, int, int, Iterable[InternalRecord]]:
        """A topic that was there and is gone is made: without it nobody leads."""
        try:
            return self._topic.read_on(0, first)
        except ConnectionLostError:
            if not self._next or not self._topic.is_gone():
                raise
        self._topic.ensure()
        return self._topic.read_on(0, first)

    def _take(self, topic_id: str, records: Iterable[InternalRecord]) -> None:
        self._topic_id = topic_id or self._topic_id  # an older broker, while they are upgraded, does not say it
        for record in records:
            self._next = record.offset + 1
            self._note(record)
        if self.is_claimed:
            self._lost = {}

    def _begin_anew(self) -> None:
        """All that is known was said by another topic. Generations go on above those of that one."""
        self.times_anew += 1
        self._base = max(self._base, self.leader.generation + UNSEEN if self.leader else 0)
        self._lost, self._led_lost = self._lost | self._kept, self._led_lost or self.leads()
        self._kept, self._kept_at, self._origins, self.memory = {}, {}, {}, TopicMemory()
        self.skipped, self.has_led, self.accepted = set(), False, {}
        self._producer_id = self.leader = self.before = self.halt = None
        self._next, self._topic_id, self.rested = 0, "", -1

    def _say(self, *, released: bool, unsure: bool = False) -> None:
        self._append((self._leader_key, _dump(self._leader_value(released=released, unsure=unsure))))

    @property
    def _leader_key(self) -> bytes:
        return _dump({"leader": self._source})

    def _leader_value(self, *, released: bool, unsure: bool) -> dict[str, object]:
        value: dict[str, object] = {
            "driver": self.driver,
            "host": platform.node(),
            "pid": os.getpid(),
            "since_ms": self._since_ms,
            "longest_s": self._longest_s,
        }
        if released:
            value["released"] = True
        if seen := self.seen or (self.leader.seen if self.leader else None):
            value["seen"] = seen.to_value()
        if halt := self.halt:
            value |= {"halt": halt.to_repeat(), "at_rest": self.rested == halt.number}
        if unsure:
            value["unsure"] = True
        if self._base:
            value["base"] = self._base
        return value

    def _append(self, *records: tuple[bytes, bytes | None]) -> None:
        with self._lock:
            self._topic.append(0, records)

    def _note(self, record: InternalRecord) -> None:
        key, value = parse_object(record.key), parse_object(record.value)
        claimed = value.get("producer_id")
        if record.key and "leader" not in key:
            self._keep(record.key, record.value, record.offset)
        if "claim" in key and isinstance(claimed, int):
            self.every_id.add(claimed)
            origin = _parse_place(key.get("origin"))
            if origin:
                self._origins.setdefault(origin, claimed)
                note_in_memory(self.memory, record)
            elif self._producer_id is None and "origin" not in key:
                self._producer_id = claimed
        elif key.get("halt") == self._source:
            self.halt = parse_halt(value, record.offset)
        elif isinstance(skipped := key.get("skip"), int):
            self.skipped.add(skipped)
        elif place := parse_accept_key(key, self._source):
            others = {each: one for each, one in self.accepted.items() if each != place}
            accepted = parse_accepted(value)
            self.accepted = others | ({place: accepted} if accepted else {})
        else:
            note_in_memory(self.memory, record)
            if leader := parse_leadership(record, self._source):
                self._note_leader(leader)

    def _keep(self, key: bytes, value: bytes | None, offset: int) -> None:
        if value is None:
            self._kept.pop(key, None)
            self._kept_at.pop(key, None)
        else:
            self._kept[key], self._kept_at[key] = value, offset

    def _note_leader(self, leader: Leadership) -> None:
        self._base = max(self._base, leader.base)
        self.has_led |= self.is_claimed and not leader.unsure
        led, earlier = self.leads(), self.leader
        self.leader = follow(earlier, leader)
        if self.leads() and not led:
            self.before = earlier
            self.takes += 1
            self._led_lost = False


def read_leader(cluster: Cluster, storage: Storage) -> tuple[Leadership | None, Halt | None]:
    """Who leads or led last, and what halts the flow, for an outsider: it writes nothing.

    It reads all only if the end does not say it. A halt that was lifted or came after the newest leader record stands
    in the log's end itself.
    """
    topic = _open(cluster, storage)
    leader, halt = None, None
    for records in (topic.read_last(0, LOOK_BACK), topic.read()):
        halts = []
        for record in records:
            if found := parse_leadership(record, storage.source):
                leader = follow(leader, found)
            if parse_object(record.key).get("halt") == storage.source:
                halts.append(parse_halt(parse_object(record.value), record.offset))
        halt = halts[-1] if halts else (leader.halt if leader else None)
        if leader:
            break
    return leader, halt


def read_claims(cluster: Cluster, storage: Storage) -> Claims:
    """What a flow's claim topic says, for an outsider: it claims nothing."""
    claims = Claims(cluster, storage, -1)
    claims.refresh()
    return claims


def find_new_origins(cluster: Cluster, storage: Storage, since: int) -> set[str] | None:
    """Topics of which partitions were claimed since an offset of the claim topic; None: it was made anew since."""
    _, _, end, records = _open(cluster, storage).read_on(0, since)
    if end < since:
        return None
    origins = (_parse_place(parse_object(record.key).get("origin")) for record in records)
    return {origin[0] for origin in origins if origin}


def write_halt(cluster: Cluster, storage: Storage, replication_factor: int, *, by: str, why: str) -> Halt:
    """Drivers see it within seconds."""
    topic = _open(cluster, storage, replication_factor)
    topic.ensure()
    halt = Halt(-1, by, why, int(time.time() * 1000))
    return replace(halt, number=topic.append(0, [(_dump({"halt": storage.source}), _dump(halt.to_value()))]))


def lift_halt(cluster: Cluster, storage: Storage) -> None:
    _open(cluster, storage).append(0, [(_dump({"halt": storage.source}), None)])


def write_accepted(cluster: Cluster, storage: Storage, accepted: Mapping[Place, Accepted | None]) -> None:
    """Drivers see it within seconds. `None` takes it back."""
    _open(cluster, storage).append(
        0,
        [
            (_dump(accept_key(storage.source, place)), _dump(one.to_value()) if one else None)
            for place, one in accepted.items()
        ],
    )


def _open(cluster: Cluster, storage: Storage, replication_factor: int = -1) -> InternalTopic:
    return InternalTopic(
        cluster, storage.claims, partitions=1, replication_factor=replication_factor, configs=CLAIM_CONFIGS
    )


def read_memory(cluster: Cluster, storage: Storage) -> TopicMemory:
    """What was done to remote topics, for an outsider."""
    memory = TopicMemory()
    for record in _open(cluster, storage).read():
        note_in_memory(memory, record)
    return memory


def note_in_memory(memory: TopicMemory, record: InternalRecord) -> None:
    memory.note(parse_object(record.key), parse_object(record.value))


def parse_leadership(record: InternalRecord, source_alias: str) -> Leadership | None:
    """None for records of another kind."""
    key, value = parse_object(record.key), parse_object(record.value)
    if key.get("leader") != source_alias or "driver" not in value:
        return None
    since_ms, pid, longest_s = value.get("since_ms"), value.get("pid"), value.get("longest_s")
    base = value.get("base")
    base = base if isinstance(base, int) else 0
    return Leadership(
        generation=base + record.offset,
        driver=str(value["driver"]),
        released=bool(value.get("released")),
        written_ms=record.timestamp_ms,
        since_ms=since_ms if isinstance(since_ms, int) else -1,
        host=str(value.get("host", "")),
        pid=pid if isinstance(pid, int) else -1,
        longest_s=float(longest_s) if isinstance(longest_s, int | float) else 0.0,
        halt=parse_repeat(value),
        at_rest=value.get("at_rest") is True,
        seen=parse_seen(value.get("seen")),
        base=base,
        unsure=bool(value.get("unsure")),
    )


def follow(earlier: Leadership | None, found: Leadership) -> Leadership:
    """Who leads when this record is read. A driver that releases another's lead has not seen that one: it is void."""
    if earlier is None or earlier.driver == found.driver or found.unsure or not found.released:
        return found
    return earlier


def draw_producer_id(cluster: Cluster) -> int:
    """An id that no other producer has. A broker that has just started may need some tries."""
    deadline = time.monotonic() + CLAIM_DEADLINE_S
    while True:
        answer = cluster.call_any(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000))
        if answer.error_code == codes.NONE:
            return int(answer.producer_id)
        if answer.error_code not in codes.PASSING or time.monotonic() > deadline:
            what = f"cluster {cluster.address.alias} gives no producer id"
            raise refused(cluster.address, what, answer.error_code, Right("IDEMPOTENT_WRITE", CLUSTER))
        time.sleep(CLAIM_RETRY_S)  # the coordinator is loading; it can only be asked again


def _is_flows_claim(key: bytes) -> bool:
    parsed = parse_object(key)
    return "claim" in parsed and "origin" not in parsed


def parse_claim(key: bytes, value: bytes) -> int | None:
    """The producer id that a record claims for the whole flow."""
    claimed = parse_object(value).get("producer_id")
    return claimed if _is_flows_claim(key) and isinstance(claimed, int) else None


def _parse_place(value: object) -> Place | None:
    match value:
        case [str(topic), int(partition)]:
            return topic, partition
    return None


def _dump(value: dict[str, object]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
