"""Settings that keep nobody out are said where they stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkmirror.cli.check import check
from sparkmirror.config.mirror import parse_mirror_config
from sparkmirror.doctor.verdict import Level
from sparkmirror.doctor.weakness import judge_weaknesses

BASE = """\
clusters = a, b
a.bootstrap.servers = h:1
b.bootstrap.servers = i:1
a->b.enabled = true
"""
_MODULE = "org.apache.kafka.common.security"
PLAIN = f'{_MODULE}.plain.PlainLoginModule required username="u" password="p";'
OAUTH = f"{_MODULE}.oauthbearer.OAuthBearerLoginModule required clientId=x clientSecret=y;"
SASL = f"a.sasl.mechanism = PLAIN\na.sasl.jaas.config = {PLAIN}\n"
TOKENS = f"a.sasl.mechanism = OAUTHBEARER\na.sasl.jaas.config = {OAUTH}\na.sasl.oauthbearer.token.endpoint.url = "
WEAK = {
    "a password in the clear": (f"a.security.protocol = SASL_PLAINTEXT\n{SASL}", 5, "the password crosses the network"),
    "a token in the clear": (
        f"a.security.protocol = SASL_PLAINTEXT\n{TOKENS}https://h/t\n",
        5,
        "the token crosses the network unencrypted",
    ),
    "an endpoint in the clear": (f"a.security.protocol = SASL_SSL\n{TOKENS}http://h/t\n", 8, "asked unencrypted"),
    "any name": ("a.security.protocol = SSL\na.ssl.endpoint.identification.algorithm =\n", 6, "no name is checked"),
    "old TLS": ("b.security.protocol = SSL\nb.ssl.enabled.protocols = TLSv1.3, TLSv1.1\n", 6, "TLSv1.1 is broken"),
    "oldest TLS": ("b.security.protocol = SSL\nb.ssl.protocol = TLSv1\n", 6, "TLSv1 is broken"),
    "an open Spark": ("spark.authenticate = false\n", 5, "can run code in the driver"),
    "an open cluster": ("spark.master = spark://h:7077\n", 5, "can run code in the driver"),
    "a secret as argument": ("spark.executor.extraJavaOptions = -Dx.password=s3cret\n", 5, "seen by everybody"),
}
WELL = [
    f"a.security.protocol = SASL_SSL\n{SASL}",
    f"a.security.protocol = SASL_SSL\n{TOKENS}https://h/t\n",
    "a.security.protocol = SSL\na.ssl.enabled.protocols = TLSv1.2,TLSv1.3\na.ssl.protocol = TLSv1.3\n",
    "spark.master = spark://h:7077\nspark.authenticate.secret = x\n",
    "spark.driver.extraJavaOptions = -Dx.y=1\n",
]


@pytest.mark.parametrize("name", WEAK)
def test_check_says_the_line_and_doctor_the_cure(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines, line, said = WEAK[name]
    file = tmp_path / "mm2.properties"
    file.write_text(BASE + lines)
    assert check(file) == 0
    shown = capsys.readouterr().out
    assert any(f"{file}:{line}:" in each and said in each for each in shown.splitlines()), shown
    assert "s3cret" not in shown
    (verdict,) = judge_weaknesses(parse_mirror_config(BASE + lines, "f"))
    assert verdict.level is Level.WARN and said in verdict.said and verdict.cure


@pytest.mark.parametrize("lines", WELL)
def test_what_keeps_strangers_out_is_no_word_worth(lines: str) -> None:
    config = parse_mirror_config(BASE + lines, "f")
    assert list(judge_weaknesses(config)) == [] and config.warnings == ()
