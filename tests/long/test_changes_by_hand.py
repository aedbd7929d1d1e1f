"""Settings and rights of remote topics on real brokers under random changes on both sides, one after the other.

The source changes, somebody changes the target by hand, topics are deleted and made anew on either side, drivers come
and go with files that leave out other configurations. What was set or taken away by hand stays, the rest follows the
source, and nobody is let in whom the source does not let in. SEED and STEPS as you like.
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
    "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
    "heartbeats.replication.enabled": "false",
    "on.recreate": "continue",
}
VALUES: dict[str, tuple[str | None, ...]] = {
    "retention.ms": ("3600000", "7200000", "-1", None),
    "segment.bytes": ("1048576", "2097152", None),
    "flush.ms": ("1000", "2000", None),
}
MIRRORED, OWN = ("t-one", "t-two"), "t-own"  # the last is the target's alone
OPERATIONS = (AclOperation.READ, AclOperation.DESCRIBE, AclOperation.ALL, AclOperation.WRITE)

Settings = dict[str, str | None]
log = logging.getLogger(__name__)


@pytest.fixture
def guarded() -> Iterator[Pair]:
    a, b = (KafkaCluster(name=f"by-hand-{name}", overrides=AUTHORIZER, heap_mb=256) for name in "AB")
    start_clusters(a, b)
    with a, b:
        yield Pair(a, b)


@dataclass
class Topic:
    """What both sides have, and what is by hand. `left`: what an excluded one was like when it was left out."""

    name: str
    source: Settings = field(default_factory=lambda: dict.fromkeys(VALUES))
    target: Settings = field(default_factory=lambda: dict.fromkeys(VALUES))
    by_hand: set[str] = field(default_factory=set)
    left: Settings = field(default_factory=dict)

    def follow(self, excluded: str) -> None:
        for name in VALUES:
            if name != excluded and name not in self.by_hand:
                self.target[name] = self.source[name]

    def include(self, name: str) -> None:
        """As if somebody had just changed it, if somebody has."""
        if name in self.left and self.target[name] != self.left.pop(name):
            self.note_by_hand(name)

    def note_by_hand(self, name: str) -> None:
        self.by_hand.discard(name)
        if self.target[name] != self.source[name]:
            self.by_hand.add(name)


class Story:
    def __init__(self, pair: Pair, folder: Path) -> None:
        self.pair = pair
        self.chance = random.Random(SEED)
        self.topics = {name: Topic(name) for name in MIRRORED}
        self.excluded = ""
        self.file = write_flow(folder, pair.source, pair.target, ".*", OFTEN)
        self._stack = contextlib.ExitStack()
        self.mirror: LocalMirror
        self.taken: set[AclBinding] = set()
        self.counts: dict[str, int] = {}
        for name in MIRRORED:
            create_topic(pair.source, name, 1)
        create_topic(pair.target, OWN, 1)

    def begin(self) -> None:
        keys = f"config.properties.exclude = min\\\\.insync\\\\.replicas, {self.excluded or 'nothing'}\n"
        lines = [line for line in self.file.read_text().splitlines(keepends=True) if "properties.exclude" not in line]
        self.file.write_text("".join(lines) + keys)
        self.mirror = self._stack.enter_context(mirroring(self.file))
        await_condition(lambda: set(MIRRORED) <= set(topics(self.pair.target)), "the topics")

    def end(self) -> None:
        self._stack.close()

    # -- what happens

    def set_source(self, topic: Topic) -> None:
        name, value = self._draw()
        topic.source[name] = value
        change_configs(self.pair.source, topic.name, {name: value})

    def set_target(self, topic: Topic) -> None:
        name, value = self._draw()
        is_news, topic.target[name] = topic.target[name] != value, value
        change_configs(self.pair.target, topic.name, {name: value})
        if is_news and name != self.excluded:
            topic.note_by_hand(name)

    def recreate_source(self, topic: Topic) -> None:
        delete_topic(self.pair.source, topic.name)
        await_condition(lambda: topic.name not in topics(self.pair.source), "its end")
        topic.source = {name: self.chance.choice(values) for name, values in VALUES.items()}
        set_ = {name: value for name, value in topic.source.items() if value is not None}
        create_topic(self.pair.source, topic.name, 1, config=set_)
        topic.by_hand |= {name for name in VALUES if topic.target[name] != topic.source[name] and name != self.excluded}
        if self.excluded and self.excluded not in topic.by_hand:
            topic.left[self.excluded] = "of another topic"

    def recreate_target(self, topic: Topic) -> None:
        """The mirror makes it again."""
        delete_topic(self.pair.target, topic.name)
        topic.by_hand.clear()
        topic.left.clear()
        topic.target = {name: None if name == self.excluded else value for name, value in topic.source.items()}

    def change_driver(self, _: Topic) -> None:
        self.end()
        before, self.excluded = self.excluded, self.chance.choice(("", *VALUES))
        for topic in self.topics.values():
            if before and before != self.excluded:
                topic.include(before)
            if self.excluded and self.excluded != before:
                topic.left[self.excluded] = topic.target[self.excluded]
        self.begin()

    def grant(self, topic: Topic) -> None:
        add_acls(self.pair.source, self._draw_right(topic.name))

    def revoke(self, _: Topic) -> None:
        if rights := sorted(topic_acls(self.pair.source), key=str):
            remove_acls(self.pair.source, self.chance.choice(rights))

    def take_away(self, _: Topic) -> None:
        if rights := sorted(topic_acls(self.pair.target), key=str):
            gone = self.chance.choice(rights)
            remove_acls(self.pair.target, gone)
            if as_acl(gone) in wanted_rights(self.pair.source):
                self.taken.add(gone)

    def _draw(self) -> tuple[str, str | None]:
        name = self.chance.choice(sorted(VALUES))
        return name, self.chance.choice(VALUES[name])

    def _draw_right(self, topic: str) -> AclBinding:
        pick, literal = self.chance.choice, ResourcePatternType.LITERAL
        name, pattern = pick([(topic, literal), (topic, literal), ("*", literal), ("t-", ResourcePatternType.PREFIXED)])
        permission = pick([AclPermissionType.ALLOW, AclPermissionType.ALLOW, AclPermissionType.DENY])
        return binding(name, pick(OPERATIONS), pick([*USERS, "User:*"]), permission, pattern)

    # -- what must be

    def step(self) -> None:
        often: list[Callable[[Topic], None]] = [self.set_source, self.set_target, self.grant, self.take_away]
        rare = [self.recreate_source, self.recreate_target, self.change_driver, self.revoke]
        action = self.chance.choice(rare if self.chance.random() < 0.3 else often)
        self.counts[action.__name__] = self.counts.get(action.__name__, 0) + 1
        log.info("step %d: %s", sum(self.counts.values()), action.__name__)
        before = rights_of(self.pair.target)
        action(self.chance.choice(list(self.topics.values())))
        left_alone = rights_of(self.pair.target) & before
        await_looks(self.mirror, 4)
        await_condition(lambda: self.topics.keys() <= topics(self.pair.target), "topics that were made again")
        for topic in self.topics.values():
            topic.follow(self.excluded)
            self._check_settings(topic, action.__name__)
        self._check_rights(left_alone)

    def _check_settings(self, topic: Topic, did: str) -> None:
        found = topic_configs(self.pair.target, topic.name)
        wanted = {name: value for name, value in topic.target.items() if value is not None}
        told = {name: value for name, value in found.items() if name not in KEEPS_TIMES}
        assert told == wanted, f"after {did} of {topic}, without {self.excluded or 'nothing'}"

    def _check_rights(self, before: set[Acl]) -> None:
        here, there = rights_of(self.pair.source), rights_of(self.pair.target)
        assert all(acl.name in MIRRORED for acl in there), "nothing is the target's own"
        for topic, user, host in product((*MIRRORED, OWN), USERS, HOSTS):
            for operation in (2, 3, 4, 8):
                if may(there, user, host, operation, topic) and not may(before, user, host, operation, topic):
                    assert may(here, user, host, operation, topic), f"{user} may {operation} {topic}"
        assert not self.taken & topic_acls(self.pair.target), "what was taken away by hand stays away"


def as_acl(a: AclBinding) -> Acl:
    return Acl(a.name, a.resource_pattern_type.value, a.principal, a.host, a.operation.value, a.permission_type.value)


def rights_of(servers: str) -> set[Acl]:
    return set(map(as_acl, topic_acls(servers)))


def wanted_rights(source: str) -> set[Acl]:
    planned = plan_acls(rights_of(source), (), {name: name for name in MIRRORED}, {}, prefixed=True)
    return {grant.on(remote) for remote, acls in planned.items() for grant in acls.missing}


@pytest.mark.timeout(1800)
def test_nothing_by_hand_is_lost_and_nobody_is_let_in(guarded: Pair, tmp_path: Path) -> None:
    story = Story(guarded, tmp_path)
    story.begin()
    try:
        for _ in range(STEPS):
            story.step()
    finally:
        story.end()
    print(f"seed {SEED}: {story.counts}")
    assert len(story.counts) == 8


@pytest.mark.timeout(600)
def test_with_their_sources_go_only_topics_that_nobody_else_has(guarded: Pair, tmp_path: Path) -> None:
    names = {name: name.startswith("goes") for name in ("goes-1", "goes-2", "written-1", "written-2")}
    keys = OFTEN | {"sync.topic.deletes.enabled": "true"}
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
