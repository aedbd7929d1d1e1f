"""What the doctor makes of what it has found, without a broker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pytest

from sparkmirror.doctor.certificates import judge_certificates
from sparkmirror.doctor.clock import judge_clock
from sparkmirror.doctor.factors import judge_factors
from sparkmirror.doctor.facts import ClusterFacts, FlowFacts, TopicNeed
from sparkmirror.doctor.needs import Asked, plan_flow_topics, plan_needs
from sparkmirror.doctor.producers import judge_producers
from sparkmirror.doctor.reach import judge_names, judge_reach
from sparkmirror.doctor.replicas import judge_replicas
from sparkmirror.doctor.rights import judge_rights, judge_topics
from sparkmirror.doctor.sizes import judge_sizes
from sparkmirror.doctor.standing import judge_standing, judge_start
from sparkmirror.doctor.verdict import Level, Verdict, some_of
from sparkmirror.doctor.versions import judge_versions, release_of
from sparkmirror.errors import BrokerError
from sparkmirror.net.clock import ClockReading
from sparkmirror.net.cluster import NO_TOPIC_ID, Leader, Metadata, TopicInfo
from sparkmirror.net.configs import Described
from sparkmirror.net.reach import Reached
from sparkmirror.net.rights import Rights, TopicRights
from sparkmirror.net.topics import TopicShape
from sparkmirror.protocol import codes
from sparkmirror.protocol.metadata import BrokerPlace
from sparkmirror.topology.acls import OPERATIONS
from sparkmirror.topology.topic_configs import DEFAULT, OF_BROKER_FILE, OF_TOPIC, TIERED, ConfigEntry
from tests.support.flow_text import flow_of

NEWEST = {1: (4, 18), 47: (0, 0), 55: (0, 2), 61: (0, 0)}
GOOD = Reached(host="h", port=1, versions=NEWEST)
REFUSED = Reached(host="h", port=1, problem="h:1 can't be reached: refused")
NOWHERE = Reached(host="x", port=2, problem="x:2 can't be reached: unknown", is_name_unknown=True)
ALL = frozenset(OPERATIONS)
EVERYTHING = Rights(ALL, {})


def topic(name: str, partitions: int = 1, topic_id: bytes = b"i" * 16) -> TopicInfo:
    return TopicInfo(name, topic_id, dict.fromkeys(range(partitions), Leader(1, 0)), 0, False, 1)


def metadata(*topics: TopicInfo, brokers: int = 1) -> Metadata:
    places = {node: BrokerPlace(node, "h", node) for node in range(1, brokers + 1)}
    return Metadata("id", 1, places, {each.name: each for each in topics})


def cluster(
    alias: str = "b", *topics: TopicInfo, brokers: int = 1, configs: Mapping[str, str] | None = None
) -> ClusterFacts:
    return ClusterFacts(
        alias=alias,
        bootstrap=(GOOD,),
        metadata=metadata(*topics, brokers=brokers),
        brokers={1: GOOD},
        configs={1: configs or {}},
    )


def levels(verdicts: Iterable[Verdict]) -> list[Level]:
    return [verdict.level for verdict in verdicts]


def only(verdicts: Iterable[Verdict]) -> Verdict:
    (verdict,) = verdicts
    assert bool(verdict.cure) == (verdict.level is not Level.PASS)
    return verdict


# -- clusters


def test_a_cluster_of_which_no_address_answers_fails_with_each_reason() -> None:
    facts = ClusterFacts(alias="a", bootstrap=(REFUSED, NOWHERE))
    verdict = only(judge_reach(facts))
    assert verdict.level is Level.FAIL
    assert REFUSED.problem in verdict.said and NOWHERE.problem in verdict.said
    assert "a.bootstrap.servers" in verdict.cure


def test_one_dead_address_of_several_is_a_warning() -> None:
    facts = replace(cluster("a"), bootstrap=(GOOD, NOWHERE))
    warning, passed = judge_reach(facts)
    assert warning.level is Level.WARN and "/etc/hosts" in warning.cure
    assert passed.level is Level.PASS and passed.said == "h:1: 1 broker"


def test_a_port_that_hangs_up_may_want_another_protocol() -> None:
    hung_up = Reached(host="h", port=1, problem="h:1 closed the connection")
    assert "security.protocol" in only(judge_reach(ClusterFacts(alias="a", bootstrap=(hung_up,)))).cure


def test_who_is_not_let_in_looks_at_the_settings_and_not_at_the_port() -> None:
    shut_out = Reached(host="h", port=1, problem="h:1: the broker refuses user 'x'", is_refused=True)
    cure = only(judge_reach(ClusterFacts(alias="a", bootstrap=(shut_out,)))).cure
    assert "sasl.* of a" in cure and "bootstrap.servers" not in cure


def test_certificates_that_end_soon_are_warned_of() -> None:
    def levels(trusted_days: float | None, shown_days: float | None) -> list[Level]:
        broker = replace(GOOD, trusted_s=None if trusted_days is None else trusted_days * 86_400)
        shown_s = None if shown_days is None else shown_days * 86_400
        return [v.level for v in judge_certificates(replace(cluster("a"), brokers={1: broker}, shown_s=shown_s))]

    assert levels(None, None) == []
    assert levels(20, None) == levels(20, 30) == [Level.PASS]
    assert levels(10, 30) == levels(20, 3) == [Level.WARN]
    assert levels(10, 3) == [Level.WARN, Level.WARN]


def test_an_advertised_name_that_leads_nowhere_names_alias_broker_address_and_key() -> None:
    verdict = only(judge_names(replace(cluster("a"), brokers={1: GOOD, 7: NOWHERE})))
    assert verdict.level is Level.FAIL
    assert verdict.said == "broker 7 of cluster a advertises x:2: x:2 can't be reached: unknown"
    assert "advertised.listeners of broker 7" in verdict.cure and "DNS" in verdict.cure


@pytest.mark.parametrize(
    ("versions", "release"),
    [
        (NEWEST, "4.0"),
        ({1: (0, 16), 47: (0, 0), 55: (0, 1), 61: (0, 0)}, "3.3"),
        ({1: (0, 13), 47: (0, 0), 55: (0, 0), 61: (0, 0)}, "3.1"),
        ({1: (0, 12), 47: (0, 0), 61: (0, 0)}, "2.8"),
        ({1: (0, 11), 47: (0, 0)}, "2.4"),
        ({1: (0, 10)}, ""),
    ],
)
def test_a_release_is_known_by_its_requests(versions: dict[int, tuple[int, int]], release: str) -> None:
    assert release_of(versions) == release


def test_old_brokers_are_told_what_is_lost_on_them() -> None:
    assert only(judge_versions(cluster("a", topic("t")))).said == "Kafka 4.0 or later"
    old = Reached(host="h", port=1, versions={1: (0, 11), 47: (0, 0)})
    found = list(judge_versions(replace(cluster("a", topic("t", topic_id=NO_TOPIC_ID)), brokers={1: old})))
    assert levels(found) == [Level.WARN, Level.WARN]
    assert "remember of a producer" in found[0].said and "no ids" in found[1].said


@pytest.mark.parametrize(("ahead_s", "level"), [(0.3, "PASS"), (-1.9, "PASS"), (2.4, "WARN"), (-3600, "WARN")])
def test_a_clock_may_be_off_as_far_as_leadership_allows(ahead_s: float, level: str) -> None:
    facts = replace(cluster("a"), clock=ClockReading(1, ahead_s, 0.1))
    assert only(judge_clock(facts)).level == level


def test_a_clock_that_can_not_be_read_is_said_to_be() -> None:
    verdict = only(judge_clock(replace(cluster("a"), clock_problem="older than 3.3")))
    assert verdict.level is Level.SKIP and verdict.said == "not checked: older than 3.3"


# -- flows


def flow_facts(*needs: TopicNeed, more: str = "", **fields: object) -> FlowFacts:
    facts = FlowFacts(flow=flow_of(more), needs=needs, rights={"a": EVERYTHING, "b": EVERYTHING})
    return replace(facts, **fields)  # type: ignore[arg-type]


def clusters(**of_b: object) -> dict[str, ClusterFacts]:
    return {"a": cluster("a"), "b": cluster("b", **of_b)}  # type: ignore[arg-type]


def new(factor: int, key: str = "replication.factor", **configs: str) -> TopicNeed:
    shape = TopicShape("t", 1, factor, {name.replace("_", "."): value for name, value in configs.items()})
    return TopicNeed(cluster="b", topic="t", must=("WRITE",), shape=shape, factor_key=key)


def test_a_factor_above_the_live_brokers_fails_with_the_key_and_a_value_that_works() -> None:
    facts = flow_facts(new(3))
    verdict = only(judge_factors([facts], clusters()))
    assert verdict.level is Level.FAIL
    assert verdict.said == "cluster b has 1 live broker, too few for replication.factor = 3 (t)"
    assert verdict.cure == "set replication.factor = 1, or start more brokers"
    assert list(judge_replicas(facts, clusters())) == [], "one cause is told once"


def test_factors_that_are_too_large_are_one_line_whatever_flows_keys_and_topics() -> None:
    needs = [replace(new(3), topic=name) for name in ("t", "u", "v", "w", "x")]
    internal = [replace(new(3, f"{name}.replication.factor"), topic=name) for name in ("heartbeats", "checkpoints")]
    there = replace(new(3, "offset-syncs.topic.replication.factor"), cluster="a", topic="syncs")
    verdict = only(judge_factors([flow_facts(*needs, *internal), flow_facts(there, internal[0])], clusters()))
    assert verdict.said == (
        "cluster b has 1 live broker, too few for replication.factor = 3 (t, u, v and 2 more), "
        "heartbeats.replication.factor = 3 (heartbeats), checkpoints.replication.factor = 3 (checkpoints); "
        "cluster a has 1 live broker, too few for offset-syncs.topic.replication.factor = 3 (syncs)"
    )
    assert verdict.cure.startswith(
        "set replication.factor = 1 and replication.internal.topic.replication.factor = 1 (and where"
    )
    assert list(judge_factors([flow_facts(new(1))], clusters())) == []


@pytest.mark.parametrize(
    ("need", "configs", "level"),
    [
        (new(1), {"min.insync.replicas": "2"}, "FAIL"),
        (new(2), {"min.insync.replicas": "2"}, "PASS"),
        (new(1, min_insync_replicas="1"), {"min.insync.replicas": "2"}, "PASS"),
        (new(-1), {"default.replication.factor": "3"}, "FAIL"),
        (new(-1), {"default.replication.factor": "2"}, "PASS"),
        (new(-1), {}, "PASS"),
    ],
)
def test_a_new_topic_needs_its_replicas_in_sync(need: TopicNeed, configs: dict[str, str], level: str) -> None:
    facts, of_clusters = flow_facts(need), clusters(brokers=2, configs=configs)
    assert only([*judge_factors([facts], of_clusters), *judge_replicas(facts, of_clusters)]).level == level


@pytest.mark.parametrize(
    ("replicas", "in_sync", "said"),
    [(3, 2, ""), (3, 1, "1 of 3 replicas are in sync now"), (1, 1, "there are 1 replica:")],
)
def test_a_topic_that_is_there_needs_its_replicas_in_sync(replicas: int, in_sync: int, said: str) -> None:
    there = TopicRights(operations=ALL, replicas=replicas, in_sync=in_sync)
    described = Described({"t": {"min.insync.replicas": ConfigEntry("2", OF_TOPIC)}})
    facts = flow_facts(new(3), rights={"b": Rights(ALL, {"t": there})}, configs={"b": described})
    verdict = only(judge_replicas(facts, clusters()))
    assert (verdict.level is Level.FAIL) == bool(said) and said in verdict.said


SIZED = "max.message.bytes"


def sized(
    source: ConfigEntry, target: ConfigEntry | None = None, more: str = "", **of_b: str
) -> tuple[FlowFacts, ClusterFacts]:
    there = {"a.t": {SIZED: target}} if target else {}
    configs = {"a": Described({"t": {SIZED: source}}), "b": Described(there)}
    facts = flow_facts(more=more, remotes={"t": "a.t"}, configs=configs)
    return facts, cluster("b", configs={name.replace("_", "."): value for name, value in of_b.items()})


@pytest.mark.parametrize(
    ("source", "target", "more", "brokers", "levels_found"),
    [
        # The topic's own limit goes with it.
        (ConfigEntry("5000", OF_TOPIC), None, "", "1000", ["PASS"]),
        (ConfigEntry("5000", OF_TOPIC), ConfigEntry("1000", DEFAULT), "", "1000", ["PASS"]),
        # Nobody sets it there.
        (ConfigEntry("5000", OF_TOPIC), None, "config.properties.exclude=max.message.bytes", "1000", ["WARN"]),
        (ConfigEntry("5000", OF_BROKER_FILE), None, "", "1000", ["WARN"]),
        (ConfigEntry("5000", OF_BROKER_FILE), None, "", "5000", ["PASS"]),
        (
            ConfigEntry("5000", OF_TOPIC),
            ConfigEntry("1000", OF_TOPIC),
            "sync.topic.configs.enabled=false",
            "9",
            ["WARN"],
        ),
        (ConfigEntry("5000", OF_BROKER_FILE), ConfigEntry("6000", OF_TOPIC), "", "1000", ["PASS"]),
    ],
)
def test_the_limit_that_the_target_will_have_counts(
    source: ConfigEntry, target: ConfigEntry | None, more: str, brokers: str, levels_found: list[str]
) -> None:
    found = list(judge_sizes(*sized(source, target, more, message_max_bytes=brokers)))
    assert levels(found) == levels_found
    if found[0].level is Level.WARN:
        assert "records of 5000 bytes (t)" in found[0].said and "to 5000" in found[0].cure


def test_a_record_that_no_request_can_hold_fails() -> None:
    facts, target = sized(ConfigEntry("200000000", OF_TOPIC), socket_request_max_bytes="104857600")
    assert levels(judge_sizes(facts, target)) == [Level.FAIL]


def test_followers_that_fetch_less_than_a_batch_are_slow() -> None:
    facts, target = sized(ConfigEntry("9000000", OF_TOPIC), replica_fetch_max_bytes="1048576")
    assert only(judge_sizes(facts, target)).level is Level.PASS, "a single broker has no followers"
    assert "one by one" in only(judge_sizes(facts, replace(target, metadata=metadata(brokers=2)))).said


@pytest.mark.parametrize(
    ("configs", "level"),
    [
        ({"producer.id.expiration.ms": "86400000", "transactional.id.expiration.ms": "604800000"}, "PASS"),
        ({"producer.id.expiration.ms": "9999"}, "WARN"),
        ({"producer.id.expiration.ms": "10000"}, "PASS"),
        ({"producer.id.expiration.ms": "86400000", "transactional.id.expiration.ms": "1000"}, "WARN"),
        ({}, "SKIP"),
    ],
)
def test_a_producer_should_be_remembered_longer_than_a_lease_can_outlive_its_driver(
    configs: dict[str, str], level: str
) -> None:
    assert only(judge_producers(flow_of("lease.seconds=5"), cluster("b", configs=configs))).level == level


# -- rights


def needing(*operations: str, **lost: str) -> TopicNeed:
    return TopicNeed(cluster="b", topic="t", must=operations, should=lost, shape=TopicShape("t", 1, 1, {}))


def given(*operations: str) -> dict[str, Rights]:
    return {"b": Rights(ALL, {"t": TopicRights(operations=frozenset(operations))})}


def test_a_right_that_stops_the_flow_fails_and_one_that_does_not_warns() -> None:
    facts = flow_facts(needing("WRITE", "READ", ALTER="no new partitions"), rights=given("READ"))
    failed, warned = judge_rights(facts, clusters())
    assert failed.level is Level.FAIL and failed.said == "WRITE is missing on 1 topic of b: t"
    assert failed.cure.endswith("--operation Write --topic t")
    assert warned.level is Level.WARN and warned.said == "ALTER is missing on 1 topic of b: t: no new partitions"
    assert only(judge_rights(replace(facts, rights=given("READ", "WRITE", "ALTER")), clusters())).level is Level.PASS


def test_a_topic_that_may_not_be_made_or_written_fails() -> None:
    hidden = {"b": Rights(ALL, {"t": TopicRights(error=codes.UNKNOWN_TOPIC_OR_PARTITION)})}
    refused = {"b": {"t": BrokerError(codes.TOPIC_AUTHORIZATION_FAILED, "no")}}
    facts = flow_facts(needing("WRITE"), rights=hidden, refused=refused, appendable={"b": {"t": False}})
    assert [v.said.partition(" ")[0] for v in judge_rights(facts, clusters())] == ["CREATE", "WRITE"]


def test_a_topic_that_is_not_shown_needs_describe() -> None:
    hidden = {"b": Rights(ALL, {"t": TopicRights(error=codes.TOPIC_AUTHORIZATION_FAILED)})}
    verdict = only(
        judge_rights(flow_facts(TopicNeed(cluster="b", topic="t", must=("READ",)), rights=hidden), clusters())
    )
    assert verdict.level is Level.FAIL and verdict.said == "DESCRIBE is missing on 1 topic of b: t"


def test_a_topic_that_a_policy_forbids_is_no_matter_of_rights() -> None:
    facts = flow_facts(remotes={"t": "a.t"}, refused={"b": {"a.t": BrokerError(44, "POLICY_VIOLATION (44)")}})
    assert "POLICY_VIOLATION" in only(judge_topics(facts)).said
    assert only(judge_rights(facts, clusters())).level is Level.PASS


def test_a_topic_that_can_be_made_without_tiered_storage_is_a_warning() -> None:
    error = BrokerError(codes.INVALID_CONFIG, "Tiered Storage functionality is disabled in the broker")
    verdict = only(judge_topics(flow_facts(remotes={"t": "a.t"}, unfit={"b": {"a.t": error}})))
    assert verdict.level is Level.WARN and "a.t can be made on b only without" in verdict.said
    assert "Tiered Storage" in verdict.said


def test_a_flow_without_topics_is_a_warning() -> None:
    assert only(judge_topics(flow_facts())).level is Level.WARN
    verdict = only(judge_topics(flow_facts(remotes={"heartbeats": "a.heartbeats"}, unmatched=("no topic of a ...",))))
    assert verdict.level is Level.WARN and "correct `topics`" in verdict.cure


def test_rights_on_the_cluster() -> None:
    assert "translated" in only(judge_rights(flow_facts(may_write_markers=False), clusters())).said
    blind = {"a": Rights(ALL, {}), "b": Rights(None, {})}
    found = judge_rights(flow_facts(syncs_acls=True, rights=blind), clusters())
    assert [v.said.partition(" ")[0] for v in found] == ["ALTER"], "which holds DESCRIBE"


def test_before_2_8_a_producer_needs_the_right_of_the_whole_cluster() -> None:
    less = {"b": Rights(ALL - {"IDEMPOTENT_WRITE"}, {})}
    old = Reached(host="h", port=1, versions={1: (0, 11), 47: (0, 0)})
    facts = flow_facts(rights=less)
    assert only(judge_rights(facts, clusters())).level is Level.PASS
    assert only(judge_rights(facts, clusters() | {"b": replace(cluster("b"), bootstrap=(old,))})).level is Level.FAIL


def test_what_is_missing_is_granted_to_who_the_mirror_is_there() -> None:
    facts = flow_facts(
        may_write_markers=False,
        more="sync.group.offsets.enabled=true",
        refused_groups={"a": {"g": "DESCRIBE"}, "b": {"g": "READ"}},
        principals={"b": "User:CN=me,O=a b"},
    )
    found = {verdict.said.partition(":")[0]: verdict for verdict in judge_rights(facts, clusters())}
    wanted = {
        "DESCRIBE is missing on 1 group of a",
        "READ is missing on 1 group of b",
        "ALTER is missing on the cluster b",
    }
    assert found.keys() == wanted
    assert {verdict.level for verdict in found.values()} == {Level.WARN}
    assert found["DESCRIBE is missing on 1 group of a"].cure.endswith("User:MIRROR --operation Describe --group g")
    cure = found["ALTER is missing on the cluster b"].cure
    assert cure.endswith("--add --allow-principal 'User:CN=me,O=a b' --operation Alter --cluster")


def test_what_could_not_be_asked_is_no_pass() -> None:
    assert only(judge_rights(flow_facts(problems={"b": "broker 1 is away"}), clusters())).level is Level.SKIP


# -- what a flow needs


def test_a_flow_needs_its_topics_on_both_sides_and_its_internal_ones() -> None:
    flow = flow_of(
        "topics=t\nreplication.factor=2\noffset.storage.replication.factor=1\nsync.topic.configs.enabled=false"
    )
    here, there = metadata(topic("t", 3), topic("other")), metadata(brokers=2)
    asked = Asked(here=here, there=there, configs={"t": {"retention.ms": ConfigEntry("9", OF_TOPIC)}})
    needs = {(n.cluster, n.topic): n for n in plan_needs(flow, plan_flow_topics(flow, here, there), asked)}
    assert {topic for side, topic in needs if side == "a"} == {"t", "mm2-offset-syncs.b.internal"}
    assert needs["a", "t"].must == ("READ",), "configurations are nobody's concern"
    assert needs["b", "a.t"].must == ("WRITE",)
    assert needs["b", "a.t"].shape == TopicShape(
        "a.t", 3, 2, {"message.timestamp.type": "CreateTime", "retention.ms": "9"}, TIERED
    )
    assert needs["b", "a.t"].should.keys() == {"READ", "ALTER", "DELETE"}
    assert needs["b", "mm2-claims.a.internal"].factor_key == "offset.storage.replication.factor"


def test_topics_that_the_file_names_are_asked_for_though_they_are_not_listed() -> None:
    flow = flow_of("topics=t, secret, none-of.*, left-out\ntopics.exclude=left-out\n")
    here, there = metadata(topic("t")), metadata()
    needs = plan_needs(flow, plan_flow_topics(flow, here, there), Asked(here=here, there=there, configs={}))
    assert [n.topic for n in needs if n.cluster == "a" and not n.shape] == ["t", "secret"]


def test_many_names_are_counted() -> None:
    assert some_of(["a"]) == "a"
    assert some_of(list("abcde")) == "a, b, c and 2 more"


def test_what_waits_or_goes_on_all_the_same_is_a_warning_with_its_cure() -> None:
    facts = flow_facts(stuck={"gap: 1..2; accept": ["t-0"]}, told={"target-restamps: no times; run this": ["u"]})
    assert [(v.level, v.said, v.cure) for v in judge_standing(facts)] == [
        (Level.FAIL, "t-0 stands still: gap: 1..2", "accept"),
        (Level.WARN, "u: target-restamps: no times", "run this"),
    ]
    assert [v.level for v in judge_standing(flow_facts())] == [Level.PASS]


def test_a_flow_that_can_not_start_fails_with_its_cure() -> None:
    (verdict,) = judge_start(
        flow_facts(unable="cleanup.policy=delete, by which it loses; have it set: kafka-configs.sh")
    )
    assert (verdict.level, verdict.cure) == (Level.FAIL, "have it set: kafka-configs.sh")
    assert [v.level for v in judge_start(flow_facts())] == [Level.PASS]
