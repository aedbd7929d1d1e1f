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

What is removed on the source is removed on the target if the mirror had set it there; what a user set by hand stays.
MirrorMaker 2 removes that, too, which `strict` asks for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from sparkmirror.topology.filters import ConfigPropertyFilter

# Where a value comes from (ConfigEntry.ConfigSource).
OF_TOPIC, OF_BROKER_FILE, DEFAULT = 1, 4, 5

CLEANUP_POLICY = "cleanup.policy"
TIMESTAMP_TYPE, CREATE_TIME = "message.timestamp.type", "CreateTime"
# The copy raises these for a record that would not fit; they are not lowered again.
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

    `unfit`: what they refuse and why; it is left out of the others.
    """

    set: Mapping[str, str] = field(default_factory=dict)
    remove: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    unfit: str = ""

    def __bool__(self) -> bool:
        return bool(self.set or self.remove)

    def without(self, *names: str) -> ConfigChanges:
        """The same, but for some that must wait or can't be."""
        return replace(
            self,
            set={name: value for name, value in self.set.items() if name not in names},
            remove=tuple(name for name in self.remove if name not in names),
        )

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
    ours: Collection[str] = (),
    strict: bool = False,
) -> ConfigChanges:
    """`ours`: what the mirror has set on this topic before."""
    wanted = pick_configs(source, chosen)
    if TIMESTAMP_TYPE in ours and chosen.should_replicate_config_property(TIMESTAMP_TYPE):
        wanted.setdefault(TIMESTAMP_TYPE, CREATE_TIME)
    changed = {
        name: value
        for name, value in wanted.items()
        if name in target
        and not _is_set(target[name], value)
        and not (_is_raised(name, target[name], value) and not strict)
    }
    unset = {name for name, entry in target.items() if entry.source == OF_TOPIC} - wanted.keys()
    removable = {name for name in ours if chosen.should_replicate_config_property(name)}
    if strict:
        removable |= {name for name, entry in _eligible(source, chosen) if entry.source == DEFAULT}
    return ConfigChanges(
        set=changed,
        remove=tuple(sorted(unset & removable)),
        unknown=tuple(name for name in wanted if name not in target),
    )


def puts_own_times(topic: Entries) -> bool:
    """Whether its brokers put the time of the append in place of a record's own."""
    return TIMESTAMP_TYPE in topic and topic[TIMESTAMP_TYPE].value != CREATE_TIME


def _eligible(source: Entries, chosen: ConfigPropertyFilter) -> Iterator[tuple[str, ConfigEntry]]:
    for name, entry in source.items():
        own = entry.source != OF_BROKER_FILE and not entry.is_read_only and not entry.is_sensitive
        if own and chosen.should_replicate_config_property(name):
            yield name, entry


def _is_set(entry: ConfigEntry, value: str) -> bool:
    return entry.source == OF_TOPIC and entry.value == value


def _is_raised(name: str, entry: ConfigEntry, value: str) -> bool:
    if name not in _LIMITS or entry.source != OF_TOPIC or entry.value is None:
        return False
    return entry.value.isdecimal() and value.isdecimal() and int(entry.value) > int(value)
