"""Twenty secrets in twenty places of a mirror's file, each of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "SPARKMIRROR_PLANTED"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required username=u"


def _secret(number: int) -> str:
    return f"pl4nted{number:02}x"


@dataclass(frozen=True)
class Planted:
    """`lines`: of the file. `secrets`: by place. `given`: what the processes' environment holds by the user's wish."""

    lines: Mapping[str, str]
    secrets: Mapping[str, bytes]
    given: frozenset[str]
    variables: Mapping[str, str]


def plant(folder: Path, source: str, target: str) -> Planted:
    """In places that change nothing for who connects by TLS alone. `folder`: for files that placeholders name."""
    file = folder / "outside.properties"
    file.write_text(f"login={_secret(1)}\nspark={_secret(2)}\n")
    (folder / "password").write_text(_secret(3))
    lines = {
        f"{source}.consumer.sasl.jaas.config": f'{_PLAIN} password="${{file:{file}:login}}";',
        "spark.sparkmirror.outside": f"${{file:{file}:spark}}",
        f"{source}.producer.ssl.key.password": f"${{dir:{folder}:password}}",
        f"{source}.admin.sasl.jaas.config": f'{_PLAIN} password="${{env:{VARIABLE}}}" other="{_secret(5)}";',
        f"{target}.consumer.sasl.jaas.config": f'{_PLAIN} password="{_secret(6)}";',
        f"{target}.admin.sasl.oauthbearer.client.credentials.client.secret": _secret(7),
        f"{target}.admin.sasl.oauthbearer.token.endpoint.url": f"https://u:{_secret(8)}@localhost/t?key={_secret(9)}",
        f"{target}.admin.sasl.oauthbearer.assertion.private.key.passphrase": _secret(10),
        f"{target}.admin.sasl.login.connect.timeout.ms": "1000",
        f"{target}.ssl.key.password": f"{_secret(11)}${{",
        f"{target}.ssl.keystore.pasword": _secret(12),
        "some.plugins.setting": _secret(13),
        "spark.hadoop.fs.azure.account.key.x.blob.core.windows.net": _secret(14),
        "spark.hadoop.fs.s3a.secret.key": _secret(15),
        "spark.hadoop.some.connector": _secret(16),
        "spark.ssl.keyPassword": _secret(17),
        "spark.authenticate.secret": _secret(18),
        "spark.executorEnv.SPARKMIRROR_PLAIN": _secret(19),
        "spark.sql.catalog.planted.uri": _secret(20),
    }
    places = {f"place {number}": _secret(number).encode() for number in range(1, 21)}
    return Planted(lines, places, frozenset({"place 4", "place 19"}), {VARIABLE: _secret(4)})
