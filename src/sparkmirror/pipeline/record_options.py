"""Options of the `sparkmirror` data source, by the names of Spark's Kafka source where it has them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TypeVar

from sparkmirror.batch.codec import NAMES as CODECS
from sparkmirror.config import values
from sparkmirror.config.java_regex import compile_elements
from sparkmirror.config.keys.security import SECURITY
from sparkmirror.errors import ConfigError
from sparkmirror.net.address import ClusterAddress, read_client
from sparkmirror.net.client import Client
from sparkmirror.net.security import Security
from sparkmirror.protocol.fetch import READ_COMMITTED, READ_UNCOMMITTED

EARLIEST, LATEST = "earliest", "latest"
OLDEST_OFFSET, NEWEST_OFFSET = -2, -1  # as in Spark's Kafka source, in place of an offset

SERVERS = "bootstrap.servers"
SUBSCRIBE, SUBSCRIBE_PATTERN, ASSIGN = "subscribe", "subscribePattern", "assign"
STARTING, ENDING = "startingOffsets", "endingOffsets"
ISOLATION = "isolation.level"
MAX_OFFSETS, MAX_BYTES = "maxOffsetsPerTrigger", "maxBytesPerTrigger"
FAIL_ON_LOSS = "failOnDataLoss"
WITH_NOTES = "notes"
NAME, PRESERVE, COMPRESSION = "name", "offsets.preserve", "compression.type"
REPLICATION = "offset.storage.replication.factor"
CLIENT_ID = "client.id"
CLIENT = "client"  # a flow's, as JSON

_SOURCE = (
    SERVERS, SUBSCRIBE, SUBSCRIBE_PATTERN, ASSIGN, STARTING, ENDING, ISOLATION, MAX_OFFSETS, MAX_BYTES, FAIL_ON_LOSS,
    WITH_NOTES, CLIENT_ID, CLIENT,
)  # fmt: skip
# As every client has them.
_SECURITY = {key.name: key for key in SECURITY}
_SINK = (SERVERS, NAME, PRESERVE, COMPRESSION, REPLICATION, CLIENT_ID)
# Spark's own, which it hands to a source or sink as well.
_SPARKS = {"checkpointlocation", "queryname", "path"}
_NAME = re.compile(r"[a-zA-Z0-9._-]+")
_LONG = values.integer(1, values.LONG_MAX)

Offsets = dict[str, dict[str, int]]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """`topics`, `pattern` or `assigned`: one of them. `starting` and `ending`: a word, or offsets."""

    address: ClusterAddress
    topics: tuple[str, ...]
    pattern: str
    assigned: dict[str, list[int]]
    starting: str | Offsets
    ending: str | Offsets
    isolation: int
    max_offsets: int | None
    max_bytes: int | None
    fail_on_loss: bool
    with_notes: bool

    def wants(self, topic: str) -> bool:
        if self.pattern:
            pattern = compile_elements((self.pattern,))
            return pattern is not None and pattern.fullmatch(topic) is not None
        return topic in (self.assigned or self.topics)


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOptions:
    address: ClusterAddress
    name: str
    preserve: bool
    codec: int
    replication_factor: int


def parse_source(options: Mapping[str, str], *, streaming: bool) -> SourceOptions:
    read = _Reader(options, _SOURCE, "read")
    chosen = [key for key in (SUBSCRIBE, SUBSCRIBE_PATTERN, ASSIGN) if read.get(key)]
    if len(chosen) != 1:
        said = f"but {' and '.join(chosen)} are set" if chosen else "but none is set"
        raise ConfigError(f"which topics? Set one of subscribe (a,b), subscribePattern (a.*) and assign, {said}")
    if read.get(MAX_OFFSETS) and read.get(MAX_BYTES):
        raise ConfigError(f"{MAX_OFFSETS} and {MAX_BYTES} are both set: choose one of them")
    if streaming and read.get(ENDING):
        raise ConfigError(f"{ENDING} is for spark.read; a stream has no end")
    return SourceOptions(
        address=read.address("source"),
        topics=read.parse(SUBSCRIBE, values.text_list, ""),
        pattern=read.parse(SUBSCRIBE_PATTERN, _pattern, ""),
        assigned=read.parse(ASSIGN, _assigned, "{}"),
        starting=read.parse(STARTING, _offsets, LATEST if streaming else EARLIEST),
        ending=read.parse(ENDING, _offsets, LATEST),
        isolation=read.parse(ISOLATION, _isolation, "read_committed"),
        max_offsets=read.parse(MAX_OFFSETS, _optional(_LONG), ""),
        max_bytes=read.parse(MAX_BYTES, _optional(_LONG), ""),
        fail_on_loss=read.parse(FAIL_ON_LOSS, values.boolean, "true"),
        with_notes=read.parse(WITH_NOTES, values.boolean, "false"),
    )


def parse_sink(options: Mapping[str, str]) -> SinkOptions:
    read = _Reader(options, _SINK, "write")
    if not read.get(NAME):
        raise ConfigError(
            "the sink needs a name of its own, the same after each restart: set name; by it the sink finds in the "
            "target what it has written"
        )
    return SinkOptions(
        address=read.address(read.parse(NAME, _sink_name, "")),
        name=read.parse(NAME, _sink_name, ""),
        preserve=read.parse(PRESERVE, values.boolean, "false"),
        codec=CODECS.index(read.parse(COMPRESSION, values.one_of(*CODECS), "none")),
        replication_factor=read.parse(REPLICATION, values.replication_factor, "-1"),
    )


class _Reader:
    """Spark's options have no case. `kafka.` in front of a client's key is optional."""

    def __init__(self, options: Mapping[str, str], known: tuple[str, ...], verb: str) -> None:
        names = {name.lower(): name for name in (*known, *_SECURITY)}
        self._values: dict[str, str] = {}
        for given, value in options.items():
            key = given.lower()
            name = names.get(key) or names.get(key.removeprefix("kafka."))
            if name:
                self._values[name] = value
            elif key not in _SPARKS:
                close = get_close_matches(key, names, 1)
                hint = f"did you mean {names[close[0]]}?" if close else f"known are {', '.join(known)}"
                raise ConfigError(f"unknown option {given} of format sparkmirror ({verb}): {hint}")

    def get(self, name: str) -> str:
        return self._values.get(name, "").strip()

    def parse(self, name: str, parse: Callable[[str], T], default: str) -> T:
        try:
            return parse(self._values.get(name, default))
        except ValueError as error:
            raise ConfigError(f"{name}: {error}") from None

    def address(self, alias: str) -> ClusterAddress:
        if not self.get(SERVERS):
            raise ConfigError("no brokers: set kafka.bootstrap.servers to host:port, several with commas")
        servers = self.parse(SERVERS, values.address_list, "")
        client = self.parse(CLIENT, _client, "{}")
        if self.get(CLIENT_ID):
            client = replace(client, client_id=self.get(CLIENT_ID))
        given = {name: self._values[name] for name in _SECURITY if name in self._values}
        if given:
            for name in given:
                self.parse(name, _SECURITY[name].parse, "")
            client = replace(client, security=Security.of(given, alias))
        return ClusterAddress(alias=alias, bootstrap=servers, client=client)


def _client(text: str) -> Client:
    return read_client(json.loads(text))


def _pattern(text: str) -> str:
    compile_elements((text,) if text else ())
    return text


def _isolation(text: str) -> int:
    word = values.one_of("read_committed", "read_uncommitted")(text)
    return READ_COMMITTED if word == "read_committed" else READ_UNCOMMITTED


def _optional(parse: Callable[[str], T]) -> Callable[[str], T | None]:
    return lambda text: parse(text) if text.strip() else None


def _sink_name(text: str) -> str:
    if _NAME.fullmatch(text.strip()) is None:
        raise ValueError(f"expected letters, digits, '.', '_' and '-', since topics are named by it, got {text!r}")
    return text.strip()


def _offsets(text: str) -> str | Offsets:
    if text.strip() in (EARLIEST, LATEST):
        return text.strip()
    said = f'expected earliest, latest or offsets such as {{"orders":{{"0":23,"1":-2}}}}, got {text!r:.200}'
    try:
        found = json.loads(text)
        return {str(t): {str(int(p)): int(offset) for p, offset in ps.items()} for t, ps in found.items()}
    except (ValueError, AttributeError, TypeError):
        raise ValueError(said) from None


def _assigned(text: str) -> dict[str, list[int]]:
    try:
        return {str(topic): [int(p) for p in partitions] for topic, partitions in json.loads(text).items()}
    except (ValueError, AttributeError, TypeError):
        raise ValueError(f'expected partitions such as {{"orders":[0,1]}}, got {text!r:.200}') from None
