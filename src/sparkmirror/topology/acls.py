"""Which rights on a source topic hold for its remote topic, too. Pure. MirrorMaker 2's rules, but for those that would
let somebody in whom the source does not.

    kept      on topics that are mirrored and there
    dropped   ALLOW WRITE: the mirror alone writes a remote topic
              every ALLOW of the mirror's own user: what it needs to read the source is no right that it needs there
    changed   ALLOW ALL becomes ALLOW READ
    copied    everything else, every DENY among it

Each right is added to single remote topics by their names. A right on `*` or on a prefix is one on topics that the
target has of its own, if it is copied as it stands. So it is added to each remote topic that it covers: an ALLOW with
`sync.topic.acls.prefixed.enabled`, a DENY always, since a right by name that it takes back is copied as well.

Rights are only ever added. One that the mirror added and somebody took away by hand is not added again, unless it comes
back by hand; nor is, if it was a DENY, an ALLOW of the same user.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import NamedTuple

LITERAL, PREFIXED = 3, 4
ALL, READ, WRITE = 2, 3, 4
DENY, ALLOW = 2, 3
EVERY_TOPIC, EVERY_USER = "*", "User:*"
# By number, in the words of kafka-acls.
OPERATIONS = (
    "UNKNOWN", "ANY", "ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION",
    "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "IDEMPOTENT_WRITE", "CREATE_TOKENS", "DESCRIBE_TOKENS",
)  # fmt: skip


class Acl(NamedTuple):
    """A right on a topic, in Kafka's own numbers."""

    name: str
    pattern: int
    principal: str
    host: str
    operation: int
    permission: int


_PATTERNS = {LITERAL: "literal", PREFIXED: "prefixed"}
_PERMISSIONS = {DENY: "DENY", ALLOW: "ALLOW"}


def describe_acl(acl: Acl) -> str:
    """`ALLOW READ to User:x from *`, in the words of kafka-acls."""
    operation = OPERATIONS[acl.operation] if 0 <= acl.operation < len(OPERATIONS) else str(acl.operation)
    permission = _PERMISSIONS.get(acl.permission, str(acl.permission))
    pattern = _PATTERNS.get(acl.pattern, str(acl.pattern))
    return f"{permission} {operation} to {acl.principal} from {acl.host} ({pattern})"


class Grant(NamedTuple):
    """A right, whatever topic it is on."""

    principal: str
    host: str
    operation: int
    permission: int

    def on(self, topic: str) -> Acl:
        return Acl(topic, LITERAL, *self)

    def is_barred_by(self, denied: Grant) -> bool:
        return self.permission == ALLOW and (
            self.principal == denied.principal or EVERY_USER in (self.principal, denied.principal)
        )


@dataclass(frozen=True, slots=True)
class KnownRights:
    """Of a remote topic: what the mirror added, or found there as wanted; and what was taken away by hand since."""

    given: frozenset[Grant] = frozenset()
    taken_away: frozenset[Grant] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicAcls:
    """Of one remote topic. `missing`: what is to be added; `known`: after this look."""

    missing: tuple[Grant, ...] = ()
    known: KnownRights = field(default_factory=KnownRights)

    def done(self) -> KnownRights:
        """When that was added."""
        return KnownRights(self.known.given | set(self.missing), self.known.taken_away)


def plan_acls(
    source: Iterable[Acl],
    target: Collection[Acl],
    remotes: Mapping[str, str],
    known: Mapping[str, KnownRights],
    *,
    prefixed: bool,
    own: Collection[str] = (),
) -> dict[str, TopicAcls]:
    """By remote topic. `remotes`: source topic -> remote topic. `own`: the mirror's principals on the source."""
    wanted: dict[str, set[Grant]] = {remote: set() for remote in remotes.values()}
    topics = sorted(remotes)
    for acl in source:
        if acl.permission == ALLOW and (acl.operation == WRITE or acl.principal in own):
            continue
        is_wide = acl.pattern != LITERAL or acl.name == EVERY_TOPIC
        if is_wide and acl.permission == ALLOW and not prefixed:
            continue
        operation = READ if acl.permission == ALLOW and acl.operation == ALL else acl.operation
        for topic in _covered(acl, topics):
            wanted[remotes[topic]].add(Grant(acl.principal, acl.host, operation, acl.permission))
    there = _by_topic(target)
    return {
        remote: _plan_topic(grants, there.get(remote, frozenset()), known.get(remote, KnownRights()))
        for remote, grants in wanted.items()
    }


def _covered(acl: Acl, topics: Sequence[str]) -> Iterator[str]:
    """`topics`: sorted."""
    if acl.pattern == LITERAL and acl.name != EVERY_TOPIC:
        first = bisect_left(topics, acl.name)
        return iter(topics[first : first + 1] if acl.name in topics[first : first + 1] else ())
    prefix = "" if acl.pattern == LITERAL else acl.name
    rest = range(bisect_left(topics, prefix), len(topics))
    return takewhile(lambda topic: topic.startswith(prefix), (topics[i] for i in rest))


def _by_topic(acls: Iterable[Acl]) -> dict[str, set[Grant]]:
    found: dict[str, set[Grant]] = {}
    for acl in acls:
        if acl.pattern == LITERAL:
            found.setdefault(acl.name, set()).add(Grant(*acl[2:]))
    return found


def _plan_topic(wanted: Collection[Grant], there: Collection[Grant], known: KnownRights) -> TopicAcls:
    wanted, there = frozenset(wanted), frozenset(there)
    gone = (known.taken_away - there) | (wanted & known.given - there)
    lifted = [grant for grant in gone if grant.permission == DENY]
    missing = {grant for grant in wanted - there - gone if not any(map(grant.is_barred_by, lifted))}
    return TopicAcls(
        missing=tuple(sorted(missing)),
        known=KnownRights((known.given | wanted) & there, gone),
    )
