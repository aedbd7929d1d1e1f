"""The end of a remote topic with its source topic: under recreations, other writers, other files, drivers that die.

The model knows who wrote each record of the remote topic. It may go only if the mirror wrote all of them from this
source topic, and that is gone.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from sparkmirror.sync import deletes
from sparkmirror.sync.deletes import find_shared, plan_deletes
from sparkmirror.topology.incarnation import TopicIds, find_kept, find_written, why_another
from sparkmirror.topology.select import TopicSelector
from sparkmirror.topology.standing import Standing
from tests.support.flow_text import flow_of

STEPS = 14
PLAIN = TopicSelector.of(flow_of("topics=t\n"))
# The same names under other files: one merges, one names another topic, one renames.
MERGING = TopicSelector.of(flow_of("topics=t,u\ntopics.map=t:a.t,u:a.t\n"))
OTHERS = [TopicSelector.of(flow_of("topics=u\n")), TopicSelector.of(flow_of("topics=t\ntopics.map=t:b.t\n"))]


@dataclass
class World:
    """`log`: who wrote each record of a.t. `seen_id`: what the claim topic says of the source topic."""

    chance: random.Random
    selector: TopicSelector = PLAIN
    source_id: int = 1
    is_there: bool = True
    log: list[str] = field(default_factory=list)
    standing: Standing | None = None
    unwritten: Standing | None = None  # progress of a lease that nobody has written yet
    seen_id: int = 1
    merged: set[str] = field(default_factory=set)
    ended: bool = False

    def copy(self) -> None:
        """As far as the copy is let: it stops at what it did not write, where it does not share."""
        known = self.unwritten or self.standing
        is_shared = self.selector is MERGING
        stands = known is None or known.target_end == len(self.log) or is_shared
        if not self.is_there or self.selector in OTHERS or not stands or (known is None and self.log and not is_shared):
            return
        if known and why_another(known, TopicIds(str(self.source_id), "r")):
            return
        if is_shared:
            self.merged.add("t")
        self.log += ["mirror"] * self.chance.randint(1, 3)
        end = len(self.log)
        self.unwritten = Standing(end, target_end=end, source_id=str(self.source_id), target_id="r")

    def write_progress(self) -> None:
        self.standing, self.unwritten = self.unwritten or self.standing, None

    def lose_progress(self) -> None:
        self.unwritten = None

    def write_by_another(self) -> None:
        """The other topic of a file that merges, or an application."""
        self.log.append("other")

    def delete_source(self) -> None:
        self.is_there = False

    def make_source(self) -> None:
        if not self.is_there:
            self.is_there, self.source_id = True, self.source_id + 1

    def change_file(self) -> None:
        self.selector = self.chance.choice([PLAIN, PLAIN, MERGING, *OTHERS])

    def look(self) -> None:
        if self.is_there:
            self.seen_id = self.source_id
            return
        gone = plan_deletes({"a.t": "t"}, set(), {"a.t"}, self.selector)
        standings = {("t", 0): self.standing} if self.standing else {}
        kept = find_written({"t": "a.t"}, {("a.t", 0): len(self.log)}, standings)
        kept |= find_kept({"t": str(self.seen_id)}, standings, {})
        kept |= find_shared(["t"], self.selector, self.merged, mutual=False)
        if gone and not kept:
            self.ended = True
            assert "other" not in self.log, self


def live(seed: int) -> World:
    world = World(random.Random(seed))
    steps = [world.copy, world.copy, world.write_progress, world.write_progress, world.look, world.lose_progress]
    steps += [world.write_by_another, world.delete_source, world.make_source, world.change_file, world.look]
    for _ in range(STEPS):
        if not world.ended:
            world.chance.choice(steps)()
    return world


def test_nothing_is_deleted_that_somebody_else_still_has(histories: int) -> None:
    ended = [bool(world.log) for world in map(live, range(histories * 4)) if world.ended]
    assert len(ended) > histories // 10, "some went"
    assert sum(ended) > histories // 100, "and not only empty ones"


def test_the_model_notices_an_end_that_heeds_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "find_written", lambda *_: {})
    monkeypatch.setattr(deletes, "find_shared", lambda *_, **__: {})
    with pytest.raises(AssertionError):
        for seed in range(2000):
            live(seed)
