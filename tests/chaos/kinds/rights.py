"""A right, a user or a certificate of the mirror's is taken away and given back."""

from __future__ import annotations

import random
from collections.abc import Iterator

from confluent_kafka.admin import AclBinding, AclBindingFilter, ResourceType

from tests.chaos.fault import Fault, Kind, on_each_side
from tests.chaos.guard import MIRROR, SESSION_MS, add_user, remove_user, right
from tests.chaos.side import SOURCE, TARGET, await_true
from tests.chaos.traffic import PLAIN
from tests.chaos.world import World

SAID_S = 30.0
TRUST = f"listener.name.{MIRROR.lower()}.ssl.truststore.location"


class MustSay(Fault):
    """It lasts until the mirror has said what is wrong."""

    lasts_until_said = True
    expected: str
    said = False

    def is_said(self) -> bool:
        raise NotImplementedError

    def hold(self) -> None:
        try:
            await_true(self.is_said, self.expected, SAID_S)
        except AssertionError:
            return
        self.said = True

    def judge(self) -> Iterator[str]:
        if not self.said:
            yield f"not said within {SAID_S:g} s: {self.expected}"


class RightTaken(MustSay):
    """Of one topic: the others go on."""

    expected = "the fact `unauthorized`"

    def __init__(self, world: World, dice: random.Random, side: str) -> None:
        super().__init__(world, dice)
        self._side = world.side(side)

    def begin(self) -> None:
        topic = PLAIN.name if self._side is self.world.source else f"A.{PLAIN.name}"
        self._denial = right(self._side.login.principal, ResourceType.TOPIC, topic, denied=True)
        self._side.admin.create_acls([self._denial])[self._denial].result(30)

    def is_said(self) -> bool:
        facts = [fact for driver in self.world.drivers for fact in driver.facts(PLAIN.name)]
        return any(fact["name"] == "unauthorized" for fact in facts)

    def end(self) -> None:
        one = _filter(self._denial)
        self._side.admin.delete_acls([one])[one].result(30)


def _filter(acl: AclBinding) -> AclBindingFilter:
    where = acl.restype, acl.name, acl.resource_pattern_type
    return AclBindingFilter(*where, acl.principal, acl.host, acl.operation, acl.permission_type)


class LoginTaken(MustSay):
    """The mirror must say what it is refused for, in one of these words."""

    words: tuple[str, ...]

    expected = "why the login is refused"

    def take(self) -> None:
        raise NotImplementedError

    def begin(self) -> None:
        self._before = len(self.world.log())
        self.take()

    def is_said(self) -> bool:
        text = self.world.log()[self._before :] + str([driver.status() for driver in self.world.drivers])
        return any(word in text for word in self.words)


class UserTaken(LoginTaken):
    words = ("sasl.jaas.config", "refuses", "SASL_AUTHENTICATION_FAILED")

    def take(self) -> None:
        remove_user(self.world.source.admin)

    def hold(self) -> None:
        self.last(SESSION_MS / 1000, SESSION_MS / 1000 + 1)
        super().hold()

    def end(self) -> None:
        add_user(self.world.source.cluster)


class CertificateTaken(LoginTaken):
    """The brokers' trust store holds another CA."""

    words = ("certificate", "TLS")

    def take(self) -> None:
        self._trust("another.pem")

    def end(self) -> None:
        self._trust("ca.pem")

    def _trust(self, file: str) -> None:
        self.world.target.configure_brokers({TRUST: str(self.world.folder / file)})
        for proxy in self.world.target.proxies:
            proxy.cut()


KINDS = [
    *on_each_side("right-taken", "a topic of the {side} is denied to the mirror: `unauthorized`", RightTaken),
    Kind(
        name="user-taken",
        text="the source knows the mirror's user no more, then it knows it again",
        make=UserTaken,
        touches=frozenset({SOURCE}),
    ),
    Kind(
        name="certificate-taken",
        text="the target does not trust the mirror's certificate, then it trusts it again",
        make=CertificateTaken,
        touches=frozenset({TARGET}),
    ),
]
