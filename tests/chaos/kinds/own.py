"""Faults of a topic that they have for themselves, so that what they destroy is not missed elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from confluent_kafka import KafkaException

from tests.chaos.compare import read_rows
from tests.chaos.fault import Fault
from tests.chaos.judge import Findings, compare_rows
from tests.chaos.side import await_true

RECORDS = 60
NAMED_S, COPIED_S = 30.0, 45.0


class OfTopic(Fault):
    """`prepare` makes it, and returns when its first records are copied. `judge` removes it."""

    partitions = 1

    def prepare(self) -> None:
        self.topic = f"own-{self.dice.randrange(16**6):06x}"
        self.remote = f"A.{self.topic}"
        self.written = 0
        self.make()
        self.write()
        self.await_equal()

    def make(self) -> None:
        self.world.source.create(self.topic, self.partitions)

    def write(self) -> None:
        """Some more, each with a number of its own."""
        numbers = range(self.written, self.written + RECORDS)
        self.world.source.write(self.topic, (b"%d" % number for number in numbers))
        self.written += RECORDS

    def await_equal(self, partitions: int = 1, first: int = 0) -> None:
        """Until all partitions hold the same from `first` on."""
        found = Findings(first="nothing was read")

        def is_equal() -> bool:
            nonlocal found
            found = self._compare(partitions, first)
            return found.is_equal

        try:
            await_true(is_equal, "equal logs", COPIED_S)
        except AssertionError as error:
            raise AssertionError(f"{self.topic}: {found.first} ({error})") from None

    def _compare(self, partitions: int, first: int) -> Findings:
        total = Findings()
        for partition in range(partitions):
            here, there = (self.topic, partition), (self.remote, partition)
            end = self.world.source.ends([here])[here]
            if self.world.target.ends([there])[there] != end:
                return Findings(first=f"{self.remote}-{partition} does not end at {end}")
            source = read_rows(self.world.source, {here: first}, {here: end}, isolation="read_committed")[here]
            target = read_rows(self.world.target, {there: first}, {there: end}, isolation="read_uncommitted")[there]
            total += compare_rows(source, target, end)
        return total

    def names(self) -> set[str]:
        """Of all facts about the topic, whichever driver tells them."""
        facts = [fact for driver in self.world.drivers for fact in driver.facts(self.topic)]
        return {fact["name"] for fact in facts if fact["name"]}  # what only passes has none

    def await_named(self, *names: str) -> None:
        await_true(
            lambda: bool(self.names() & set(names)), f"the fact {' or '.join(names)}, not {self.names()}", NAMED_S
        )

    def await_named_or_equal(self, name: str) -> None:
        """What the target lost may be copied again at once, where nobody knew yet that it was there."""
        await_true(lambda: name in self.names() or self._is_equal(), f"the fact {name}, or an equal copy")

    def _is_equal(self) -> bool:
        return self.remote in self.world.target.leaders() and self._compare(1, 0).is_equal

    def check(self) -> None:
        """What the mirror owes after the fault; AssertionError says what is missing."""
        self.write()
        self.await_equal()

    def judge(self) -> Iterator[str]:
        try:
            self.check()
        except (AssertionError, KafkaException) as error:
            yield str(error)
        self._remove()

    def _remove(self) -> None:
        for side, topic in ((self.world.source, self.topic), (self.world.target, self.remote)):
            if topic in side.leaders():
                side.delete(topic)
