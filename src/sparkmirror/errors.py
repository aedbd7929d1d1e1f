"""One small tree of errors, by who is at fault. Each message says what an operator should do."""

from __future__ import annotations


class SparkmirrorError(Exception):
    """Base of all errors that sparkmirror raises on purpose."""


class ConfigError(SparkmirrorError):
    """The user's file or command line is wrong. Shown as `FILE:LINE: what was expected`; exit code 2."""


class SetupError(SparkmirrorError):
    """Something that this machine must provide is missing: Java, Maven, a Spark master."""


class BrokenPartError(SparkmirrorError):
    """A part of the driver failed again and again by an error that nobody expected; exit code 4."""


class ConnectionLostError(SparkmirrorError):
    """A broker can't be reached, closed the connection or did not answer in time. Always worth a retry.

    `alias`: of the cluster of which no broker answers, if that is it.
    """

    def __init__(self, what: str, alias: str = "") -> None:
        super().__init__(what)
        self.alias = alias


class UnreachableError(ConnectionLostError):
    """None of a cluster's brokers answers."""


class AuthenticationError(ConnectionLostError):
    """The two sides do not trust each other: certificates, passwords, mechanisms. Trying again soon does not help."""


class BrokerError(SparkmirrorError):
    """A broker answered with an error code."""

    def __init__(self, code: int, what: str) -> None:
        super().__init__(what)
        self.code = code


class ProtocolError(SparkmirrorError):
    """Bytes from a remote side that break Kafka's wire format."""


class MirrorError(SparkmirrorError):
    """A named fact that stops one partition: going on would lose, repeat or reorder records.

    `name` is the stable word that status, logs and metrics show.
    """

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name
