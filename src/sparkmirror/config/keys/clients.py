"""Keys of Kafka's clients: `consumer.` reads the source, `producer.` writes the target, `admin.` does the rest.

A file that does not set one leaves the choice to whoever connects, so the defaults are empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sparkmirror.config import values as v
from sparkmirror.config.keys.key import Key, Reader, State

_COUNT = v.optional(v.integer(0, v.INT_MAX))
_SIZE = v.optional(v.integer(1, v.INT_MAX))
_PAUSE = v.optional(v.integer(0, v.LONG_MAX))
# With 0 nothing could ever be answered in time.
_TIMEOUT = v.optional(v.integer(1, v.INT_MAX))
_BUFFER = v.optional(v.integer(-1, v.INT_MAX))
_TEXT = v.optional(v.text)
_SOURCE = (Reader.SOURCE_CLIENT,)
_PRODUCER = (Reader.DATA_PRODUCER,)
_ADMIN = (Reader.SOURCE_CLIENT, Reader.TARGET_CLIENT)

# What all three have: (key without the client's name, parser, MirrorMaker 2's default).
_CONNECTION: tuple[tuple[str, Callable[[str], object], str], ...] = (
    ("client.id", _TEXT, ""),
    (
        "client.dns.lookup",
        v.optional(v.one_of("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only")),
        "use_all_dns_ips",
    ),
    ("request.timeout.ms", _TIMEOUT, "30000"),
    ("default.api.timeout.ms", _TIMEOUT, "60000"),
    ("connections.max.idle.ms", v.optional(v.integer(-1, v.LONG_MAX)), "540000"),
    ("metadata.max.age.ms", _PAUSE, "300000"),
    ("receive.buffer.bytes", _BUFFER, "65536"),
    ("send.buffer.bytes", _BUFFER, "131072"),
    ("reconnect.backoff.ms", _PAUSE, "50"),
    ("reconnect.backoff.max.ms", _PAUSE, "1000"),
    ("retry.backoff.ms", _PAUSE, "100"),
    ("retry.backoff.max.ms", _PAUSE, "1000"),
    ("socket.connection.setup.timeout.ms", _TIMEOUT, "10000"),
    ("socket.connection.setup.timeout.max.ms", _TIMEOUT, "30000"),
)
# Where the clients differ in that.
_OTHER_DEFAULTS = {"producer.receive.buffer.bytes": "32768", "admin.connections.max.idle.ms": "300000"}
_NOT_THERE = {"producer.default.api.timeout.ms"}


def _connection_keys(client: str, readers: tuple[Reader, ...]) -> Iterator[Key[object]]:
    for bare, parse, mm2_default in _CONNECTION:
        name = f"{client}.{bare}"
        default = _OTHER_DEFAULTS.get(name, mm2_default)
        if name not in _NOT_THERE:
            yield Key(name=name, parse=parse, default="", mm2_default=default, readers=readers, state=State.IN_FORCE)


def _key(name: str, parse: Callable[[str], object], mm2_default: str, readers: tuple[Reader, ...]) -> Key[object]:
    return Key(name=name, parse=parse, default="", mm2_default=mm2_default, readers=readers, state=State.IN_FORCE)


CONSUMER_CONNECTION = tuple(_connection_keys("consumer", _SOURCE))
PRODUCER_CONNECTION = tuple(_connection_keys("producer", _PRODUCER))
ADMIN_CONNECTION = tuple(_connection_keys("admin", _ADMIN))

# MirrorMaker 2 reads uncommitted by default, and so copies aborted records.
ISOLATION = Key(
    name="consumer.isolation.level",
    parse=v.read_committed,
    default="read_committed",
    mm2_default="read_uncommitted",
    readers=_SOURCE,
    state=State.IN_FORCE,
)
CONSUMER = (
    Key(
        name="consumer.auto.offset.reset",
        parse=v.offset_reset,
        default="earliest",
        readers=_SOURCE,
        state=State.IN_FORCE,
    ),
    Key(
        name="consumer.client.rack",
        parse=_TEXT,
        default="",
        mm2_default="",
        readers=_SOURCE,
        state=State.IN_FORCE,
    ),
    _key("consumer.fetch.min.bytes", _COUNT, "1", _SOURCE),
    _key("consumer.fetch.max.bytes", _SIZE, "52428800", _SOURCE),
    _key("consumer.fetch.max.wait.ms", _COUNT, "500", _SOURCE),
    _key("consumer.max.partition.fetch.bytes", _SIZE, "1048576", _SOURCE),
)
PRODUCER = (
    _key("producer.buffer.memory", v.optional(v.integer(1, v.LONG_MAX)), "33554432", _PRODUCER),
    _key("producer.max.request.size", _SIZE, "1048576", _PRODUCER),
)
