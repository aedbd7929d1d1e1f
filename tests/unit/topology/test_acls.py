"""Rights on remote topics (MirrorSourceConnectorTest: testAclFiltering, testAclTransformation)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sparkmirror.topology.acls import ALL, ALLOW, DENY, LITERAL, PREFIXED, READ, WRITE, Acl, plan_acls
from sparkmirror.topology.select import TopicSelector
from tests.support.flow_text import flow_of

SELECTOR = TopicSelector.of(flow_of("topics=orders.*\n"))
DESCRIBE = 8


def acl(name: str, operation: int, permission: int = ALLOW, pattern: int = LITERAL, principal: str = "User:x") -> Acl:
    return Acl(name, pattern, principal, "*", operation, permission)


def plan(*source: Acl, target: tuple[Acl, ...] = (), prefixed: bool = False) -> tuple[Acl, ...]:
    return plan_acls(source, target, SELECTOR, ["orders", "orders-eu", "other"], prefixed=prefixed)


def test_who_reads_the_topic_reads_the_remote_topic() -> None:
    assert plan(acl("orders", READ)) == (acl("a.orders", READ),)


def test_nobody_gets_to_write_a_remote_topic() -> None:
    assert plan(acl("orders", WRITE)) == ()
    assert plan(acl("orders", ALL)) == (acl("a.orders", READ),)


def test_the_mirrors_own_user_gets_no_rights_and_keeps_what_is_denied() -> None:
    mine = [acl("orders", READ), acl("orders", DESCRIBE), acl("orders", ALL, DENY)]
    wanted = plan_acls(mine, (), SELECTOR, ["orders"], prefixed=False, own={"User:x"})
    assert wanted == (acl("a.orders", ALL, DENY),)
    assert len(plan_acls(mine, (), SELECTOR, ["orders"], prefixed=False, own={"User:other"})) == 3


def test_what_is_denied_stays_denied() -> None:
    denied = [acl("orders", operation, DENY) for operation in (ALL, READ, WRITE)]
    assert set(plan(*denied)) == {d._replace(name="a.orders") for d in denied}


def test_rights_on_topics_that_are_not_mirrored_are_left() -> None:
    assert plan(acl("other", READ), acl("__secret", READ), acl("b.orders", READ)) == ()


def test_prefixes_only_where_they_are_asked_for() -> None:
    prefix = acl("ord", DESCRIBE, pattern=PREFIXED)
    assert plan(prefix) == ()
    assert plan(prefix, prefixed=True) == (acl("a.ord", DESCRIBE, pattern=PREFIXED),)
    assert plan(acl("oth", READ, pattern=PREFIXED), prefixed=True) == ()
    assert plan(acl("ord", WRITE, pattern=PREFIXED), prefixed=True) == ()


def test_a_prefix_does_not_follow_topics_to_other_names() -> None:
    chosen = TopicSelector.of(flow_of("topics=orders.*\ntopics.map=orders:sales\n"))
    prefix = acl("ord", READ, pattern=PREFIXED)
    assert plan_acls([prefix], (), chosen, ["orders", "orders-eu"], prefixed=True) == ()
    assert plan_acls([acl("orders", READ)], (), chosen, ["orders"], prefixed=True) == (acl("sales", READ),)


acls = st.builds(
    acl,
    st.sampled_from(["orders", "orders-eu", "other", "ord"]),
    st.sampled_from([ALL, READ, WRITE, DESCRIBE]),
    st.sampled_from([ALLOW, DENY]),
    st.sampled_from([LITERAL, PREFIXED]),
)


@given(st.lists(acls), st.booleans())
def test_a_second_run_adds_nothing_and_no_right_to_write_arises(source: list[Acl], prefixed: bool) -> None:
    first = plan(*source, prefixed=prefixed)
    assert plan(*source, target=first, prefixed=prefixed) == ()
    assert not [a for a in first if a.permission == ALLOW and a.operation in (WRITE, ALL)]
