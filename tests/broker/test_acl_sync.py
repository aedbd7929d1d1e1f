"""Rights on source topics hold for their remote topics, with Kafka's own authorizer on both sides.

Without TLS or SASL everybody is User:ANONYMOUS. A topic that has rights is closed to those who have none; all others
are open (`allow.everyone.if.no.acl.found`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AclOperation, AclPermissionType, ResourcePatternType

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.flow_plan import plan_flow
from sparkmirror.embedded import KafkaCluster, start_clusters
from tests.conftest import Pair
from tests.support.flows import only_flow, write_flow
from tests.support.kafka_client import await_condition, create_topic, produce, read_all, topics
from tests.support.keepers import keeping
from tests.support.topic_admin import KEEPS_TIMES, add_acls, binding, remove_acls, topic_acls, topic_configs

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
OFTEN = {"refresh.topics.interval.seconds": "0.3", "sync.topic.acls.interval.seconds": "0.3"}
READ, WRITE, ALL = AclOperation.READ, AclOperation.WRITE, AclOperation.ALL


@pytest.fixture(scope="module")
def guarded() -> Iterator[Pair]:
    a, b = (KafkaCluster(name=name, overrides=AUTHORIZER) for name in ("guarded-A", "guarded-B"))
    start_clusters(a, b)
    with a, b:
        yield Pair(a, b)


def make_flow(pair: Pair, folder: Path, names: str, **extra: str) -> FlowConfig:
    more = {key.replace("_", "."): value for key, value in extra.items()}
    return only_flow(write_flow(folder, pair.source, pair.target, names, OFTEN | more))


def is_refused(servers: str, topic: str) -> bool:
    """Whether a record can't be written there for want of a right."""
    failures: list[KafkaError] = []
    producer = Producer({"bootstrap.servers": servers, "message.timeout.ms": 5000})
    producer.produce(topic, b"x", on_delivery=lambda error, _: failures.append(error) if error else None)
    producer.flush(10)
    return bool(failures) and failures[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_who_reads_the_topic_reads_the_remote_topic_and_nobody_else_writes_it(
    guarded: Pair, topic: str, tmp_path: Path
) -> None:
    read, written = f"{topic}-read", f"{topic}-written"
    flow = make_flow(guarded, tmp_path, f"{topic}.*")
    remote_read, remote_written = f"{flow.source.alias}.{read}", f"{flow.source.alias}.{written}"
    for name in (read, written):
        create_topic(guarded.source, name, 1)
        create_topic(guarded.target, f"{flow.source.alias}.{name}", 1)
        produce(guarded.target, f"{flow.source.alias}.{name}", [{"value": b"mirrored"}])
    # ANONYMOUS may read the one and write the other; somebody else's rights close both to everybody else.
    others = [binding(name, READ, "User:somebody") for name in (read, written)]
    add_acls(
        guarded.source, binding(read, READ), binding(written, WRITE), binding(written, AclOperation.DESCRIBE), *others
    )
    add_acls(guarded.source, *(binding(name, AclOperation.DESCRIBE_CONFIGS) for name in (read, written)))
    assert not is_refused(guarded.source, written)
    with keeping(flow):
        await_condition(lambda: binding(remote_read, READ) in topic_acls(guarded.target), "the rights")
    await_condition(lambda: is_refused(guarded.target, remote_written), "the end of writing")
    assert [r.value for r in read_all(guarded.target, remote_read)[0]] == [b"mirrored"]
    assert is_refused(guarded.target, remote_read)


def test_rights_are_added_by_mirrormakers_rules_and_once(guarded: Pair, topic: str, tmp_path: Path) -> None:
    deny, prefixed = AclPermissionType.DENY, ResourcePatternType.PREFIXED
    flow = make_flow(guarded, tmp_path, topic)
    remote = f"{flow.source.alias}.{topic}"
    create_topic(guarded.source, topic, 1)
    add_acls(
        guarded.source,
        binding(topic, ALL, "User:all"),
        binding(topic, WRITE, "User:writer"),
        binding(topic, WRITE, "User:denied", deny),
        binding(topic[:-3], READ, "User:prefixed", pattern=prefixed),
        binding(f"{topic}-other", READ, "User:other"),
        binding(topic, ALL),
    )
    wanted = {
        binding(remote, READ, "User:all"),
        binding(remote, WRITE, "User:denied", deny),
        binding(remote, READ),
    }
    with keeping(flow) as (keeper, _):
        await_condition(
            lambda: {a for a in topic_acls(guarded.target) if a.name.startswith(remote[:10])} == wanted, "them"
        )
        assert keeper.view.problem == ""
    more = make_flow(guarded, tmp_path, topic, sync_topic_acls_prefixed_enabled="true")
    with keeping(more):
        covered = binding(f"{more.source.alias}.{topic}", READ, "User:prefixed")
        await_condition(lambda: covered in topic_acls(guarded.target), "what the prefix covers")


def test_a_topic_whose_configurations_may_not_be_read_is_refused_with_the_right_that_is_missing(
    guarded: Pair, topic: str, tmp_path: Path
) -> None:
    flow = make_flow(guarded, tmp_path, topic)
    create_topic(guarded.source, topic, 1)
    add_acls(guarded.source, binding(topic, READ))
    with keeping(flow) as (_, ledger):
        await_condition(lambda: (topic, -1) in ledger.facts(flow.name), "the fact")
        said = ledger.facts(flow.name)[topic, -1].said
    assert f"cluster {flow.source.alias}: configurations of topic {topic} can't be read" in said
    assert f"has no DESCRIBE_CONFIGS on topic {topic} of cluster {flow.source.alias}" in said
    assert f"{flow.source.alias}.{topic}" not in topics(guarded.target)


def test_a_cluster_without_an_authorizer_is_said_once(
    pair: Pair, topic: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    flow = make_flow(pair, tmp_path, topic)
    caplog.set_level("INFO")
    with keeping(flow) as (keeper, _):
        seen = keeper.view.landscape
        await_condition(lambda: keeper.view.landscape is not seen, "a look")
        seen = keeper.view.landscape
        await_condition(lambda: keeper.view.landscape is not seen, "another look")
    assert caplog.text.count("has no authorizer") == 1


def test_what_is_the_targets_own_gets_neither_rights_nor_retention(guarded: Pair, topic: str, tmp_path: Path) -> None:
    """With names that stay, a right on `*`, a prefix or a name that the target uses, too, would be one on these."""
    everywhere, prefixed, deny = "*", ResourcePatternType.PREFIXED, AclPermissionType.DENY
    mirrored, own, both = f"{topic}-mirrored", f"{topic}-own", f"{topic}-both"
    kept = {"retention.ms": "3600000"}
    for name in (mirrored, both):
        create_topic(guarded.source, name, 1, config=kept)
    for name in (own, both):
        create_topic(guarded.target, name, 1)
    rights = [
        binding(everywhere, READ, "User:everywhere"),
        binding(everywhere, ALL),
        binding(topic, READ, "User:prefix", pattern=prefixed),
        binding(own, READ, "User:own"),
        binding(both, READ, "User:both"),
        binding(mirrored, READ, "User:reader"),
        binding(mirrored, READ, "User:denied"),
        binding(topic, READ, "User:denied", deny, prefixed),
    ]
    identity = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
    flow = make_flow(
        guarded, tmp_path, ".*", replication_policy_class=identity, sync_topic_acls_prefixed_enabled="true"
    )
    try:
        add_acls(guarded.source, *rights)
        with keeping(flow):
            wanted = {binding(mirrored, READ, f"User:{name}") for name in ("everywhere", "prefix", "reader", "denied")}
            wanted |= {binding(mirrored, READ), binding(mirrored, READ, "User:denied", deny)}
            await_condition(lambda: wanted <= topic_acls(guarded.target), "the rights")
            named = {acl for acl in topic_acls(guarded.target) if acl.name in (everywhere, topic, mirrored, own, both)}
            assert named == wanted
            remove_acls(guarded.target, binding(mirrored, READ, "User:reader"))
            add_acls(guarded.source, binding(mirrored, AclOperation.DESCRIBE, "User:mark"))
            mark = binding(mirrored, AclOperation.DESCRIBE, "User:mark")
            await_condition(lambda: mark in topic_acls(guarded.target), "one more")
            assert binding(mirrored, READ, "User:reader") not in topic_acls(guarded.target), "taken away by hand"
            gone = f"{mirrored}: ALLOW READ to User:reader from * (literal) stays away, taken away by hand"
            plan = plan_flow(flow)
            assert gone in plan.notes
            for what in ("keeps its configurations: the mirror did not make it", "no rights (ACLs) are synced"):
                assert any(both in note and what in note for note in plan.notes)
    finally:
        for servers in (guarded.source, guarded.target):
            remove_acls(servers, *topic_acls(servers))
    assert topic_configs(guarded.target, mirrored) == kept | KEEPS_TIMES
    assert topic_configs(guarded.target, both) == {}, "the source's retention would remove what is the target's own"
