"""Settings and rights of remote topics on real brokers under random changes on both sides, one after the other.

The source changes, somebody changes the target by hand, topics are deleted and made anew on either side, drivers come
and go with files that leave out other configurations or topics and name remote topics otherwise. What was set or taken
away by hand stays, the rest follows the source, and nobody is let in whom the source does not let in to all that a
remote topic holds. SEED and STEPS as you like.
"""

from __future__ import annotations

import contextlib
import logging
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import pytest
from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, ResourcePatternType

from sparkmirror.embedded import KafkaCluster, start_clusters
from sparkmirror.topology.acls import Acl, plan_acls
from tests.conftest import Pair
from tests.property.test_rights import HOSTS, USERS, may
from tests.support.flows import write_flow
from tests.support.kafka_client import await_condition, create_topic, delete_topic, produce, topics
from tests.support.local_mirror import LocalMirror, await_looks, mirroring
from tests.support.topic_admin import (
    KEEPS_TIMES,
    add_acls,
    binding,
    change_configs,
    remove_acls,
    topic_acls,
    topic_configs,
)

SEED, STEPS = int(os.environ.get("SEED", "1")), int(os.environ.get("STEPS", "80"))
# The mirror itself may do everything.
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
OFTEN = {
    "refresh.topics.interval.seconds": "0.2",
    "sync.topic.configs.interval.seconds": "0.2",
    "sync.topic.acls.interval.seconds": "0.2",
    "sync.topic.acls.prefixed.enabled": "true",
    "heartbeats.replication.enabled": "false",
    "on.recreate": "continue",
}
VALUES: dict[str, tuple[str | None, ...]] = {
    "retention.ms": ("3600000", "7200000", "-1", None),
    "segment.bytes": ("1048576", "2097152", None),
    "flush.ms": ("1000", "2000", None),
}
MIRRORED, OWN = ("t-one", "t-two"), "t-own"  # the last is the target's alone
# Names stay; each topic goes into the other one's remote topic; all else is a separator behind the alias.
SAME, SWAPPED = "same", "swapped"
POLICY = "org.apache.kafka.connect.mirror.{}ReplicationPolicy"
OPERATIONS = (AclOperation.READ, AclOperation.DESCRIBE, AclOperation.ALL, AclOperation.WRITE)

Settings = dict[str, str | None]
log = logging.getLogger(__name__)


@pytest.fixture
def guarded() -> Iterator[Pair]:
    a, b = (KafkaCluster(name=f"by-hand-{name}", overrides=AUTHORIZER, heap_mb=256) for name in "AB")
    start_clusters(a, b)
    with a, b:
        yield Pair(a, b)


@dataclass(frozen=True)
class File:
    """What a driver is started with: `excluded` configuration, topic that is `left_out`, names on the target."""

    excluded: str = ""
    left_out: str = ""
    names: str = SAME

    def remotes(self, alias: str) -> dict[str, str]:
        """Source topic -> remote topic."""
        named = {SAME: {t: t for t in MIRRORED}, SWAPPED: dict(zip(MIRRORED, reversed(MIRRORED), strict=True))}
        found = named.get(self.names) or {topic: f"{alias}{self.names}{topic}" for topic in MIRRORED}
        return {topic: remote for topic, remote in found.items() if topic != self.left_out}

    def keys(self) -> dict[str, str]:
        keys = {
            "config.properties.exclude": f"min\\\\.insync\\\\.replicas, {self.excluded or 'nothing'}",
            "topics.exclude": self.left_out or "nothing",
            "replication.policy.class": POLICY.format("Identity" if self.names in (SAME, SWAPPED) else "Default"),
        }
        if self.names == SWAPPED:
            keys["topics.map"] = ",".join(f"{topic}:{remote}" for topic, remote in self.remotes("").items())
        elif self.names != SAME:
            keys["replication.policy.separator"] = self.names
        return keys


@dataclass
class Remote:
    """A topic of the target: what it has, had after the last look, and what is by hand.

    `source_ids`: of each configuration, the number of the source topic of the last look. `origins`: the source topics
    that the mirror was ever to write into it.
    """

    name: str
    target: Settings = field(default_factory=lambda: dict.fromkeys(VALUES))
    last: Settings = field(default_factory=lambda: dict.fromkeys(VALUES))
    by_hand: set[str] = field(default_factory=set)
    source_ids: dict[str, int] = field(default_factory=dict)
    origins: set[str] = field(default_factory=set)

    def follow(self, source: Settings, source_id: int, excluded: str) -> None:
        """As a look of the mirror must leave it."""
        for name in VALUES:
            is_anew = self.source_ids.setdefault(name, source_id) != source_id
            if name == excluded:
                continue
            is_changed = self.target[name] != self.last[name]
            if is_changed:
                self.by_hand.discard(name)
            if (is_changed or is_anew) and self.target[name] != source[name]:
                self.by_hand.add(name)
            if name not in self.by_hand:
                self.target[name] = source[name]
            self.last[name], self.source_ids[name] = self.target[name], source_id


class Story:
    def __init__(self, pair: Pair, folder: Path) -> None:
        self.pair = pair
        self.chance = random.Random(SEED)
        self.sources: dict[str, Settings] = {name: dict.fromkeys(VALUES) for name in MIRRORED}
        self.source_ids = dict.fromkeys(MIRRORED, 0)
        self.remotes: dict[str, Remote] = {}
        self.plan = File()
        self.path = write_flow(folder, pair.source, pair.target, ".*", OFTEN)
        self.head = self.path.read_text()
        self.alias = self.head.partition("=")[2].partition(",")[0].strip()
        self._stack = contextlib.ExitStack()
        self.mirror: LocalMirror
        self.taken: set[AclBinding] = set()
        self.counts: dict[str, int] = {}
        self.mixed = 0
        for name in MIRRORED:
            create_topic(pair.source, name, 1)
        create_topic(pair.target, OWN, 1)

    @property
    def active(self) -> dict[str, str]:
        return self.plan.remotes(self.alias)

    def begin(self) -> None:
        self.path.write_text(self.head + "".join(f"{key} = {value}\n" for key, value in self.plan.keys().items()))
        self.mirror = self._stack.enter_context(mirroring(self.path))
        await_condition(lambda: {*self.active.values()} <= set(topics(self.pair.target)), "the topics")

    def end(self) -> None:
        self._stack.close()

    # -- what happens

    def set_source(self) -> None:
        topic, (name, value) = self.chance.choice(MIRRORED), self._draw()
        self.sources[topic][name] = value
        change_configs(self.pair.source, topic, {name: value})

    def set_target(self) -> None:
        remote, (name, value) = self.chance.choice(list(self.remotes.values())), self._draw()
        remote.target[name] = value
        change_configs(self.pair.target, remote.name, {name: value})

    def recreate_source(self) -> None:
        topic = self.chance.choice(MIRRORED)
        delete_topic(self.pair.source, topic)
        await_condition(lambda: topic not in topics(self.pair.source), "its end")
        self.sources[topic] = {name: self.chance.choice(values) for name, values in VALUES.items()}
        self.source_ids[topic] += 1
        set_ = {name: value for name, value in self.sources[topic].items() if value is not None}
        create_topic(self.pair.source, topic, 1, config=set_)

    def recreate_target(self) -> None:
        """The mirror makes it again, if it is one of the file's."""
        gone = self.chance.choice(sorted(self.remotes))
        delete_topic(self.pair.target, gone)
        del self.remotes[gone]

    def change_driver(self) -> None:
        self.end()
        pick = self.chance.choice
        self.plan = File(pick(("", *VALUES)), pick(("", "", *MIRRORED)), pick((SAME, SAME, ".", "-", SWAPPED)))
        self.begin()

    def grant(self) -> None:
        add_acls(self.pair.source, self._draw_right(self.chance.choice(MIRRORED)))

    def revoke(self) -> None:
        if rights := sorted(topic_acls(self.pair.source), key=str):
            remove_acls(self.pair.source, self.chance.choice(rights))

    def take_away(self) -> None:
        if rights := sorted(topic_acls(self.pair.target), key=str):
            gone = self.chance.choice(rights)
            remove_acls(self.pair.target, gone)
            if as_acl(gone) in self._wanted_rights():
                self.taken.add(gone)

    def _draw(self) -> tuple[str, str | None]:
        name = self.chance.choice(sorted(VALUES))
        return name, self.chance.choice(VALUES[name])

    def _draw_right(self, topic: str) -> AclBinding:
        pick, literal = self.chance.choice, ResourcePatternType.LITERAL
        name, pattern = pick([(topic, literal), (topic, literal), ("*", literal), ("t-", ResourcePatternType.PREFIXED)])
        permission = pick([AclPermissionType.ALLOW, AclPermissionType.ALLOW, AclPermissionType.DENY])
        return binding(name, pick(OPERATIONS), pick([*USERS, "User:*"]), permission, pattern)

    def _wanted_rights(self) -> set[Acl]:
        planned = plan_acls(rights_of(self.pair.source), (), self.active, {}, prefixed=True)
        return {grant.on(remote) for remote, acls in planned.items() for grant in acls.missing}

    # -- what must be

    def step(self) -> None:
        often: list[Callable[[], None]] = [self.set_source, self.set_target, self.grant, self.take_away]
        rare = [self.recreate_source, self.recreate_target, self.revoke, *[self.change_driver] * 4]
        action = self.chance.choice(rare if self.chance.random() < 0.45 else often)
        self.counts[action.__name__] = self.counts.get(action.__name__, 0) + 1
        log.info("step %d: %s", sum(self.counts.values()), action.__name__)
        before = rights_of(self.pair.target)
        action()
        left_alone = rights_of(self.pair.target) & before
        await_looks(self.mirror, 4)
        self.check(action.__name__, left_alone)

    def check(self, did: str, rights_before: set[Acl]) -> None:
        await_condition(lambda: {*self.active.values()} <= topics(self.pair.target), "topics that were made again")
        for topic, remote in self.active.items():
            known = self.remotes.get(remote) or self._made(topic, remote)
            known.origins.add(topic)
            if known.origins == {topic}:
                known.follow(self.sources[topic], self.source_ids[topic], self.plan.excluded)
            else:
                self.mixed += 1
        for known in self.remotes.values():
            self._check_settings(known, did)
        self._check_rights(rights_before)

    def _made(self, topic: str, remote: str) -> Remote:
        """By the mirror, like the source topic, and without what the file leaves out."""
        made = {n: None if n == self.plan.excluded else value for n, value in self.sources[topic].items()}
        source_ids = dict.fromkeys(VALUES, self.source_ids[topic])
        self.remotes[remote] = Remote(remote, made, dict(made), source_ids=source_ids)
        return self.remotes[remote]

    def _check_settings(self, remote: Remote, did: str) -> None:
        found = topic_configs(self.pair.target, remote.name)
        wanted = {name: value for name, value in remote.target.items() if value is not None}
        told = {name: value for name, value in found.items() if name not in KEEPS_TIMES}
        assert told == wanted, f"after {did} of {remote} with {self.plan}, seed {SEED}"

    def _check_rights(self, before: set[Acl]) -> None:
        here, there = rights_of(self.pair.source), rights_of(self.pair.target)
        assert all(acl.name != OWN for acl in there), "nothing is the target's own"
        for remote, user, host in product(self.remotes.values(), USERS, HOSTS):
            for operation in (2, 3, 4, 8):
                is_new = may(there, user, host, operation, remote.name)
                if is_new and not may(before, user, host, operation, remote.name):
                    for origin in remote.origins:
                        said = f"{user} may {operation} {remote.name}, which holds {origin}, seed {SEED}"
                        assert may(here, user, host, operation, origin), said
        assert not self.taken & topic_acls(self.pair.target), "what was taken away by hand stays away"


def as_acl(a: AclBinding) -> Acl:
    return Acl(a.name, a.resource_pattern_type.value, a.principal, a.host, a.operation.value, a.permission_type.value)


def rights_of(servers: str) -> set[Acl]:
    return set(map(as_acl, topic_acls(servers)))


@pytest.mark.timeout(1800)
def test_nothing_by_hand_is_lost_and_nobody_is_let_in(guarded: Pair, tmp_path: Path) -> None:
    story = Story(guarded, tmp_path)
    story.begin()
    try:
        await_looks(story.mirror, 4)
        story.check("the start", set())
        for _ in range(STEPS):
            story.step()
    finally:
        story.end()
    print(f"seed {SEED}: {story.counts}, {story.mixed} times a remote topic of several was left alone")
    assert len(story.counts) == 8


@pytest.mark.timeout(600)
def test_with_their_sources_go_only_topics_that_nobody_else_has(guarded: Pair, tmp_path: Path) -> None:
    names = {name: name.startswith("goes") for name in ("goes-1", "goes-2", "written-1", "written-2")}
    keys = OFTEN | {"sync.topic.deletes.enabled": "true", "replication.policy.class": POLICY.format("Identity")}
    for name in names:
        create_topic(guarded.source, name, 1)
        produce(guarded.source, name, ({"value": b"x"} for _ in range(20)))
    with mirroring(write_flow(tmp_path, guarded.source, guarded.target, ".*", keys)) as mirror:
        mirror.await_topics(len(names))
        mirror.catch_up(*names)
        for name, goes in names.items():
            if not goes:
                produce(guarded.target, name, [{"value": b"an application's"}])
        for name in names:
            delete_topic(guarded.source, name)
        await_condition(lambda: not any(n in topics(guarded.target) for n, goes in names.items() if goes), "their end")
        await_looks(mirror, 4)
        assert {name for name in topics(guarded.target) if name in names} == {
            n for n, goes in names.items() if not goes
        }
