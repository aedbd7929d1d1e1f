"""What is said when a broker refuses something, and for want of a right: who lacks which one, and how it is granted.

The only place that words it, whoever asked.
"""

from __future__ import annotations

from typing import NamedTuple

from sparkmirror.errors import BrokerError
from sparkmirror.net.address import ClusterAddress
from sparkmirror.net.principal import principal_of
from sparkmirror.protocol import codes
from sparkmirror.shown import LONGEST_SAID, shown
from sparkmirror.topology.right import TOPIC, Right


class Denial(NamedTuple):
    """`cure`: the command that grants the right."""

    said: str
    cure: str

    def __str__(self) -> str:
        return f"{self.said}; grant it: {self.cure}"


def describe_denial(address: ClusterAddress, right: Right, code: int | None = None) -> Denial:
    """`code`: as the broker has said it, if it was asked."""
    principal = principal_of(address.client.security)
    answer = "" if code is None else f" ({codes.name_of(code)})"
    said = f"{principal} has no {right.at(address.alias)}{answer}"
    return Denial(said, right.grant(principal, ",".join(address.bootstrap)))


def refused(address: ClusterAddress, what: str, code: int, right: Right, message: str | None = None) -> BrokerError:
    """`what` can't be done; `right` is what it takes, `message` what the broker says beside its code."""
    if code in codes.FORBIDDEN:
        return BrokerError(code, f"{what}: {describe_denial(address, right, code)}")
    return BrokerError(code, f"{what}: {codes.name_of(code)} {shown(message or '', LONGEST_SAID)}".rstrip())


def raise_hidden(address: ClusterAddress, topic: str, code: int, operation: str) -> None:
    """If a topic is not shown for want of a right. `operation`: what who looks wants to do there."""
    if code in codes.FORBIDDEN:
        raise refused(address, f"topic {topic} is not shown", code, Right(operation, TOPIC, topic))


def raise_refused(address: ClusterAddress, what: str, code: int, right: Right) -> None:
    """If it is an error."""
    if code:
        raise refused(address, what, code, right)
