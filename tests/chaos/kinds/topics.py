"""Topics that are deleted, made anew, trimmed, extended or written by others while they are copied."""

from __future__ import annotations

from confluent_kafka.admin import NewPartitions

from tests.chaos.fault import MIRROR, Kind
from tests.chaos.kinds.own import RECORDS, OfTopic
from tests.chaos.side import SOURCE, TARGET, Side, await_true


class SourceDeleted(OfTopic):
    """The target keeps what was copied."""

    def begin(self) -> None:
        self.write()
        self.world.source.delete(self.topic)

    def check(self) -> None:
        end = self.world.target.ends([(self.remote, 0)])[self.remote, 0]
        assert RECORDS <= end <= self.written, f"{self.remote} ends at {end}, {self.written} were written"


class SourceRecreated(OfTopic):
    def begin(self) -> None:
        self.world.source.delete(self.topic)
        self.make()
        self.write()

    def check(self) -> None:
        self.await_named("source-recreated")


class SourceTrimmed(OfTopic):
    """Records are removed while the mirror can't reach the source, so that it lacks some of them."""

    def begin(self) -> None:
        for proxy in self.world.source.proxies:
            proxy.refuse()
        self.write()
        self.world.source.trim({(self.topic, 0): self.written - RECORDS // 2})

    def end(self) -> None:
        for proxy in self.world.source.proxies:
            proxy.heal()

    def check(self) -> None:
        self.await_named("gap")


class Extended(OfTopic):
    side: Side

    def add_partitions(self, side: Side, topic: str) -> None:
        side.admin.create_partitions([NewPartitions(topic, 3)])[topic].result(30)
        await_true(lambda: len(side.leaders().get(topic, {})) == 3, f"{topic} to grow")


class SourceExtended(Extended):
    def begin(self) -> None:
        self.add_partitions(self.world.source, self.topic)

    def check(self) -> None:
        for partition in range(3):
            self.world.source.write(self.topic, (b"new %d" % number for number in range(RECORDS)), partition)
        await_true(lambda: len(self.world.target.leaders()[self.remote]) == 3, f"{self.remote} to grow")
        self.await_equal(partitions=3)


class TargetExtended(Extended):
    def begin(self) -> None:
        self.add_partitions(self.world.target, self.remote)


class TargetDeleted(OfTopic):
    """The mirror makes it anew, and copies it from the start or says why not."""

    def begin(self) -> None:
        self.world.target.delete(self.remote)

    def check(self) -> None:
        self.write()
        self.await_named_or_equal("target-recreated")


class TargetRecreated(TargetDeleted):
    """Somebody else makes it anew, unless the mirror is faster."""

    def begin(self) -> None:
        self.world.target.delete(self.remote)
        if self.remote not in self.world.target.leaders():
            self.world.target.create(self.remote)


class TargetTrimmed(OfTopic):
    """What was copied goes, as by retention; what comes stands at its offset."""

    def begin(self) -> None:
        self.world.target.trim({(self.remote, 0): RECORDS // 2})

    def check(self) -> None:
        self.write()
        self.await_equal(first=RECORDS // 2)


class ForeignWriter(OfTopic):
    def begin(self) -> None:
        self.world.target.write(self.remote, [b"foreign"])
        self.write()

    def check(self) -> None:
        self.await_named("foreign-writer")


def _kind(name: str, text: str, make: type[OfTopic], *touches: str) -> Kind:
    return Kind(name=name, text=text, make=make, touches=frozenset({MIRROR, *touches}))


KINDS = [
    _kind("source-topic-deleted", "a source topic is deleted: the target keeps its records", SourceDeleted),
    _kind("source-topic-recreated", "a source topic is deleted and made anew: `source-recreated`", SourceRecreated),
    _kind("source-topic-trimmed", "records are removed before they are copied: `gap`", SourceTrimmed, SOURCE),
    _kind("source-topic-extended", "a source topic gets more partitions", SourceExtended),
    _kind(
        "target-topic-deleted", "a target topic is deleted: mirrored anew, or `target-recreated`", TargetDeleted, TARGET
    ),
    _kind(
        "target-topic-recreated", "a target topic is deleted and made anew: `target-recreated`", TargetRecreated, TARGET
    ),
    _kind("target-topic-trimmed", "copied records are removed from the target", TargetTrimmed, TARGET),
    _kind("target-topic-extended", "a target topic gets more partitions than its source", TargetExtended, TARGET),
    _kind("foreign-writer", "somebody else writes into a target topic: `foreign-writer`", ForeignWriter, TARGET),
]
