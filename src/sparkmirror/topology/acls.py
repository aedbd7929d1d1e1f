"""Which rights on a source topic hold for its remote topic, too. Pure, by MirrorMaker 2's rules.

    kept      on topics that are mirrored, by literal name; by prefix with `sync.topic.acls.prefixed.enabled`
    dropped   ALLOW WRITE: the mirror alone writes a remote topic
              and, other than MirrorMaker 2, every ALLOW of the mirror's own user: what it needs to read the source is
              no right that it needs on the target
    changed   ALLOW ALL becomes ALLOW READ
    copied    everything else, every DENY among it

Rights are only ever added.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from sparkmirror.topology.select import TopicSelector

LITERAL, PREFIXED = 3, 4
ALL, READ, WRITE = 2, 3, 4
DENY, ALLOW = 2, 3
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


def plan_acls(
    source: Iterable[Acl],
    target: Collection[Acl],
    selector: TopicSelector,
    topics: Collection[str],
    *,
    prefixed: bool,
    own: Collection[str] = (),
) -> tuple[Acl, ...]:
    """What is missing on the target, sorted. `topics`: all of the source. `own`: the mirror's principals there."""
    wanted: set[Acl] = set()
    for acl in source:
        if acl.permission == ALLOW and (acl.operation == WRITE or acl.principal in own):
            continue
        remote = _remote_name(acl, selector, topics, prefixed=prefixed)
        if remote is not None:
            allows_all = acl.permission == ALLOW and acl.operation == ALL
            wanted.add(acl._replace(name=remote, operation=READ if allows_all else acl.operation))
    return tuple(sorted(wanted - set(target)))


def _remote_name(acl: Acl, selector: TopicSelector, topics: Collection[str], *, prefixed: bool) -> str | None:
    if acl.pattern == LITERAL:
        return selector.remote_name(acl.name) if selector.should_replicate(acl.name) else None
    return _remote_prefix(acl.name, selector, topics) if acl.pattern == PREFIXED and prefixed else None


def _remote_prefix(prefix: str, selector: TopicSelector, topics: Collection[str]) -> str | None:
    """Only where the remote names of all the topics that it covers begin so."""
    covered = {t for t in topics if t.startswith(prefix) and selector.should_replicate(t)}
    remote = selector.policy.format_remote_topic(selector.source, prefix)
    if covered and all(selector.remote_name(topic).startswith(remote) for topic in covered):
        return remote
    return None
