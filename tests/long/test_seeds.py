"""Every configuration that the seed documents print, run as it is: what its text promises arrives on real brokers.

Only host names are replaced. TLS lines are left out where the rest of a sample is to be seen; a test of their own has
them, with the names and passwords of stores replaced. Checkpoints and group offsets are not looked at.
"""

from __future__ import annotations

import json
import re
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from confluent_kafka.admin import AclOperation

from tests.conftest import Pair
from tests.support.command import run_command
from tests.support.kafka_client import assert_same, await_condition, create_topic, produce, read_all, topics, total
from tests.support.keytool import make_trust
from tests.support.mirror_process import MirrorProcess
from tests.support.samples import with_addresses, with_stores, without_security
from tests.support.tls import PASSWORD, Secured
from tests.support.topic_admin import add_acls, binding, remove_all, replicas, topic_acls, topic_configs

pytestmark = pytest.mark.timeout(300)

SEEDS = Path(__file__).parents[1] / "fixtures" / "seeds"
CARS = "toa.evehicles-latest-dev"
# On the first cluster; each has 300 records. `topic1` has a right to read and a retention time of its own, and its
# remote topic is there before.
HERE = {CARS: 3, "topic1": 2, "my-topic": 2, "TestMirrorMakerTopic": 4, "data.internal": 1, "old.replica": 1}
THERE = {"inventory": 2}
RECORDS = 300
RETENTION = "123456789"
READER = "User:reader"
ALL = tuple(HERE)
NOT_INTERNAL = tuple(name for name in HERE if name != "data.internal")
NO_REPLICA = tuple(name for name in HERE if name != "old.replica")


def prefixed(alias: str, names: tuple[str, ...], separator: str = ".") -> dict[str, str]:
    return {name: f"{alias}{separator}{name}" for name in names}


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What is there on the second cluster after a while, and on the first if the sample goes both ways."""

    there: Mapping[str, str]  # topic -> its name on the other cluster
    back: Mapping[str, str] = field(default_factory=dict)
    factor: int = 2
    internal: int = 3  # replicas of the topics that the mirror keeps for itself
    beats: tuple[str, ...] = ()  # topics on the second cluster that grow by themselves
    rights: bool = True
    settings: bool = True
    more: Callable[[MirrorProcess, Pair], None] = lambda _mirror, _pair: None


def nothing_goes_round(_mirror: MirrorProcess, pair: Pair) -> None:
    """Longer than the minute after which a sample looks for topics again."""

    def seen() -> tuple[set[str], dict[str, int]]:
        names = {(servers, name) for servers in (pair.source, pair.target) for name in topics(servers)}
        counts = {name: total(servers, name) for servers, name in names if is_users(name)}
        return {name for _, name in names}, counts

    before = seen()
    began = time.monotonic()
    await_condition(lambda: seen() != before or time.monotonic() - began > 70, "a minute and more", 100)
    assert seen() == before


def ten_tasks_copy(mirror: MirrorProcess, _pair: Pair) -> None:
    """By Spark's own account. There are more than ten partitions."""
    page = re.findall(r"UI at (http://\S+)", mirror.log())[-1]

    def ask(path: str) -> list[dict[str, object]]:
        with urllib.request.urlopen(f"{page}/api/v1/applications{path}", timeout=10) as answer:
            return list(json.load(answer))

    application = ask("")[0]["id"]
    await_condition(lambda: 10 in [stage["numTasks"] for stage in ask(f"/{application}/stages")], "ten tasks", 60)
    assert max(stage["numTasks"] for stage in ask(f"/{application}/stages")) == 10  # type: ignore[type-var]


def no_internal_topics(_mirror: MirrorProcess, pair: Pair) -> None:
    names = topics(pair.source) | topics(pair.target)
    assert not [name for name in names if "heartbeats" in name or "checkpoints" in name]


def topics_have_retention(_mirror: MirrorProcess, pair: Pair) -> None:
    """The one sample that says how long internal topics keep their records."""
    for servers, name, days, more in (
        (pair.target, "heartbeats", "86400000", {}),
        (pair.target, "us-west.checkpoints.internal", "86400000", {"segment.bytes": "1048576"}),
        (pair.source, "mm2-offset-syncs.us-east.internal", str(2**63 - 1), {}),
    ):
        assert topic_configs(servers, name) == {"cleanup.policy": "compact,delete", "retention.ms": days} | more


ONE_TWO = prefixed("cluster-1", NO_REPLICA, "-")
TWO_ONE = prefixed("cluster-2", ("inventory",), "-")
SAMPLE = Promise(
    there={CARS: f"source.{CARS}"}, factor=3, internal=1, beats=("heartbeats", "source.heartbeats"), rights=True
)
PROMISES = {
    "000-sample": SAMPLE,
    "000-table": Promise(
        there=prefixed("us-west", ("topic1",)), beats=("heartbeats",), internal=3, more=topics_have_retention
    ),
    "001-first": Promise(
        there=prefixed("source", NOT_INTERNAL), factor=3, internal=1, beats=("heartbeats", "source.heartbeats")
    ),
    "001-active-active": Promise(
        there=prefixed("source", NOT_INTERNAL),
        back=prefixed("destination", ("inventory",)),
        factor=3,
        internal=1,
        beats=("heartbeats", "source.heartbeats"),
        more=nothing_goes_round,
    ),
    "001-final": Promise(
        there=prefixed("primary-kafka-cluster", NOT_INTERNAL),
        back=prefixed("secondary-kafka-cluster", ("inventory",)),
        factor=3,
        beats=("heartbeats", "primary-kafka-cluster.heartbeats"),
    ),
    "002-bidirectional": Promise(
        there=ONE_TWO,
        back=TWO_ONE,
        beats=("heartbeats", "cluster-1-heartbeats"),
        rights=False,
        more=nothing_goes_round,
    ),
    "002-group-offsets": Promise(
        there=ONE_TWO, back=TWO_ONE, beats=("heartbeats", "cluster-1-heartbeats"), rights=False
    ),
    "002-identity": Promise(
        there={name: name for name in NO_REPLICA}, beats=("heartbeats", "cluster-1-heartbeats"), rights=False
    ),
    "002-tasks-max": Promise(
        there=prefixed("cluster-1", NO_REPLICA), beats=("heartbeats", "cluster-1.heartbeats"), more=ten_tasks_copy
    ),
    "002-high-volume": Promise(
        there=prefixed("cluster-1", NO_REPLICA), beats=("heartbeats", "cluster-1.heartbeats"), more=ten_tasks_copy
    ),
    "002-legacy-switches": Promise(
        there={name: name for name in NO_REPLICA}, rights=False, settings=False, more=no_internal_topics
    ),
    "003-sample": SAMPLE,
    "004-dialect": Promise(there={"my-topic": "my-topic"}, beats=("heartbeats", "source.heartbeats")),
    "004-wildcard": Promise(
        there=dict.fromkeys(NO_REPLICA, "my-replicated-topics"), beats=("heartbeats", "source.heartbeats")
    ),
}
ELSEWHERE = {"000-ssl": "tests/long/test_kerberos.py; the rest is 000-sample"}


def is_users(name: str) -> bool:
    return not name.startswith(("__", "mm2-")) and "heartbeats" not in name and "checkpoints" not in name


def make_topics(servers: str, names: Mapping[str, int]) -> None:
    for name, partitions in names.items():
        config = {"retention.ms": RETENTION} if name == "topic1" else {}
        create_topic(servers, name, partitions, replicas=1, config=config)
        load(servers, name, partitions, 0)


def load(servers: str, name: str, partitions: int, first: int) -> None:
    numbers = range(first, first + RECORDS)
    rows = ({"key": name.encode(), "value": b"%d" % i, "partition": i % partitions} for i in numbers)
    produce(servers, name, rows, batch_size=2000)


def await_records(servers: str, names: Mapping[str, str], each: int) -> None:
    for name, share in Counter(names.values()).items():
        await_condition(
            lambda n=name, k=share: n in topics(servers) and total(servers, n) >= k * each,  # type: ignore[misc]
            f"{share * each} records in {name}",
            120,
        )


def assert_arrived(source: str, target: str, names: Mapping[str, str]) -> None:
    """The same logs; where topics merge, each record once and each partition in its order."""
    shares = Counter(names.values())
    for topic, remote in names.items():
        if shares[remote] == 1:
            assert_same(read_all(source, topic), read_all(target, remote))
    for remote in (name for name, count in shares.items() if count > 1):
        log = read_all(target, remote)
        origins = {topic: read_all(source, topic) for topic in names if names[topic] == remote}
        for topic, partitions in origins.items():
            for partition, records in partitions.items():
                wanted = [r.value for r in records]
                arrived = [r.value for r in log[partition % len(log)] if r.key == topic.encode()]
                assert [value for value in arrived if value in set(wanted)] == wanted
        assert sum(map(len, log.values())) == sum(len(r) for p in origins.values() for r in p.values())


@pytest.mark.parametrize("name", PROMISES)
def test_a_printed_file_does_what_its_text_promises(wide: Pair, name: str) -> None:
    promise = PROMISES[name]
    for servers in (wide.source, wide.target):
        remove_all(servers)
    make_topics(wide.source, HERE)
    make_topics(wide.target, THERE)
    add_acls(wide.source, binding("topic1", AclOperation.READ, READER))
    ready = promise.there.get("topic1") if Counter(promise.there.values())[promise.there.get("topic1", "")] == 1 else ""
    if ready:
        create_topic(wide.target, ready, HERE["topic1"])
    text = without_security((SEEDS / f"{name}.properties").read_text())
    with MirrorProcess(with_addresses(text, wide.source, wide.target)) as mirror:
        await_records(wide.target, promise.there, RECORDS)
        await_records(wide.source, promise.back, RECORDS)
        for topic in promise.there:
            load(wide.source, topic, HERE[topic], RECORDS)
        await_records(wide.target, promise.there, 2 * RECORDS)
        await_beats(wide.target, promise.beats)
        promise.more(mirror, wide)
        flows = mirror.status()["flows"]
        assert [(flow["failed"], flow["problem"]) for flow in flows] == [(0, "")] * len(flows)
        assert mirror.terminate()[0] == 0
    assert_arrived(wide.source, wide.target, promise.there)
    assert_arrived(wide.target, wide.source, promise.back)
    assert set(filter(is_users, topics(wide.target))) == {*THERE, *promise.there.values()}
    assert set(filter(is_users, topics(wide.source))) == {*HERE, *promise.back.values()}
    assert_like_their_sources(wide, promise, ready)


def await_beats(servers: str, names: tuple[str, ...]) -> None:
    for name in names:
        await_condition(lambda n=name: n in topics(servers), name, 60)  # type: ignore[misc]
        before = total(servers, name)
        await_condition(lambda n=name, k=before: total(servers, n) > k, f"more in {name}", 60)  # type: ignore[misc]


def assert_like_their_sources(pair: Pair, promise: Promise, ready: str | None) -> None:
    factors = replicas(pair.target)
    made = {factors[remote] for remote in promise.there.values() if remote != ready}
    assert made <= {promise.factor}
    kept = {name: count for name, count in factors.items() if not is_users(name) and not name.startswith("__")}
    own = {name: n for name, n in kept.items() if not name.endswith(("heartbeats",)) or name == "heartbeats"}
    assert set(own.values()) == {promise.internal}, own
    if ready:
        set_there = {"retention.ms": RETENTION} if promise.settings else {}
        assert topic_configs(pair.target, ready) == set_there
        right = binding(ready, AclOperation.READ, READER)
        assert topic_acls(pair.target) == ({right} if promise.rights else set())


def test_a_printed_file_with_stores_works_over_tls(wide: Pair, secured: Secured, tmp_path: Path) -> None:
    """A trust store of Java's own kind, and a key store that only its content tells to be PKCS12."""
    for servers in (wide.source, wide.target):
        remove_all(servers)
    make_topics(wide.source, {"my-topic": 2})
    make_topics(wide.target, THERE)
    trust = make_trust(secured.folder / "ca.pem", tmp_path / "truststore.cluster-1.jks", "JKS", PASSWORD)
    keys = tmp_path / "user.cluster-1.p12_"
    keys.write_bytes((secured.folder / "me.p12").read_bytes())
    text = with_stores((SEEDS / "002-bidirectional.properties").read_text(), trust, keys, PASSWORD)
    addresses = (wide.a.servers_of("MTLS"), wide.b.servers_of("MTLS"))
    with MirrorProcess(with_addresses(text, *addresses)) as mirror:
        await_records(wide.target, {"my-topic": "cluster-1-my-topic"}, RECORDS)
        await_records(wide.source, {"inventory": "cluster-2-inventory"}, RECORDS)
        assert mirror.terminate()[0] == 0
    assert_arrived(wide.source, wide.target, {"my-topic": "cluster-1-my-topic"})
    assert_arrived(wide.target, wide.source, {"inventory": "cluster-2-inventory"})


def test_no_sample_is_forgotten() -> None:
    assert {path.stem for path in SEEDS.glob("*.properties")} == PROMISES.keys() | ELSEWHERE.keys()


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_printed_file_that_needs_secured_brokers(name: str) -> None:
    pytest.skip(ELSEWHERE[name])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("001-first-as-printed", "line 6 is a comment that holds one: give it a line of its own"),
        ("002-identity-both-ways", "would come back for ever: expected identity.bidirectional = true"),
    ],
)
def test_a_printed_file_that_can_not_work_ends_with_2_and_the_reason(name: str, said: str) -> None:
    done = run_command("run", str(SEEDS / "refused" / f"{name}.properties"))
    assert done.returncode == 2
    assert said in done.stderr and "Traceback" not in done.stderr
