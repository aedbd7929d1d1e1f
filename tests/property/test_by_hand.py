"""Configurations of a remote topic under changes on both sides, recreations, other filters, drivers that die between.

The model knows no memory. It sees the topic after each look of the mirror and before the next: what somebody changed
between the two, to something else than the source has, is by hand from there on and may never be written again, until
somebody sets what the source has. Everything else must be as on the source after a look that nothing disturbed.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field

import pytest

from sparkmirror.offsets.topic_memory import TopicConfigs, TopicMemory
from sparkmirror.topology.filters import DefaultConfigPropertyFilter
from sparkmirror.topology.known_configs import KnownConfigs
from sparkmirror.topology.topic_configs import DEFAULT, OF_TOPIC, ConfigEntry, plan_config_changes

KEYS = ("a", "b", "retention.ms")
VALUES = ("1", "2", "3", None, None)
STEPS = 25
REMOTE = "A.t"
BEFORE, BETWEEN, AFTER = "before", "between", "after"  # the change of the topic: where a driver dies

Settings = dict[str, str | None]


@dataclass
class World:
    """Both topics, what the claim topic says, and the model. `last`: the topic after the last look."""

    chance: random.Random
    source: Settings = field(default_factory=lambda: dict.fromkeys(KEYS))
    target: Settings = field(default_factory=lambda: dict.fromkeys(KEYS))
    source_id: int = 1
    target_id: int = 1
    excluded: tuple[str, ...] = ()
    written: list[tuple[dict[str, str], dict[str, object]]] = field(default_factory=list)
    last: Settings = field(default_factory=dict)
    under_way: dict[str, set[str | None]] = field(default_factory=dict)  # of a driver that died: either may be there
    by_hand: Settings = field(default_factory=dict)
    last_source_ids: dict[str, int] = field(default_factory=dict)
    changes: int = 0
    kept: int = 0

    # -- what happens

    def set_source(self) -> None:
        self.source[self.chance.choice(KEYS)] = self.chance.choice(VALUES)

    def set_target(self) -> None:
        self.target[self.chance.choice(KEYS)] = self.chance.choice(VALUES)

    def recreate_source(self) -> None:
        self.source_id += 1
        self.source = {name: self.chance.choice(VALUES) for name in KEYS}

    def recreate_target(self) -> None:
        """By the mirror, in place of one that somebody deleted; or by somebody, with settings of his own."""
        self.target_id += 1
        self.last, self.by_hand, self.under_way, self.last_source_ids = {}, {}, {}, {}
        if self.chance.random() < 0.5:
            self.target = {name: self.chance.choice(VALUES) for name in KEYS}
            return
        self.be_made()

    def be_made(self) -> None:
        """By the mirror, like the source topic."""
        self.target = {name: None if name in self.excluded else value for name, value in self.source.items()}
        self.last, self.last_source_ids = dict(self.target), dict.fromkeys(KEYS, self.source_id)
        made = {name: value for name, value in self.target.items() if value is not None}
        self._note(KnownConfigs(source_id=str(self.source_id)).having(made))

    def change_filter(self) -> None:
        self.excluded = tuple(name for name in KEYS if self.chance.random() < 0.3)

    def look(self) -> None:
        self._note_by_hand()
        memory = TopicMemory()  # as a driver finds it that has just begun
        for key, value in self.written:
            memory.note(key, json.loads(json.dumps(value)))
        known = memory.configs_of(REMOTE, str(self.target_id))
        changes = plan_config_changes(
            _entries(self.source),
            _entries(self.target),
            DefaultConfigPropertyFilter.of(self.excluded),
            known=known,
            source_id=str(self.source_id),
        )
        self._check_plan(changes.values, changes.kept)
        dies = self.chance.choice((BEFORE, BETWEEN, AFTER, "", "", "", "", ""))
        begun = changes.known.beginning(changes.values)
        if begun != known:
            self._note(begun)
        self.under_way = {name: values for name, values in self.under_way.items() if name in self.excluded}
        if dies in (BEFORE, BETWEEN):
            self.under_way |= {name: {self.target[name], value} for name, value in changes.values.items()}
        if dies == BEFORE:
            self._seen()
            return
        self.target |= changes.values
        self.changes += len(changes.values)
        if dies != BETWEEN and changes:
            self._note(changes.known.having(changes.values))
        self._seen()
        self._check_alike()

    def _note(self, known: KnownConfigs) -> None:
        self.written.append(({"configs": REMOTE}, TopicConfigs(str(self.target_id), known).to_value()))

    # -- the model

    def _note_by_hand(self) -> None:
        for name in KEYS:
            now, wanted = self.target[name], self.source[name]
            is_anew = self.last_source_ids.get(name, self.source_id) != self.source_id
            if name in self.excluded:
                continue
            is_changed = now != self.last.get(name) and now not in self.under_way.get(name, ())
            if is_changed:
                self.by_hand.pop(name, None)
            if (is_changed or is_anew) and now != wanted:
                self.by_hand[name] = now

    def _seen(self) -> None:
        """What the filter leaves out nobody has looked at."""
        looked_at = [name for name in KEYS if name not in self.excluded]
        self.last |= {name: self.target[name] for name in looked_at}
        self.last_source_ids = dict.fromkeys(KEYS, self.source_id) | self.last_source_ids
        self.last_source_ids |= dict.fromkeys(looked_at, self.source_id)

    def _check_plan(self, values: Settings, kept: object) -> None:
        lost = {name for name in values if name in self.by_hand or name in self.excluded}
        assert not lost, f"{lost} of {self}"
        differs = {n: (v, self.source[n]) for n, v in self.by_hand.items() if v != self.source[n]}
        assert kept == {name: pair for name, pair in differs.items() if name not in self.excluded}, self
        self.kept += len(differs)

    def _check_alike(self) -> None:
        free = [name for name in KEYS if name not in self.by_hand and name not in self.excluded]
        assert {n: self.target[n] for n in free} == {n: self.source[n] for n in free}, self


def test_where_names_stay_both_ways_a_change_on_either_side_reaches_the_other(histories: int) -> None:
    """Whichever of the two flows looks first; and nothing stays by hand."""
    for seed in range(histories // 4):
        chance = random.Random(seed)
        sides: tuple[Settings, Settings] = ({"a": "1"}, {"a": None})
        known = [KnownConfigs(source_id="x"), KnownConfigs(source_id="y")]
        for _ in range(8):
            side, value = chance.choice(sides), chance.choice(VALUES)
            for look in [*chance.sample([0, 1, 0, 1], 4), 0, 1, 0]:
                source, target = sides[look], sides[1 - look]
                plan = plan_config_changes(
                    _entries(source), _entries(target), _ALL, known=known[look], source_id="xy"[look], goes_round=True
                )
                target |= plan.values
                known[look] = plan.known.having(plan.values)
            assert sides[0] == sides[1] and not known[0].by_hand and not known[1].by_hand, (seed, sides, known)
            side["a"] = value


_ALL = DefaultConfigPropertyFilter.of(())


def _entries(values: Settings) -> dict[str, ConfigEntry]:
    return {n: ConfigEntry("0", DEFAULT) if v is None else ConfigEntry(v, OF_TOPIC) for n, v in values.items()}


def live(seed: int) -> World:
    world = World(random.Random(seed))
    some = [world.set_source, world.set_target, world.look]
    rare = [world.recreate_source, world.recreate_target, world.change_filter]
    for _ in range(STEPS):
        world.chance.choice(rare if world.chance.random() < 0.12 else some)()
    world.look()
    return world


def test_nothing_set_by_hand_is_lost_and_the_rest_follows_the_source(histories: int) -> None:
    counts = [(world.changes, world.kept) for world in map(live, range(histories))]
    assert sum(changes for changes, _ in counts) > histories, "the mirror had something to do"
    assert sum(kept for _, kept in counts) > histories, "and something to leave"


def test_the_model_notices_a_mirror_that_writes_over_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KnownConfigs, "is_by_hand", lambda *_, **__: False)
    with pytest.raises(AssertionError):
        for seed in range(20):
            live(seed)
