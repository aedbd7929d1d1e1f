"""`sasl.oauthbearer.assertion.*`: a signed statement in place of a client's secret (RFC 7523, KIP-1139, KIP-1258)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

PREFIX = "sasl.oauthbearer.assertion."
FILE_KEY, KEY_FILE_KEY, TEMPLATE_KEY = f"{PREFIX}file", f"{PREFIX}private.key.file", f"{PREFIX}template.file"
PASSPHRASE_KEY, ALGORITHM_KEY = f"{PREFIX}private.key.passphrase", f"{PREFIX}algorithm"
ALGORITHMS = RS256, ES256 = ("RS256", "ES256")
_CLAIMS = ("aud", "iss", "sub")


class Get(Protocol):
    def __call__(self, key: str, default: str = "") -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertion:
    """`file`: it stands there ready made. Else it is made anew for each question and signed with the key."""

    file: str = ""
    key_file: str = ""
    passphrase: str = field(default="", repr=False)
    algorithm: str = RS256
    template_file: str = ""
    claims: tuple[tuple[str, str], ...] = ()
    valid_s: int = 300
    valid_before_s: int = 60
    has_id: bool = False


def wants_assertion(get: Get) -> bool:
    """By these two keys Kafka's clients choose it over a secret."""
    return bool(get(FILE_KEY) or get(f"{PREFIX}claim.iss"))


def read_assertion(get: Get) -> Assertion:
    """ValueError names the setting. A file stands above all other settings, as with Kafka."""
    if file := get(FILE_KEY):
        return Assertion(file=file)
    if not get(KEY_FILE_KEY):
        raise ValueError(f"{KEY_FILE_KEY}: expected the file of a private key to sign with, or {FILE_KEY}")
    return Assertion(
        key_file=get(KEY_FILE_KEY),
        passphrase=get(PASSPHRASE_KEY),
        algorithm=get(ALGORITHM_KEY, RS256).upper(),
        template_file=get(TEMPLATE_KEY),
        claims=tuple((name, get(f"{PREFIX}claim.{name}")) for name in _CLAIMS if get(f"{PREFIX}claim.{name}")),
        valid_s=int(get(f"{PREFIX}claim.exp.seconds", "300")),
        valid_before_s=int(get(f"{PREFIX}claim.nbf.seconds", "60")),
        has_id=get(f"{PREFIX}claim.jti.include", "false").lower() == "true",
    )
