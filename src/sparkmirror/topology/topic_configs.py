"""Which configurations a remote topic gets, and what to write so that it has them. Pure.

    source entry                  the remote topic gets it
    read-only, sensitive          never
    of the broker's own file      never: it is about that broker
    excluded by the filter        never, and it is never touched
    Kafka's default               only if the filter wants defaults from the source (`use.defaults.from=source`)
    anything else                 yes

A remote topic that the mirror makes keeps the times of records (`message.timestamp.type=CreateTime`), whatever its
brokers' default is: their own times would stand in place of the source's. The filter leaves that key out unless a file
says otherwise; then the source's value holds.

Tiered storage (KIP-405) belongs to a cluster: where the target refuses it, the topic does without.

What is changed or removed on the source is so on the target if the mirror had written it there; what a user set by hand
stays (see known_configs). MirrorMaker 2 writes over it, which `strict` asks for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from sparkmirror.topology.filters import ConfigPropertyFilter
from sparkmirror.topology.known_configs import NOTHING_KNOWN, KnownConfigs, Value

# Where a value comes from (ConfigEntry.ConfigSource).
OF_TOPIC, OF_BROKER_FILE, DEFAULT = 1, 4, 5

CLEANUP_POLICY = "cleanup.policy"
TIMESTAMP_TYPE, CREATE_TIME = "message.timestamp.type", "CreateTime"
# The copy raises these for a record that would not fit: that stays, as what is set by hand. Ours are not lowered.
_LIMITS = frozenset({"max.message.bytes", "message.timestamp.before.max.ms", "message.timestamp.after.max.ms"})
# Refused where the cluster has no remote storage, or where the retention that is left does not fit.
TIERED = frozenset(
    {
        "remote.storage.enable",
        "local.retention.ms",
        "local.retention.bytes",
        "remote.log.copy.disable",
        "remote.log.delete.on.disable",
    }
)


class ConfigEntry(NamedTuple):
    """A topic's configuration as a broker describes it. A sensitive one has no value."""

    value: str | None
    source: int
    is_read_only: bool = False
    is_sensitive: bool = False


Entries = Mapping[str, ConfigEntry]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigChanges:
    """What to write to a remote topic. `unknown`: the target's brokers have no such configuration.

    `unfit`: what they refuse and why; it is left out of the others. `kept`: what stays as it was set by hand, and what
    the source has. `known`: what is known of the topic after this look, before the changes.
    """

    set: Mapping[str, str] = field(default_factory=dict)
    remove: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    unfit: str = ""
    kept: Mapping[str, tuple[Value, Value]] = field(default_factory=dict)
    known: KnownConfigs = NOTHING_KNOWN

    def __bool__(self) -> bool:
        return bool(self.set or self.remove)

    def without(self, *names: str) -> ConfigChanges:
        """The same, but for some that must wait or can't be."""
        return replace(
            self,
            set={name: value for name, value in self.set.items() if name not in names},
            remove=tuple(name for name in self.remove if name not in names),
        )

    @property
    def values(self) -> dict[str, Value]:
        return {**self.set, **dict.fromkeys(self.remove)}

    def names_of(self, some: Collection[str]) -> list[str]:
        """What of these is to be changed."""
        return sorted(name for name in (*self.set, *self.remove) if name in some)


def pick_configs(source: Entries, chosen: ConfigPropertyFilter) -> dict[str, str]:
    """What a remote topic shall have, by the source topic's entries."""
    return {
        name: entry.value
        for name, entry in sorted(_eligible(source, chosen))
        if entry.value is not None and (entry.source != DEFAULT or chosen.should_replicate_source_default(name))
    }


def plan_new_configs(source: Entries, known: Collection[str], chosen: ConfigPropertyFilter) -> ConfigChanges:
    """For a topic that is to be made, on brokers that know these configurations."""
    wanted = pick_configs(source, chosen)
    return ConfigChanges(
        set={TIMESTAMP_TYPE: CREATE_TIME} | {name: value for name, value in wanted.items() if name in known},
        unknown=tuple(name for name in wanted if name not in known),
    )


def plan_config_changes(
    source: Entries,
    target: Entries,
    chosen: ConfigPropertyFilter,
    *,
    known: KnownConfigs = NOTHING_KNOWN,
    source_id: str = "",
    strict: bool = False,
    goes_round: bool = False,
) -> ConfigChanges:
    """`known`: of this remote topic. `source_id`: of the topic that `source` was asked of. `goes_round`: see there."""
    wanted = pick_configs(source, chosen)
    if TIMESTAMP_TYPE in known.written and chosen.should_replicate_config_property(TIMESTAMP_TYPE):
        wanted.setdefault(TIMESTAMP_TYPE, CREATE_TIME)
    present = dict(_present(target, chosen))
    known = known.for_source(source_id, target)
    kept: dict[str, tuple[Value, Value]] = {}
    if not strict:
        kept = {
            name: (now, wanted.get(name))
            for name, now in present.items()
            if known.is_by_hand(name, now, wanted.get(name), goes_round=goes_round)
        }
    free = {name: now for name, now in present.items() if name not in kept and now != wanted.get(name)}
    removable = {n for n, values in known.written.items() if values} | (_defaults(source, chosen) if strict else set())
    return ConfigChanges(
        set={
            name: wanted[name]
            for name, now in free.items()
            if name in wanted and (strict or not _is_raised(name, now, wanted[name]))
        },
        remove=tuple(sorted(name for name in free if name not in wanted and name in removable)),
        unknown=tuple(name for name in wanted if name not in target),
        kept={name: each for name, each in kept.items() if each[0] != each[1]},
        known=_look_at(known, present, wanted, kept),
    )


def _look_at(
    known: KnownConfigs, present: Mapping[str, Value], wanted: Mapping[str, str], kept: Collection[str]
) -> KnownConfigs:
    """What is known when the topic has these. Of what the filter leaves out, all that was known before."""
    ours = {
        name: now
        for name, now in present.items()
        if name not in kept and (now == wanted.get(name) or now in known.written.get(name, ()))
    }
    by_hand = {name: value for name, value in known.by_hand.items() if name not in present}
    without = {name: values for name, values in known.written.items() if name not in kept}
    return replace(known, written=without, by_hand={**by_hand, **{n: present[n] for n in kept}}).having(ours)


def kept_text(name: str, now: Value, wanted: Value, source: str) -> str:
    """`source`: the alias of the cluster where it is as wanted."""
    there = "not set" if wanted is None else wanted
    who = "set by hand or raised for a record" if name in _LIMITS and now is not None else "set by hand"
    return f"{name_value(name, now)} stays, {who} ({source}: {there})"


def name_value(name: str, value: Value) -> str:
    return f"no {name}" if value is None else f"{name}={value}"


def puts_own_times(topic: Entries) -> bool:
    """Whether its brokers put the time of the append in place of a record's own."""
    return TIMESTAMP_TYPE in topic and topic[TIMESTAMP_TYPE].value != CREATE_TIME


def _eligible(source: Entries, chosen: ConfigPropertyFilter) -> Iterator[tuple[str, ConfigEntry]]:
    for name, entry in source.items():
        own = entry.source != OF_BROKER_FILE and not entry.is_read_only and not entry.is_sensitive
        if own and chosen.should_replicate_config_property(name):
            yield name, entry


def _defaults(source: Entries, chosen: ConfigPropertyFilter) -> set[str]:
    return {name for name, entry in _eligible(source, chosen) if entry.source == DEFAULT}


def _present(target: Entries, chosen: ConfigPropertyFilter) -> Iterator[tuple[str, Value]]:
    """What is set on the topic itself, of all that the filter lets through."""
    for name, entry in target.items():
        if not entry.is_read_only and not entry.is_sensitive and chosen.should_replicate_config_property(name):
            yield name, entry.value if entry.source == OF_TOPIC else None


def _is_raised(name: str, now: Value, wanted: Value) -> bool:
    if name not in _LIMITS or now is None or wanted is None:
        return False
    return now.isdecimal() and wanted.isdecimal() and int(now) > int(wanted)
