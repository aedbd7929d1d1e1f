"""What holds for a flow, key by key, and where each value came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sparkmirror.config.keys import Key, Reader, State, clients, copying, groups, topics, worker
from sparkmirror.config.keys.security import ROLES, SECURITY
from sparkmirror.config.keys.unread import UNREAD
from sparkmirror.config.properties import Entry
from sparkmirror.config.secrecy import shown_value
from sparkmirror.config.settings import Settings

# Few enough to be shown with their defaults; of the others only those that the file sets.
_OF_EVERY_FLOW = tuple(
    value for module in (topics, groups, copying, worker) for value in vars(module).values() if isinstance(value, Key)
)
_OF_CLIENTS = (
    clients.ISOLATION,
    *clients.CONSUMER,
    *clients.CONSUMER_CONNECTION,
    *clients.PRODUCER,
    *clients.PRODUCER_CONNECTION,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """`line` and `written` are None for a default; `value` is masked where it is secret."""

    name: str
    value: str
    state: State
    why: str
    line: int | None
    written: str | None


def explain_flow(settings: Settings, source: str, target: str) -> tuple[Explained, ...]:
    """Every key of the flow, by subject."""

    def explain(key: Key[object], name: str, reader: Reader | None, *, only_if_set: bool) -> Iterator[Explained]:
        entry = settings.find(key, source, target, reader)
        if entry is not None or not only_if_set:
            yield _explained(key, name, entry)

    def explain_all(keys: Iterable[Key[object]], *, only_if_set: bool) -> Iterator[Explained]:
        for key in keys:
            if Reader.CLUSTER not in key.readers:
                yield from explain(key, key.name, None, only_if_set=only_if_set)

    def explain_roles() -> Iterator[Explained]:
        for key in clients.ADMIN_CONNECTION:
            yield from explain(key, f"source.{key.name}", Reader.SOURCE_CLIENT, only_if_set=True)
            yield from explain(key, f"target.{key.name}", Reader.TARGET_CLIENT, only_if_set=True)
        for role, reader in ROLES.items():
            for key in SECURITY:
                yield from explain(key, f"{role.replace('_', '.')}.{key.name}", reader, only_if_set=True)

    return (
        *explain_all(_OF_EVERY_FLOW, only_if_set=False),
        *explain_all(_OF_CLIENTS, only_if_set=True),
        *explain_roles(),
        *explain_all(UNREAD, only_if_set=True),
    )


def _explained(key: Key[object], name: str, entry: Entry | None) -> Explained:
    if entry is None:
        return Explained(name=name, value=key.default, state=key.state, why=key.why, line=None, written=None)
    return Explained(
        name=name,
        value=shown_value(key.name, entry),
        state=key.state,
        why=key.why,
        line=entry.written[0].line,
        written=entry.written_key,
    )
