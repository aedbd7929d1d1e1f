"""Rights on remote topics (MirrorSourceConnectorTest: testAclFiltering, testAclTransformation)."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from hypothesis import given
from hypothesis import strategies as st

from sparkmirror.topology.acls import (
    ALL,
    ALLOW,
    DENY,
    LITERAL,
    PREFIXED,
    READ,
    WRITE,
    Acl,
    Grant,
    KnownRights,
    plan_acls,
)

DESCRIBE = 8
REMOTES = {"orders": "a.orders", "orders-eu": "a.orders-eu", "sales": "renamed"}


def acl(name: str, operation: int, permission: int = ALLOW, pattern: int = LITERAL, principal: str = "User:x") -> Acl:
    return Acl(name, pattern, principal, "*", operation, permission)


def plan(
    *source: Acl,
    target: Collection[Acl] = (),
    known: Mapping[str, KnownRights] | None = None,
    prefixed: bool = False,
    own: Collection[str] = (),
) -> set[Acl]:
    planned = plan_acls(source, target, REMOTES, known or {}, prefixed=prefixed, own=own)
    return {grant.on(remote) for remote, acls in planned.items() for grant in acls.missing}


def test_who_reads_the_topic_reads_the_remote_topic() -> None:
    assert plan(acl("orders", READ), acl("sales", READ)) == {acl("a.orders", READ), acl("renamed", READ)}


def test_nobody_gets_to_write_a_remote_topic() -> None:
    assert plan(acl("orders", WRITE)) == set()
    assert plan(acl("orders", ALL)) == {acl("a.orders", READ)}


def test_the_mirrors_own_user_gets_no_rights_and_keeps_what_is_denied() -> None:
    mine = [acl("orders", READ), acl("orders", DESCRIBE), acl("orders", ALL, DENY)]
    assert plan(*mine, own={"User:x"}) == {acl("a.orders", ALL, DENY)}
    assert len(plan(*mine, own={"User:other"})) == 3


def test_what_is_denied_stays_denied() -> None:
    denied = [acl("orders", operation, DENY) for operation in (ALL, READ, WRITE)]
    assert plan(*denied) == {d._replace(name="a.orders") for d in denied}


def test_rights_on_topics_that_are_not_mirrored_are_left() -> None:
    assert plan(acl("other", READ), acl("__secret", READ), acl("b.orders", READ), acl("a.orders", READ)) == set()


def test_a_right_on_every_topic_or_on_a_prefix_becomes_one_on_each_that_is_mirrored_where_that_is_asked_for() -> None:
    everywhere, prefix = acl("*", READ), acl("ord", DESCRIBE, pattern=PREFIXED)
    assert plan(everywhere, prefix) == set()
    orders = {acl("a.orders", DESCRIBE), acl("a.orders-eu", DESCRIBE)}
    assert plan(prefix, prefixed=True) == orders
    assert plan(everywhere, prefixed=True) == {acl(remote, READ) for remote in REMOTES.values()}
    assert plan(acl("oth", READ, pattern=PREFIXED), acl("ordersx", READ, pattern=PREFIXED), prefixed=True) == set()
    assert plan(acl("ord", WRITE, pattern=PREFIXED), acl("*", WRITE), prefixed=True) == set()
    assert plan(acl("*", READ, pattern=PREFIXED), prefixed=True) == set(), "a prefix is a prefix"


def test_what_is_denied_by_a_prefix_or_everywhere_is_denied_on_each() -> None:
    """A right by name that it takes back would else be one on the target."""
    for denied in (acl("ord", READ, DENY, PREFIXED), acl("*", READ, DENY)):
        assert acl("a.orders", READ, DENY) in plan(acl("orders", READ), denied)


def test_a_right_that_was_taken_away_by_hand_does_not_come_again() -> None:
    right, remote = acl("orders", READ), acl("a.orders", READ)
    grant = Grant(*remote[2:])
    first = plan_acls([right], [], REMOTES, {}, prefixed=False)["a.orders"]
    given = {"a.orders": first.done()}
    assert plan(right, known=given, target=[remote]) == plan(right, known=given) == set()
    gone = plan_acls([right], [], REMOTES, given, prefixed=False)["a.orders"].known
    assert gone == KnownRights(taken_away=frozenset({grant}))
    assert plan_acls([], [], REMOTES, {"a.orders": gone}, prefixed=False)["a.orders"].known == gone
    back = plan_acls([right], [remote], REMOTES, {"a.orders": gone}, prefixed=False)["a.orders"].known
    assert back == KnownRights(frozenset({grant})), "it came back by hand"
    agreed = plan_acls([], [], REMOTES, given, prefixed=False)["a.orders"].known
    assert agreed == KnownRights() and plan(right, known={"a.orders": agreed}) == {remote}, (
        "the source took it away, too"
    )


def test_who_is_let_in_by_hand_gets_no_more_rights_that_the_source_denies() -> None:
    denied, remote = acl("orders", ALL, DENY), acl("a.orders", ALL, DENY)
    lifted = {"a.orders": KnownRights(frozenset({Grant(*remote[2:])}))}
    both = [acl("orders", READ), acl("orders", READ, principal="User:*"), acl("orders", READ, principal="User:y")]
    assert plan(denied, *both, known=lifted) == {acl("a.orders", READ, principal="User:y")}


acls = st.builds(
    acl,
    st.sampled_from(["orders", "orders-eu", "other", "ord", "*"]),
    st.sampled_from([ALL, READ, WRITE, DESCRIBE]),
    st.sampled_from([ALLOW, DENY]),
    st.sampled_from([LITERAL, PREFIXED]),
)


@given(st.lists(acls), st.booleans())
def test_a_second_run_adds_nothing_and_no_right_to_write_arises(source: list[Acl], prefixed: bool) -> None:
    first = plan(*source, prefixed=prefixed)
    assert plan(*source, target=first, prefixed=prefixed) == set()
    assert not [a for a in first if a.permission == ALLOW and a.operation in (WRITE, ALL)]
