"""Keys of Kafka's clients: `consumer.` reads the source, `producer.` writes the target, `admin.` does the rest.

A file that does not set one leaves the choice to whoever connects, so the defaults are empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sparkmirror.config import values as v
from sparkmirror.config.keys.key import Key, Reader, State

_COUNT = v.optional(v.integer(0, v.INT_MAX))
_MS = v.optional(v.integer(0, v.LONG_MAX))
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
    ("request.timeout.ms", _COUNT, "30000"),
    ("connections.max.idle.ms", _MS, "540000"),
    ("metadata.max.age.ms", _MS, "300000"),
    ("receive.buffer.bytes", v.optional(v.integer(-1, v.INT_MAX)), "65536"),
    ("send.buffer.bytes", v.optional(v.integer(-1, v.INT_MAX)), "131072"),
    ("reconnect.backoff.ms", _MS, "50"),
    ("reconnect.backoff.max.ms", _MS, "1000"),
    ("retry.backoff.ms", _MS, "100"),
    ("retry.backoff.max.ms", _MS, "1000"),
    ("socket.connection.setup.timeout.ms", _MS, "10000"),
    ("socket.connection.setup.timeout.max.ms", _MS, "30000"),
)
# Where the clients differ in that.
_OTHER_DEFAULTS = {"producer.receive.buffer.bytes": "32768", "admin.connections.max.idle.ms": "300000"}


def _connection_keys(client: str, readers: tuple[Reader, ...]) -> Iterator[Key[object]]:
    for bare, parse, mm2_default in _CONNECTION:
        name = f"{client}.{bare}"
        default = _OTHER_DEFAULTS.get(name, mm2_default)
        yield Key(name=name, parse=parse, default="", mm2_default=default, readers=readers)


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
        parse=v.one_of("earliest", "latest", "none"),
        default="earliest",
        readers=_SOURCE,
    ),
    Key(
        name="consumer.client.rack",
        parse=_TEXT,
        default="",
        mm2_default="",
        readers=_SOURCE,
        state=State.IN_FORCE,
    ),
    Key(name="consumer.fetch.min.bytes", parse=_COUNT, default="", mm2_default="1", readers=_SOURCE),
    Key(name="consumer.fetch.max.bytes", parse=_COUNT, default="", mm2_default="52428800", readers=_SOURCE),
    Key(name="consumer.fetch.max.wait.ms", parse=_COUNT, default="", mm2_default="500", readers=_SOURCE),
    Key(name="consumer.max.partition.fetch.bytes", parse=_COUNT, default="", mm2_default="1048576", readers=_SOURCE),
    Key(name="consumer.max.poll.records", parse=_COUNT, default="", mm2_default="500", readers=_SOURCE),
)
PRODUCER = (
    Key(name="producer.buffer.memory", parse=_MS, default="", mm2_default="33554432", readers=_PRODUCER),
    Key(name="producer.max.request.size", parse=_COUNT, default="", mm2_default="1048576", readers=_PRODUCER),
)
