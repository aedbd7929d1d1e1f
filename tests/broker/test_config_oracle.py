"""Files mean here what they mean to MirrorMaker 2: every value that it would use is the one that we find.

Kafka's own MirrorMakerConfig and MirrorSourceConfig are asked, for files made up by chance, the seeds' samples and
some of Kafka's own tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from sparkmirror.config import values as v
from sparkmirror.config.jaas import PLAIN_MODULE
from sparkmirror.config.keys import KNOWN_KEYS, Key, Reader
from sparkmirror.config.keys.security import ROLES, SECURITY
from sparkmirror.config.keys.unread import UNREAD
from sparkmirror.config.mirror import Examined, examine_file
from tests.support.config_files import chance_file
from tests.support.java_config import JavaConfig

SEEDS = Path(__file__).parents[1] / "fixtures" / "seeds"
BASE = "clusters=a,b\na.bootstrap.servers=h:1\nb.bootstrap.servers=i:1\na->b.enabled=true\n"
CHANCE_FILES = 40

Flow = Mapping[str, Mapping[str, str]]

BY_HAND = {
    "client-keys": BASE
    + "security.protocol=SSL\na.security.protocol=SASL_SSL\na.consumer.security.protocol=PLAINTEXT\n"
    f"a.sasl.mechanism=PLAIN\na.sasl.jaas.config={PLAIN_MODULE} required username=u password=p;\n"
    "a->b.consumer.ssl.key.password=x\nb.producer.ssl.key.password=y\na->b.producer.override.ssl.key.password=z\n",
    "worker-keys": BASE + "offset.storage.topic=x\nb.offset.storage.topic=y\nb.offset.flush.timeout.ms=1\n"
    "offset.flush.timeout.ms=2\na->b.offset.storage.topic=z\nb.group.id=g\ntasks.max=3\n",
    "dropped": BASE + "use.defaults.from=source\nconsumer.fetch.min.bytes=9\nproducer.override.linger.ms=3\n"
    "transforms.x.type=Y\nunknown=1\na->b.use.defaults.from=target\n",
    "no-heartbeats": BASE + "clusters=a,b,c\nc.bootstrap.servers=j:1\nemit.heartbeats.enabled=false\n",
    "some-heartbeats": BASE + "clusters=a,b,c\nc.bootstrap.servers=j:1\nemit.heartbeats.enabled=false\n"
    "c->a.emit.heartbeats.enabled=TRUE\nb->c.enabled=True\n",
    "syntax": "clusters : a\\\n  , b\na.bootstrap.servers\th:1\nb.bootstrap.servers=i\\:1\na->b.enabled  true\n"
    "! note\ntopics = \\u0061.*, b\\\\.c\n",
}

REFUSED_BY_BOTH = (
    "tasks.max=abc",
    "tasks.max=0",
    "a->b.tasks.max=1.5",
    "a->b.enabled=yes",
    "replication.factor=two",
    "offset.lag.max=x",
    "refresh.topics.interval.seconds=soon",
    "sync.topic.acls.enabled=on",
    "offset-syncs.topic.location=middle",
    "errors.tolerance=some",
    "offset-syncs.topic.replication.factor=99999",
    "security.protocol=TLS",
    "sync.group.offsets.enabled=1",
    "clusters=a,,b",
)


@pytest.fixture(scope="module")
def java() -> Iterator[JavaConfig]:
    oracle = JavaConfig()
    yield oracle
    oracle.close()


def _files() -> dict[str, Callable[[], str]]:
    chance = {f"chance-{number}": lambda number=number: chance_file(number) for number in range(CHANCE_FILES)}
    by_hand = {name: lambda text=text: text for name, text in BY_HAND.items()}
    # The tutorial's dialect and the connector's file are nothing that MirrorMaker 2 could start with.
    samples = [
        path for path in sorted(SEEDS.glob("*.properties")) if path.stem[:3] != "004" and "table" not in path.stem
    ]
    return chance | by_hand | {path.stem: path.read_text for path in samples}


@pytest.mark.parametrize("name", _files())
def test_a_file_means_what_it_means_to_mirrormaker(
    name: str, java: JavaConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_OPTS", f"-Djava.security.auth.login.config={SEEDS / 'kafka_client_jaas.conf'}")
    file = tmp_path / "mm2.properties"
    file.write_text(
        _files()[name]().replace("org.apache.kafka.mirror.Legacy", "org.apache.kafka.connect.mirror.Identity")
    )
    answer, ours = java.expand(file), examine_file(file)
    assert "error" not in answer, answer["error"]
    assert ours.config is not None, ours.findings.errors
    assert {flow.name for flow in (*ours.config.flows, *ours.config.heartbeat_pairs)} == answer["flows"].keys()
    for flow, theirs in answer["flows"].items():
        differences = list(_differences(ours, flow, theirs, java.connector_keys))
        assert not differences, "\n".join(differences)


def _differences(ours: Examined, flow: str, theirs: Flow, connector_keys: set[str]) -> Iterator[str]:
    source, target = flow.split("->")
    for what, key, reader, expected in _uses(theirs, connector_keys):
        entry = ours.settings.find_stated(key, source, target, reader)
        if entry is not None and entry.origins:
            continue  # another spelling, which MirrorMaker 2 would drop
        found = None if entry is None else entry.value
        wanted = _users_part(expected, flow) if what.endswith("client.id") else expected
        if found != wanted and not (found is None and what in _SET_BY_ITSELF):
            yield f"{flow}: {what}: MirrorMaker 2 has {wanted!r}, we have {found!r}"


def _users_part(client_id: str | None, flow: str) -> str | None:
    """MirrorMaker 2 puts the flow and the client's role behind the user's client.id."""
    return None if client_id is None or client_id.startswith(flow) else client_id.split("|")[0]


# What MirrorMaker 2 fills in where the file is silent.
_SET_BY_ITSELF = {
    "connector name",
    "connector connector.class",
    "connector source.cluster.alias",
    "connector target.cluster.alias",
    "connector enabled",
    "worker group.id",
    "worker offset.storage.topic",
    "worker status.storage.topic",
    "worker config.storage.topic",
    "worker key.converter",
    "worker value.converter",
    "worker header.converter",
    "source_consumer consumer.auto.offset.reset",
}
_FORCED = {"consumer.enable.auto.commit"}


def _uses(theirs: Flow, connector_keys: set[str]) -> Iterator[tuple[str, Key[object], Reader, str | None]]:
    """Each key that somebody in MirrorMaker 2 uses, who it is, and the value."""
    data_producer = _data_producer(theirs)
    for key in KNOWN_KEYS.values():
        name = key.name
        for reader in key.readers:
            if reader is Reader.CONNECTOR_ONLY or (reader is Reader.CONNECTOR and name in connector_keys):
                yield f"connector {name}", key, reader, theirs["connector"].get(name)
            elif reader in (Reader.WORKER, Reader.WORKER_ONLY):
                yield f"worker {name}", key, reader, theirs["worker"].get(name)
            elif reader is Reader.SOURCE_CLIENT and name not in _FORCED:
                client = f"source_{name.partition('.')[0]}"
                yield f"{client} {name}", key, reader, theirs[client].get(key.bare)
            elif reader is Reader.TARGET_CLIENT:
                yield f"target_admin {name}", key, reader, theirs["target_admin"].get(key.bare)
            elif reader is Reader.DATA_PRODUCER:
                yield f"data producer {name}", key, reader, data_producer.get(key.bare)
    for key in SECURITY:
        for role, reader in ROLES.items():
            settings = data_producer if role == "target_producer" else theirs[role]
            yield f"{role} {key.name}", key, reader, settings.get(key.name)


def _data_producer(theirs: Flow) -> dict[str, str]:
    """As Connect's Worker puts it together."""
    return _stripped(theirs["worker"], "producer.") | _stripped(theirs["connector"], "producer.override.")


def _stripped(settings: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {key.removeprefix(prefix): value for key, value in settings.items() if key.startswith(prefix)}


@pytest.mark.parametrize("line", REFUSED_BY_BOTH)
def test_what_mirrormaker_refuses_is_refused(line: str, java: JavaConfig, tmp_path: Path) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(BASE + line + "\n")
    assert "error" in java.expand(file)
    assert examine_file(file).findings.errors


def test_placeholders_are_filled_in_alike(java: JavaConfig, tmp_path: Path) -> None:
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    (secrets / "a.properties").write_text("key = from a file\n")
    (secrets / "word").write_text("from a folder")
    file = tmp_path / "mm2.properties"
    file.write_text(
        BASE + "config.providers=f,d,e\n"
        "config.providers.f.class=org.apache.kafka.common.config.provider.FileConfigProvider\n"
        "config.providers.d.class=org.apache.kafka.common.config.provider.DirectoryConfigProvider\n"
        "config.providers.e.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider\n"
        f"b.ssl.key.password=${{f:{secrets}/a.properties:key}}\n"
        f"b.sasl.jaas.config=<${{d:{secrets}:word}}>\n"
        "b.ssl.keystore.location=${e:PATH}\n"
        "b.ssl.truststore.location=${unknown:x:y}\n"
    )
    worker = java.expand(file)["flows"]["a->b"]["worker"]
    settings = examine_file(file).settings
    for name in ("ssl.key.password", "sasl.jaas.config", "ssl.keystore.location", "ssl.truststore.location"):
        assert settings.entries[f"b.{name}"].value == worker[name]


def test_every_key_of_kafka_is_known(java: JavaConfig) -> None:
    missing = {name for name in java.connector_keys | java.tables["inherited"].keys() if name not in KNOWN_KEYS}
    inherited = java.tables["inherited"].keys() | {"config.providers"}
    for client in ("consumer", "producer", "admin"):
        own = java.tables[client].keys() - inherited
        missing |= {f"{client}.{name}" for name in own if f"{client}.{name}" not in KNOWN_KEYS}
    assert missing == set()


def test_defaults_are_those_of_kafka_or_said_to_differ(java: JavaConfig) -> None:
    elsewhere = {key.name for key in (*UNREAD, *SECURITY)}
    differing = []
    for key in KNOWN_KEYS.values():
        kafkas = _kafkas_default(key, java.tables)
        stated = key.default if key.mm2_default is None else key.mm2_default
        is_equal = kafkas is None or v.text_list(stated) == v.text_list(kafkas)
        if key.name not in elsewhere and not is_equal:
            differing.append(key.name)
    # MirrorMaker 2 itself says so in code: a flow is off, and a source is read from its start.
    assert differing == ["enabled", "consumer.auto.offset.reset"]


def _kafkas_default(key: Key[object], tables: Mapping[str, Mapping[str, str | None]]) -> str | None:
    for table in ("source", "checkpoint", "heartbeat"):
        if key.name in tables[table]:
            return tables[table][key.name]
    client = key.name.partition(".")[0]
    return tables[client].get(key.bare) if client in ("consumer", "producer", "admin") else None
