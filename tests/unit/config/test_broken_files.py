"""Kinds of broken files: each error names the line, the key and what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkmirror.cli.check import check
from sparkmirror.config.mirror import load_mirror_config, parse_mirror_config
from sparkmirror.config.providers import Surroundings
from sparkmirror.errors import ConfigError

BASE = "clusters = a, b\na.bootstrap.servers = h:1\nb.bootstrap.servers = i:1\na->b.enabled = true\n"
BOTH_WAYS = "b->a.enabled = true\nreplication.policy.class = IdentityReplicationPolicy\n"
CONNECTOR = "source.cluster.alias = a\nsource.cluster.bootstrap.servers = h:1\ntarget.cluster.bootstrap.servers = i:1\n"

# (kind, the whole file, line, key, part of the fix)
BROKEN = [
    ("no clusters", "topics = x", None, "clusters", "clusters = source, target"),
    ("clusters empty", BASE + "clusters =", 5, "clusters", "clusters = source, target"),
    ("an alias empty", BASE + "clusters = a,,b", 5, "clusters", "single commas"),
    ("a bad alias", BASE + "clusters = a b", 5, "clusters", "commas between aliases"),
    ("no flow", BASE + "a->b.enabled = false", None, "a->b.enabled", "a->b.enabled = true"),
    ("a flow of strangers", BASE + "a->c.enabled = true", 5, "a->c.enabled", "a->b.enabled"),
    ("a flow to itself", BASE + "a->a.enabled = true", 5, "a->a.enabled", "two different aliases"),
    ("no servers", "clusters = a, b\na->b.enabled = true", 2, "a.bootstrap.servers", "a.bootstrap.servers = host:port"),
    (
        "servers in a comment",
        "clusters=a,b\n# a.bootstrap.servers = h:1\na->b.enabled=true",
        3,
        "a.bootstrap",
        "line 2",
    ),
    ("servers empty", BASE + "a.bootstrap.servers = ,", 5, "a.bootstrap.servers", "host:port"),
    ("a server without port", BASE + "a.bootstrap.servers = h", 5, "a.bootstrap.servers", "host:port"),
    ("a port out of range", BASE + "a.bootstrap.servers = h:99999", 5, "a.bootstrap.servers", "1 to 65535"),
    ("no boolean", BASE + "a->b.enabled = yes", 5, "a->b.enabled", "true or false"),
    ("no number", BASE + "offset.lag.max = many", 5, "offset.lag.max", "whole number"),
    ("a fraction", BASE + "offset.storage.partitions = 2.5", 5, "offset.storage.partitions", "whole number"),
    ("a number too small", BASE + "tasks.max = 0", 5, "tasks.max", "from 1"),
    ("a number too large", BASE + "tasks.max = 2147483648", 5, "tasks.max", "to 2147483647"),
    ("a factor of 0", BASE + "replication.factor = 0", 5, "replication.factor", "-1 for the broker's default"),
    ("no interval", BASE + "emit.heartbeats.interval.seconds = 0", 5, "emit.heartbeats.interval", "above 0"),
    ("no interval in ms", BASE + "emit.heartbeats.interval.ms = x", 5, "emit.heartbeats.interval.ms", "seconds"),
    ("an unknown word", BASE + "errors.tolerance = some", 5, "errors.tolerance", "none, all"),
    ("a bad location", BASE + "offset-syncs.topic.location = here", 5, "offset-syncs.topic.location", "source, target"),
    ("a bad regex", BASE + "topics = a, (b", 5, "topics", "missing )"),
    ("a bad regex of groups", BASE + "a->b.groups.exclude = [", 5, "a->b.groups.exclude", "expected ]"),
    ("a brace", BASE + "topics = a{1", 5, "topics", "{n,m}"),
    ("a bad rename", BASE + "topics.map = orders", 5, "topics.map", "orders:orders-eu"),
    ("a rename to no topic's name", BASE + "topics.map = x:a b", 5, "topics.map", "letters, digits"),
    ("a rename by a group that is not there", BASE + "topics.map = x:$1", 5, "topics.map", "no group of the pattern"),
    (
        "groups that go back both ways",
        BASE + "b->a.enabled = true\nsync.group.offsets.enabled = true\nsync.group.offsets.rewind = true",
        7,
        "sync.group.offsets.rewind",
        "expected false",
    ),
    (
        "groups that end both ways",
        BASE + "b->a.enabled = true\nsync.group.offsets.enabled = true\nsync.group.deletes.enabled = true",
        7,
        "sync.group.deletes.enabled",
        "expected false",
    ),
    (
        "renames both ways",
        BASE + "b->a.enabled = true\ntopics.map = x:x",
        6,
        "topics.map",
        "expected one of a->b and b->a to leave it out (topics.exclude), or another name",
    ),
    (
        "a bad separator",
        BASE + "replication.policy.separator = ->",
        5,
        "replication.policy.separator",
        "'.', '_' and '-'",
    ),
    ("a bad protocol", BASE + "a.security.protocol = TLS", 5, "a.security.protocol", "SASL_SSL"),
    ("a bad isolation", BASE + "a.consumer.isolation.level = 1", 5, "a.consumer.isolation.level", "read_committed"),
    ("a share above 1", BASE + "sasl.login.refresh.window.factor = 2", 5, "sasl.login.refresh", "from 0 to 1"),
    ("a Java converter", BASE + "key.converter = x.JsonConverter", 5, "key.converter", "ByteArrayConverter"),
    ("a Java transform", BASE + "transforms = mask", 5, "transforms", "no such line"),
    ("another alias", BASE + "source.cluster.alias = x", 5, "source.cluster.alias", "clusters line"),
    ("identity both ways", BASE + BOTH_WAYS, 4, "a->b.enabled", "identity.bidirectional = true"),
    ("a bad escape", BASE + "topics = \\u12", 5, "topics: malformed escape \\u", "four hexadecimal digits"),
    ("no such variable", BASE + "topics = ${env:NOT_THERE}", 5, "topics", "environment variable NOT_THERE"),
    ("no such secret", BASE + "a.ssl.key.password = ${file:/none:x}", 5, "a.ssl.key.password", "can't read /none"),
    ("no such provider class", BASE + "config.providers = v", 5, "config.providers.v.class", "FileConfigProvider"),
    ("a connector alone", CONNECTOR + "connector.class = MirrorCheckpointConnector", 4, "connector.class", "all three"),
    ("a wrong value by another name", BASE + "Tasks.Max = x", 5, "Tasks.Max", "whole number"),
    ("a value of a flow that is off", BASE + "b->a.tasks.max = x", 5, "b->a.tasks.max", "whole number"),
]


@pytest.mark.parametrize(("text", "line", "key", "fix"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_an_error_names_line_key_and_fix(text: str, line: int | None, key: str, fix: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_mirror_config(text, "f", surroundings=Surroundings())
    first = str(caught.value).splitlines()[0]
    assert first.startswith("f: " if line is None else f"f:{line}: ")
    assert key in first and fix in first


def test_a_ring_of_three_clusters_is_refused_and_one_without_a_common_topic_is_not() -> None:
    ring = "clusters=a,b,c\nbootstrap.servers=h:1\nreplication.policy.class=LegacyReplicationPolicy\n"
    flows = "a->b.enabled=true\nb->c.enabled=true\nc->a.enabled=true\n"
    with pytest.raises(ConfigError, match=r"f:4: a->b\.enabled: .* on the way a->b->c->a "):
        parse_mirror_config(ring + flows, "f")
    apart = "a->b.topics=x\nb->c.topics=y\\\\.z\nc->a.topics=z\n"
    assert len(parse_mirror_config(ring + flows + apart, "f").flows) == 3
    assert len(parse_mirror_config(ring + flows.replace("c->a", "a->c"), "f").flows) == 3
    named = ring + flows.replace("true", "true\n", 1) + "c->a.replication.policy.class=DefaultReplicationPolicy\n"
    assert len(parse_mirror_config(named, "f").flows) == 3


def test_lines_of_a_private_key_are_not_shown_as_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7s3cret" + "x" * 6, "shorts3cret=="]
    pem = "\n".join(["-----BEGIN PRIVATE KEY-----", *body, "-----END PRIVATE KEY-----"])
    file = tmp_path / "mm2.properties"
    for text, said in (
        (f"a.ssl.keystore.key = {pem}\n", ":5: error: a.ssl.keystore.key: a PEM text over several lines"),
        (f"{pem}\n", ":5: error: a PEM text over several lines"),
        (f"{body[0]}\n{body[0]}\n", "a line that is no setting is set again"),
        (f"{body[0]}\n", "a line that is no setting changes nothing"),
    ):
        file.write_text(BASE + text + "topics = x\n")
        check(file)
        shown = "".join(capsys.readouterr())
        assert said.replace("error: ", "") in shown.replace("error: ", "") and "s3cret" not in shown, shown
    file.write_text(f"{BASE}{body[0]}\n")
    assert "s3cret" not in str(load_mirror_config(file).not_in_force)
