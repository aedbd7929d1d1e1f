"""Settings that are valid and keep nobody out: said by `check`, `doctor` and at the start."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sparkmirror.config.findings import Findings
from sparkmirror.config.keys import KNOWN_KEYS, Scope
from sparkmirror.config.keys.security import ROLES
from sparkmirror.config.model import FlowConfig
from sparkmirror.config.properties import line_of
from sparkmirror.config.settings import Settings

PROTOCOL, MECHANISM, HOST_CHECK = "security.protocol", "sasl.mechanism", "ssl.endpoint.identification.algorithm"
ENABLED, NEWEST, ENDPOINT = "ssl.enabled.protocols", "ssl.protocol", "sasl.oauthbearer.token.endpoint.url"
_OLD_TLS = re.compile(r"(?<![\w.])(TLSv1|TLSv1\.1|SSLv\w+)(?![\w.])")
_SECRET_OPTION = re.compile(r"-D[\w.]*(password|secret|token|passphrase|credential)[\w.]*=", re.IGNORECASE)
_LOOPBACK = re.compile(r"http://(localhost|127\.[\d.]+|\[::1\])([:/]|$)", re.IGNORECASE)


class Weakness(NamedTuple):
    """`key`: the one to change."""

    key: str
    said: str
    cure: str

    def __str__(self) -> str:
        return f"{self.said}: {self.cure}"


def find_weaknesses(given: Mapping[str, str]) -> Iterator[Weakness]:
    """Of one client's `security.protocol`, `ssl.*` and `sasl.*`."""
    protocol = given.get(PROTOCOL, "").strip().upper()
    mechanism = given.get(MECHANISM, "GSSAPI").strip().upper()
    if protocol == "SASL_PLAINTEXT" and mechanism in ("PLAIN", "OAUTHBEARER"):
        what = "the password" if mechanism == "PLAIN" else "the token"
        yield Weakness(
            PROTOCOL, f"{what} crosses the network unencrypted ({mechanism} over {protocol})", "use SASL_SSL"
        )
    if protocol.startswith("SASL") and mechanism == "OAUTHBEARER":
        endpoint = given.get(ENDPOINT, "").strip().lower()
        if endpoint.startswith("http:") and not _LOOPBACK.match(endpoint):
            yield Weakness(ENDPOINT, "the token endpoint is asked unencrypted", "use https")
    if protocol.endswith("SSL"):
        yield from _find_weak_tls(given)


def _find_weak_tls(given: Mapping[str, str]) -> Iterator[Weakness]:
    if HOST_CHECK in given and not given[HOST_CHECK].strip():
        yield Weakness(
            HOST_CHECK,
            "whoever has any certificate of the CA can pass for the broker, since no name is checked",
            "leave the key out, and give brokers certificates with their names",
        )
    for key in (ENABLED, NEWEST):
        if old := _OLD_TLS.search(given.get(key, "")):
            yield Weakness(key, f"{old.group()} is broken", "use TLSv1.2 and TLSv1.3")


def find_weak_spark(spark: Mapping[str, str]) -> Iterator[Weakness]:
    is_open = spark.get("spark.authenticate", "true").lower() == "false"
    is_standalone = spark.get("spark.master", "").startswith("spark://")
    if is_open or (is_standalone and "spark.authenticate.secret" not in spark):
        yield Weakness(
            "spark.authenticate" if is_open else "spark.master",
            "whoever reaches Spark's ports can run code in the driver",
            "set spark.authenticate.secret here and on each node of the cluster, and spark.authenticate = true there",
        )
    for key, value in spark.items():
        if key.endswith("JavaOptions") and _SECRET_OPTION.search(value):
            yield Weakness(key, "options of a JVM are seen by everybody on the machine", "keep secrets out of them")


def warn_of_weaknesses(flows: tuple[FlowConfig, ...], settings: Settings, findings: Findings) -> None:
    for flow in flows:
        for role, reader in ROLES.items():
            side = flow.source if role.startswith("source") else flow.target
            for weak in find_weaknesses(getattr(flow.security, role)):
                entry = settings.find(KNOWN_KEYS[weak.key], flow.source.alias, flow.target.alias, reader)
                findings.warn(line_of(entry), f"cluster {side.alias}: {weak}")
    spark = dict(settings.within(Scope.SPARK))
    for weak in find_weak_spark({key: entry.value for key, entry in spark.items()}):
        findings.warn(line_of(spark.get(weak.key)), f"{weak.key}: {weak}")
