"""Properties files made up by chance, from keys of MirrorMaker 2 in forms that it reads and in forms that it drops."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from random import Random

from sparkmirror.config.jaas import PLAIN_MODULE, SCRAM_MODULE
from sparkmirror.config.keys.topics import MIRROR
from tests.support.key_rows import ROWS

ALIASES = (("a", "b"), ("source", "target"), ("eu", "eu.west-1", "us"), ("A", "B", "C"))
# Ours alone, or what the validation of a connector would look for in Java.
_NOT_IN_JAVA = {"plugin.path", "replication.internal.topic.prefix", "replication.internal.topic.replication.factor"}
# Values that Java would refuse, and an interval of never: it keeps a pair that does nothing, where we keep none.
_OURS_ALONE = {"auto", "source", "3.5", "2", "-1"}
_CLASSES = {
    "topic.filter.class": ("DefaultTopicFilter",),
    "config.property.filter.class": ("DefaultConfigPropertyFilter",),
    "group.filter.class": ("DefaultGroupFilter",),
    "replication.policy.class": ("DefaultReplicationPolicy",),
}
_SECURITY = {
    "security.protocol": ("SSL", "ssl", "PLAINTEXT"),
    "ssl.keystore.location": ("/one", "/two", "/three"),
    "ssl.truststore.password": ("one", "two", "three"),
    "sasl.mechanism": ("PLAIN", "SCRAM-SHA-256"),
    "sasl.jaas.config": (f"{PLAIN_MODULE} required;", f"{SCRAM_MODULE} required;"),
    "sasl.login.retry.backoff.ms": ("100", "200"),
}
_FORMS = (
    "{key}",
    "{flow}.{key}",
    "{source}.{key}",
    "{target}.{key}",
    "{flow}.source.{key}",
    "{flow}.target.{key}",
    "{flow}.producer.override.{bare}",
    "{flow}.source.cluster.{key}",
)
_CLIENTS = ("", "", "consumer.", "producer.", "admin.")


def chance_file(number: int) -> str:
    """The same text for the same number. At least one flow is enabled."""
    dice = Random(number)
    aliases = ALIASES[number % len(ALIASES)]
    pairs = list(permutations(aliases, 2))
    lines = [f"clusters = {', '.join(aliases)}"]
    lines += [f"{alias}.bootstrap.servers = {alias}:9092" for alias in aliases]
    lines += ["{}->{}.enabled = true".format(*pair) for pair in pairs[: dice.randint(1, len(pairs))]]
    values = _values()
    for name in dice.sample(sorted(values), 12):
        source, target = dice.choice(pairs)
        key = (dice.choice(_CLIENTS) if name in _SECURITY else "") + name
        for form in dice.sample(_FORMS, 5):
            written = form.format(
                key=key, bare=key.partition(".")[2], flow=f"{source}->{target}", source=source, target=target
            )
            lines.append(f"{written} = {dice.choice(values[name])}")
    return "\n".join(lines) + "\n"


def _values() -> dict[str, tuple[str, ...]]:
    return dict(_values_of_rows()) | _SECURITY


def _values_of_rows() -> Iterator[tuple[str, tuple[str, ...]]]:
    for row in ROWS:
        if row.name in _CLASSES:
            yield row.name, tuple(MIRROR + name for name in _CLASSES[row.name])
        elif row.name not in _NOT_IN_JAVA:
            texts = {text for text, _ in (row.one, row.two)} - _OURS_ALONE
            yield row.name, tuple(sorted(texts)) or ("1",)
