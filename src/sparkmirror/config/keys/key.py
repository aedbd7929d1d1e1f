"""What is known of a key: its type, its default, who reads it and whether it acts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)


class Scope(Enum):
    """Where a line of the file belongs."""

    GLOBAL = "key"
    FLOW = "A->B.key"
    CLUSTER = "A.key"
    SPARK = "spark.key"
    STRAY = "a flow of clusters that the file does not name"


class State(Enum):
    """What setting a key does; the words of COMPATIBILITY.md."""

    IN_FORCE = "in force"
    # Typed and checked, but nothing acts on it: shown at the start, so that nobody believes that it works.
    LATER = "not yet"
    # What it would change is settled for good, in the user's favour.
    BETTER = "better by design"
    # Only Java could do it. Values that change nothing are accepted, others refused.
    IMPOSSIBLE = "impossible here"


class Reader(Enum):
    """Who reads a key in a flow, by the forms in which a file may write it; the first that is there wins.

    This is MirrorMaker 2's precedence (MirrorMakerConfig and MirrorConnectorConfig) as a table: `bare` is a client's
    key without the client's name. A form that is missing here is one that MirrorMaker 2 drops without a word.
    """

    FILE = ("{key}",)
    CONNECTOR = ("{flow}.{key}", "{key}")
    CONNECTOR_ONLY = ("{flow}.{key}",)
    # Top-level keys are put over those of the target cluster, but only a few families of them.
    WORKER = ("{key}", "{target}.{key}")
    WORKER_ONLY = ("{target}.{key}",)
    # Ours alone: MirrorMaker 2 would take it from the target cluster only.
    ANYWHERE = ("{flow}.{key}", "{key}", "{target}.{key}")
    CLUSTER = ("{cluster}.{key}", "{key}")
    # A client's keys, `consumer.fetch.min.bytes` for one.
    SOURCE_CLIENT = ("{flow}.source.{key}", "{source}.{key}", "{flow}.{key}")
    TARGET_CLIENT = ("{flow}.target.{key}", "{target}.{key}", "{flow}.{key}")
    # The producer of records is Connect's own.
    DATA_PRODUCER = ("{flow}.producer.override.{bare}", "{target}.{key}")
    # Keys that every client inherits: bootstrap.servers, security.protocol, ssl.*, sasl.*.
    SOURCE_CONSUMER_SECURITY = (
        "{flow}.source.consumer.{key}",
        "{source}.consumer.{key}",
        "{source}.{key}",
        "{key}",
        "{flow}.consumer.{key}",
        "{flow}.source.cluster.{key}",
    )
    SOURCE_PRODUCER_SECURITY = (
        "{flow}.source.producer.{key}",
        "{source}.producer.{key}",
        "{source}.{key}",
        "{key}",
        "{flow}.producer.{key}",
        "{flow}.source.cluster.{key}",
    )
    SOURCE_ADMIN_SECURITY = (
        "{flow}.source.admin.{key}",
        "{source}.admin.{key}",
        "{source}.{key}",
        "{key}",
        "{flow}.admin.{key}",
        "{flow}.source.cluster.{key}",
    )
    TARGET_CONSUMER_SECURITY = (
        "{flow}.target.consumer.{key}",
        "{target}.consumer.{key}",
        "{target}.{key}",
        "{key}",
        "{flow}.consumer.{key}",
        "{flow}.target.cluster.{key}",
    )
    TARGET_ADMIN_SECURITY = (
        "{flow}.target.admin.{key}",
        "{target}.admin.{key}",
        "{target}.{key}",
        "{key}",
        "{flow}.admin.{key}",
        "{flow}.target.cluster.{key}",
    )
    DATA_PRODUCER_SECURITY = (
        "{flow}.producer.override.{key}",
        "{target}.producer.{key}",
        "{target}.{key}",
        "{key}",
    )

    @property
    def forms(self) -> tuple[str, ...]:
        forms: tuple[str, ...] = self.value
        return forms


@dataclass(frozen=True, slots=True, kw_only=True)
class Key(Generic[T_co]):
    """`default` is text in the file's own syntax and passes through the same parser as a user's value.

    `mm2_default` is MirrorMaker 2's, where ours differs. `fallbacks` name the keys that speak for this one where the
    file does not have it. `why` gives the reason of a key that is better or impossible here.
    """

    name: str
    parse: Callable[[str], T_co]
    default: str
    readers: tuple[Reader, ...] = (Reader.CONNECTOR,)
    state: State = State.LATER
    mm2_default: str | None = None
    fallbacks: tuple[str, ...] = ()
    why: str = ""

    @property
    def bare(self) -> str:
        """Without the client's name: `fetch.min.bytes` of `consumer.fetch.min.bytes`."""
        return self.name.partition(".")[2]

    def forms(self, reader: Reader | None = None) -> tuple[str, ...]:
        """Templates that still want `flow`, `source`, `target` or `cluster`."""
        return _forms(self.name, self.readers if reader is None else (reader,))


@cache
def _forms(name: str, readers: tuple[Reader, ...]) -> tuple[str, ...]:
    bare = name.partition(".")[2]
    forms = (form.replace("{key}", name).replace("{bare}", bare) for reader in readers for form in reader.forms)
    return tuple(dict.fromkeys(forms))
