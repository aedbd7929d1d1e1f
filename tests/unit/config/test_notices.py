"""Lines that do not do what they seem to are told, with the form that does."""

from __future__ import annotations

import pytest

from sparkmirror.config.mirror import examine, parse_mirror_config

BASE = "clusters = a, b\na.bootstrap.servers = h:1\nb.bootstrap.servers = i:1\na->b.enabled = true\n"


def warnings(more: str) -> tuple[str, ...]:
    return parse_mirror_config(BASE + more, "f").warnings


@pytest.mark.parametrize(
    ("line", "forms"),
    [
        ("consumer.fetch.min.bytes = 1", "a.consumer.fetch.min.bytes or a->b.consumer.fetch.min.bytes"),
        (
            "source.consumer.isolation.level = read_committed",
            "a.consumer.isolation.level or a->b.",
        ),
        ("a.fetch.min.bytes = 1", "a.consumer.fetch.min.bytes or a->b.consumer.fetch.min.bytes"),
        ("b.consumer.fetch.min.bytes = 1", "a.consumer.fetch.min.bytes or a->b.consumer.fetch.min.bytes"),
        ("producer.acks = all", "b.producer.acks"),
        ("a->b.producer.linger.ms = 1", "b.producer.linger.ms"),
        ("a.producer.linger.ms = 1", "b.producer.linger.ms"),
        ("use.defaults.from = source", "a->b.use.defaults.from"),
        ("b.topics = x", "topics or a->b.topics"),
        ("a->b.offset.storage.replication.factor = 1", "offset.storage.replication.factor or b.offset.storage"),
        ("offset.flush.timeout.ms = 1", "b.offset.flush.timeout.ms"),
        ("a.offset.flush.timeout.ms = 1", "b.offset.flush.timeout.ms"),
        ("exactly.once.source.support = enabled", "b.exactly.once.source.support"),
        ("enabled = true", "a->b.enabled"),
    ],
)
def test_a_form_that_mirrormaker_drops_is_told_with_one_that_works(line: str, forms: str) -> None:
    (warning,) = warnings(line + "\n")
    key = line.split(" ", maxsplit=1)[0]
    assert warning.startswith(f"f:5: {key} changes nothing, as in MirrorMaker 2: expected {forms}")


@pytest.mark.parametrize(
    "line",
    [
        "a.consumer.fetch.min.bytes = 1",
        "a->b.producer.override.linger.ms = 1",
        "b.offset.flush.timeout.ms = 1",
        "consumer.poll.timeout.ms = 5",
        "admin.timeout.ms = 5",
        "topics = logs-.*, a.b, x|y, [ab]-*, (eu, us)",
        "groups = my group",
    ],
)
def test_forms_that_work_are_not_spoken_of(line: str) -> None:
    assert warnings(line) == ()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("my.company.owner = me", "neither MirrorMaker 2 nor sparkmirror has such a key"),
        ("listeners = x", "it is not in force yet"),
        ("transforms.x.type = y", "nothing here reads keys of its family"),
    ],
)
def test_a_key_that_changes_nothing_is_told_once_and_with_one_reason(line: str, said: str) -> None:
    assert warnings(line) == (f"f:5: {line.split(' ', maxsplit=1)[0]} changes nothing: {said}",)


@pytest.mark.parametrize("line", ["a->b.topcs = x", "b.topics = x", "topcs = x"])
def test_topics_that_are_not_read_leave_every_topic_mirrored(line: str) -> None:
    (warning,) = warnings(line)
    assert warning.endswith(" As it is, a->b mirrors every topic: topics = .*")
    assert not any("every topic" in each for each in warnings(f"{line}\ntopics = y"))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("topics = x, logs-*", "logs-* is read as a regular expression, as in MirrorMaker 2, in which -* stands for"),
        ("a->b.topics = my.logs*", "did you mean my.logs.*?"),
        ("groups = billing-*", "did you mean billing-.*?"),
        ("topics = orders clicks", "orders clicks can't be a topic's name"),
        ("topics = orders, x.replica", "flow a->b: topics names x.replica, which topics.exclude leaves out"),
    ],
)
def test_patterns_that_hardly_match_what_was_meant(line: str, said: str) -> None:
    (warning,) = warnings(line)
    assert warning.startswith("f:5: ") and said in warning


def test_a_cluster_without_brokers_is_told_though_no_flow_needs_it() -> None:
    (warning,) = warnings("clusters = a, b, c\n")[1:]
    assert "c has no brokers and no flow" in warning and "c.bootstrap.servers = host:port" in warning


def test_one_cause_in_the_clusters_line_is_one_finding() -> None:
    text = "clusters = a, b!\na.bootstrap.servers = h:1\nb!.bootstrap.servers = i:1\na->b!.enabled = true\n"
    (finding,) = examine(text, "f").findings.in_order()
    assert (finding.line, finding.kind) == (1, "error")
    (finding,) = examine(BASE + "a->c.topics = x\na->c.enabled = true\n", "f").findings.in_order()
    assert (finding.line, finding.kind) == (6, "error") and "(lines 5 speak of it, too)" in finding.message


def test_the_nearest_flow_and_the_nearest_key() -> None:
    stray, unknown = warnings("a->bb.topics = x\nrefresh.topic.interval.seconds = 5\n")
    assert stray.endswith("did you mean a->b.topics?")
    assert unknown.endswith("did you mean refresh.topics.interval.seconds?")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("replication.policy.internal.topic.separator.enabled=false", "without replication.policy.separator"),
        ("b.bootstrap.servers=h:1", "expected two different clusters"),
        ("sync.group.offsets.rewind=true\nemit.checkpoints.enabled=false", "changes nothing without checkpoints"),
    ],
)
def test_what_contradicts_itself_is_told(lines: str, said: str) -> None:
    assert any(said in warning for warning in warnings(lines))


def test_pairs_that_are_not_enabled_exchange_heartbeats_unless_they_are_off() -> None:
    three = BASE + "clusters=a,b,c\nc.bootstrap.servers=j:1\n"

    def pairs(more: str = "", only: tuple[str, ...] = ()) -> list[str]:
        config = parse_mirror_config(three + more, "f", only_targets=only)
        return [pair.name for pair in config.heartbeat_pairs]

    assert pairs() == ["a->c", "b->a", "b->c", "c->a", "c->b"]
    assert pairs(only=("b",)) == ["c->b"]
    assert pairs("emit.heartbeats.enabled=false\nc->a.emit.heartbeats.enabled=true\n") == ["c->a"]
    assert pairs("emit.heartbeats.interval.seconds=-1\n") == []
    assert pairs("c.bootstrap.servers=\n") == ["b->a", "c->a", "c->b"]
