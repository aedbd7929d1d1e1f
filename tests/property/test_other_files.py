"""Settings, rights and the end of remote topics while the file changes: filters, renames, separators, policies.

A file may give a remote topic to another source topic, leave a topic out for a while, merge topics or take them apart.
The model knows whose records each remote topic holds. No right that the mirror adds may let somebody do to any of them
what he may not do to its own source topic; no configuration is changed where others' records are; nothing is deleted
that holds others' records. What is set or taken away by hand stays (as in test_by_hand and test_rights).
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import pytest

from sparkmirror.control.mixed_topics import find_kept_for_others, find_mixed, plan_held
from sparkmirror.offsets.topic_memory import MadeTopic, TopicMemory, rights_value
from sparkmirror.sync.deletes import find_shared, plan_deletes
from sparkmirror.topology.acls import ALLOW, DENY, LITERAL, PREFIXED, READ, Acl, plan_acls
from sparkmirror.topology.incarnation import TopicIds, find_foreign, find_kept, find_others, find_written
from sparkmirror.topology.select import TopicPair, TopicSelector, plan_topics
from sparkmirror.topology.standing import Standing
from tests.property import test_by_hand
from tests.property.test_rights import DESCRIBE, EVERYBODY, HOSTS, USERS, may
from tests.support.flow_text import flow_of

STEPS = 25
IDENTITY = "replication.policy.class=org.apache.kafka.connect.mirror.IdentityReplicationPolicy\n"
TOPICS = ("t", "u", "a.t")  # under Identity the last one's remote topic is that of t under the default policy
FILES = [
    TopicSelector.of(flow_of(text + "heartbeats.replication.enabled=false\n"))
    for text in (
        "topics=.*\n",
        "topics=t\n",
        "topics=.*\ntopics.exclude=t\n",
        "topics=u,a.t\n" + IDENTITY,
        "topics=.*\n" + IDENTITY,
        "topics=.*\nreplication.policy.separator=-\n",
        "topics=t,u\ntopics.map=t:a.u,u:a.t\n",
        "topics=t,u\ntopics.map=t:x,u:x\n",
        "topics=t\ntopics.map=t:x\n",
        "topics=u\ntopics.map=u:x\n",
    )
]
OWN = "the target's own"

Place = tuple[str, int]


@dataclass
class Remote:
    """`log`: whose record each is. `paired`: the source topics that the mirror was ever to write into it."""

    id: str
    log: list[str] = field(default_factory=list)
    paired: set[str] = field(default_factory=set)


@dataclass
class World:
    chance: random.Random
    selector: TopicSelector = FILES[0]
    source_ids: dict[str, str] = field(default_factory=lambda: {topic: f"{topic} 1" for topic in TOPICS})
    remotes: dict[str, Remote] = field(default_factory=dict)
    standings: dict[Place, Standing] = field(default_factory=dict)
    written: list[tuple[dict[str, str], dict[str, Any]]] = field(default_factory=list)
    made: int = 0
    files: int = 0
    mixed: int = 0

    def __post_init__(self) -> None:
        self.remotes["u"] = self._new_remote(OWN)
        if self.chance.random() < 0.5:
            self.remotes["x"] = self._new_remote()
        if self.chance.random() < 0.5:
            self.remotes["a.t"] = self._new_remote("t")  # a MirrorMaker 2 made and wrote it

    def _new_remote(self, *log: str) -> Remote:
        self.made += 1
        return Remote(f"r{self.made}", list(log))

    def change_file(self) -> None:
        self.selector = self.chance.choice(FILES)
        self.files += 1

    def delete_remote(self) -> None:
        if self.remotes:
            del self.remotes[self.chance.choice(sorted(self.remotes))]

    def memory(self) -> TopicMemory:
        """As a driver finds it that has just begun."""
        memory = TopicMemory()
        for key, value in self.written:
            memory.note(key, json.loads(json.dumps(value)))
        return memory

    @property
    def target_ids(self) -> dict[str, str]:
        return {name: remote.id for name, remote in self.remotes.items()}

    def discover(self) -> list[TopicPair]:
        """As the driver does: make what is missing, remember whose records come where."""
        here = dict.fromkeys(self.source_ids, 1)
        for new in plan_topics(here, dict.fromkeys(self.remotes, 1), self.selector).create:
            self.remotes[new.topic] = made = self._new_remote()
            if self.chance.random() < 0.9:  # else the driver dies before it says so
                one = MadeTopic(made.id, new.source, "cluster", self.source_ids[new.source])
                self.written.append(({"made": new.topic}, one.to_value()))
        pairs = plan_topics(here, dict.fromkeys(self.remotes, 1), self.selector).pairs
        held = plan_held(pairs, self.target_ids, self.memory())
        self.written += [({"holds": remote}, one.to_value()) for remote, one in held.items()]
        for pair in pairs:
            self.remotes[pair.remote].paired.add(pair.topic)
        return list(pairs)

    def copy(self) -> None:
        """Some of the pairs, as with `on.recreate=continue`; progress of a lease may be lost."""
        for pair in self.discover():
            if self.chance.random() < 0.4:
                continue
            remote, known = self.remotes[pair.remote], self.standings.get((pair.topic, 0))
            is_known = known is not None and known.target_id == remote.id
            is_equal = set(remote.log) <= {pair.topic} and not (is_known and known and known.translated)
            remote.log.append(pair.topic)
            end, source_id = len(remote.log), self.source_ids[pair.topic]
            if self.chance.random() < 0.8:
                self.standings[pair.topic, 0] = Standing(
                    end,
                    target_end=end,
                    source_id=source_id,
                    target_id=remote.id,
                    translated="" if is_equal else "others are there",
                )

    def find_held(self, pairs: list[TopicPair]) -> dict[str, str]:
        """As upkeep does, and what the model knows beside it."""
        ids = {pair.topic: TopicIds(self.source_ids[pair.topic], self.remotes[pair.remote].id) for pair in pairs}
        foreign = find_foreign(ids, self.standings, {})
        mixed = find_mixed(pairs, ids, self.selector, self.memory(), foreign)
        others = find_others(ids, self.standings, {})
        self.mixed += len(mixed)
        return mixed | {pair.remote: others[pair.topic] for pair in pairs if pair.topic in others}


@dataclass
class Rights(World):
    source: set[Acl] = field(default_factory=set)
    target: set[Acl] = field(default_factory=set)
    given: set[Acl] = field(default_factory=set)
    taken: set[Acl] = field(default_factory=set)
    added: int = 0
    left: int = 0

    def grant(self) -> None:
        pick = self.chance.choice
        name, pattern = pick([(name, LITERAL) for name in (*TOPICS, "*")] + [("t", PREFIXED), ("a.", PREFIXED)])
        user, host = pick((*USERS, EVERYBODY)), pick(("*", HOSTS[0]))
        self.source.add(Acl(name, pattern, user, host, pick((READ, DESCRIBE)), pick((ALLOW, ALLOW, DENY))))

    def revoke(self) -> None:
        self.source -= set(self.chance.sample(sorted(self.source), min(1, len(self.source))))

    def take_away(self) -> None:
        self.target -= set(self.chance.sample(sorted(self.target), min(1, len(self.target))))

    def look(self) -> None:
        pairs = self.discover()
        memory, remotes = self.memory(), {pair.topic: pair.remote for pair in pairs}
        planned = plan_acls(self.source, self.target, remotes, memory.rights, prefixed=True)
        held = self.find_held(pairs)
        planned = {remote: each for remote, each in planned.items() if remote not in held}
        wanted = {
            grant.on(remote)
            for remote, each in plan_acls(self.source, (), remotes, {}, prefixed=True).items()
            for grant in each.missing
            if remote in planned
        }
        self.taken = (self.taken | (wanted & self.given)) - self.target
        self.left += len(self.taken)
        new = {grant.on(remote) for remote, each in planned.items() for grant in each.missing}
        assert not new & self.taken, f"{new & self.taken} in {self}"
        before = set(self.target)
        for permission in (DENY, ALLOW):
            self.target |= {acl for acl in new if acl.permission == permission}
            self._check_let_in(before, {remote: topic for topic, remote in remotes.items() if remote in planned})
        self.added += len(new)
        self.written += [({"rights": remote}, rights_value(each.done())) for remote, each in planned.items()]
        self.given = self.target & (wanted | self.given)

    def _check_let_in(self, before: set[Acl], topics: dict[str, str]) -> None:
        for (remote, topic), user, host in product(topics.items(), USERS, HOSTS):
            for operation in (READ, DESCRIBE):
                if may(self.target, user, host, operation, remote) and not may(before, user, host, operation, remote):
                    for origin in {topic, *self.remotes[remote].log}:
                        allowed = origin != OWN and may(self.source, user, host, operation, origin)
                        assert allowed, f"{user} from {host} may {operation} {remote} with {origin} in {self}"


@dataclass
class Settings(World):
    """`kept`: of each remote topic by its id, its settings and what is by hand. `sources`: of source topics."""

    sources: dict[str, test_by_hand.Settings] = field(
        default_factory=lambda: {topic: dict.fromkeys(test_by_hand.KEYS) for topic in TOPICS}
    )
    kept: dict[str, test_by_hand.World] = field(default_factory=dict)

    def _world(self, remote: str, topic: str) -> test_by_hand.World:
        world = self.kept.setdefault(self.remotes[remote].id, test_by_hand.World(self.chance))
        world.source, world.source_id = self.sources[topic], TOPICS.index(topic)
        return world

    def set_source(self) -> None:
        name = self.chance.choice(test_by_hand.KEYS)
        self.sources[self.chance.choice(TOPICS)][name] = self.chance.choice(test_by_hand.VALUES)

    def set_target(self) -> None:
        if self.kept:
            self.kept[self.chance.choice(sorted(self.kept))].set_target()

    def look(self) -> None:
        pairs = self.discover()
        memory, held = self.memory(), self.find_held(pairs)
        for pair in pairs:
            remote = self.remotes[pair.remote]
            is_new = remote.id not in self.kept
            world = self._world(pair.remote, pair.topic)
            if is_new and memory.is_made(pair.remote, remote.id):
                world.be_made()
            if pair.remote not in held and not pair.is_shared:
                assert remote.paired == {pair.topic}, f"{pair.remote} holds the records of several in {self}"
                assert OWN not in remote.log, f"{pair.remote} is the target's own in {self}"
                world.look()

    @property
    def counts(self) -> tuple[int, int]:
        return sum(w.changes for w in self.kept.values()), sum(w.kept for w in self.kept.values())


@dataclass
class Ends(World):
    ended: list[str] = field(default_factory=list)

    def delete_source(self) -> None:
        if self.source_ids:
            del self.source_ids[self.chance.choice(sorted(self.source_ids))]

    def make_source(self) -> None:
        for topic in TOPICS:
            self.made += 1
            self.source_ids.setdefault(topic, f"{topic} {self.made}")

    def look(self) -> None:
        """The ids of source topics are noted as they are seen."""
        self.discover()
        made = self.memory().made_from("cluster", self.target_ids)
        for remote, one in made.items():
            if one.source in self.source_ids:
                now = MadeTopic(one.topic_id, one.source, one.source_cluster, self.source_ids[one.source])
                self.written.append(({"made": remote}, now.to_value()))
        memory = self.memory()
        made = memory.made_from("cluster", self.target_ids)
        sources = {remote: one.source for remote, one in made.items()}
        gone = plan_deletes(sources, self.source_ids, self.remotes, self.selector)
        due = {topic: remote for remote, topic in gone.items()}
        ends: dict[Place, int | None] = {(remote, 0): len(self.remotes[remote].log) for remote in gone}
        kept = find_written(due, ends, self.standings)
        kept |= find_kept({topic: made[remote].source_id for topic, remote in due.items()}, self.standings, {})
        kept |= find_kept_for_others(due, self.target_ids, memory)
        kept |= find_shared(due, self.selector, memory.merged, mutual=False)
        for topic, remote in due.items():
            if topic not in kept:
                self.ended += self.remotes[remote].log
                assert set(self.remotes[remote].log) <= {topic}, f"{remote} goes with {topic} in {self}"
                del self.remotes[remote]


def live_rights(seed: int) -> Rights:
    world = Rights(random.Random(seed))
    _live(world, world.look, [world.grant, world.grant, world.revoke, world.take_away])
    return world


def live_settings(seed: int) -> Settings:
    world = Settings(random.Random(seed))
    _live(world, world.look, [world.set_source, world.set_source, world.set_source, world.set_target])
    return world


def live_ends(seed: int) -> Ends:
    world = Ends(random.Random(seed))
    _live(world, world.look, [world.delete_source, world.make_source])
    return world


def _live(world: World, look: Callable[[], None], steps: list[Callable[[], None]]) -> None:
    steps = [*steps, look, look, world.copy, world.copy, world.change_file]
    for _ in range(STEPS):
        world.chance.choice(steps if world.chance.random() < 0.97 else [world.delete_remote])()
    look()


def test_under_other_files_nobody_is_let_in_to_records_of_others(histories: int) -> None:
    worlds = [(w.added, w.left, w.mixed) for w in map(live_rights, range(histories))]
    added, left, mixed = (sum(each) for each in zip(*worlds, strict=True))
    print(f"{histories} histories: {added} rights added, {left} left away, {mixed} remote topics held back")
    assert added > histories and left > histories // 3 and mixed > histories


def test_under_other_files_nothing_set_by_hand_is_lost(histories: int) -> None:
    worlds = [(*w.counts, w.mixed) for w in map(live_settings, range(histories))]
    changes, kept, mixed = (sum(each) for each in zip(*worlds, strict=True))
    print(f"{histories} histories: {changes} values written, {kept} left by hand, {mixed} remote topics held back")
    assert min(changes, kept) > histories // 2 and mixed > histories


def test_under_other_files_nothing_is_deleted_that_others_still_have(histories: int) -> None:
    ended = [len(w.ended) for w in map(live_ends, range(histories))]
    print(f"{histories} histories: {sum(ended)} records of topics that ended")
    assert sum(ended) > histories // 10


@pytest.mark.parametrize("live", [live_rights, live_settings, live_ends])
def test_the_model_notices_a_mirror_that_forgets_whose_records_are_where(
    monkeypatch: pytest.MonkeyPatch, live: Callable[[int], World]
) -> None:
    monkeypatch.setattr(TopicMemory, "holds_others", lambda *_: False)
    with pytest.raises(AssertionError):
        for seed in range(3000):
            live(seed)


@pytest.mark.parametrize("live", [live_rights, live_settings])
def test_the_model_notices_a_mirror_that_says_it_too_late(
    monkeypatch: pytest.MonkeyPatch, live: Callable[[int], World]
) -> None:
    monkeypatch.setitem(globals(), "plan_held", lambda *_: {})
    with pytest.raises(AssertionError):
        for seed in range(6000):
            live(seed)
