"""What the demo writes must show what a mirror can get wrong."""

from __future__ import annotations

import pytest

from sparkmirror.cli.demo.topics import TOPICS, DemoTopic, make_audit, make_order


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_records_of_a_topic_are_all_different(topic: DemoTopic) -> None:
    records = [topic.make(number) for number in range(2000)]
    assert len({(r.key, r.value, tuple(r.headers)) for r in records}) == len(records)


def test_topics_differ_in_codec() -> None:
    assert len({topic.codec for topic in TOPICS}) == len(TOPICS) == 3


def test_orders_have_keys_and_every_kind_of_header() -> None:
    order = make_order(5)
    assert order.key is not None
    names, values = zip(*order.headers, strict=True)
    assert len(set(names)) < len(names)
    assert None in values and b"" in values


def test_audit_has_no_keys_and_some_null_values() -> None:
    records = [make_audit(number) for number in range(100)]
    assert all(record.key is None for record in records)
    assert sum(record.value is None for record in records) == 10


def test_remote_topic_has_mirror_makers_name() -> None:
    assert [topic.remote for topic in TOPICS] == ["A.orders", "A.clicks", "A.audit"]


def test_load_is_a_few_megabytes_a_second() -> None:
    sizes = [len(t.make(1).value or b"") * t.per_second for t in TOPICS]
    assert 2e6 < sum(sizes) < 5e6
