"""Placeholders are filled in from what the caller lets them see, and from nothing else."""

from __future__ import annotations

import pytest

from sparkmirror.config.mirror import parse_mirror_config
from sparkmirror.config.model import MirrorConfig
from sparkmirror.config.providers import Surroundings
from sparkmirror.errors import ConfigError

BASE = "clusters = a, b\na.bootstrap.servers = h:1\nb.bootstrap.servers = i:1\na->b.enabled = true\n"
FILES = {"/run/s.properties": "topics = from-a-file\\\n, and-more\n", "/run/dir/topics": "from-a-folder"}
PROVIDERS = "org.apache.kafka.common.config.provider."


def read_text(path: str) -> str:
    if path not in FILES:
        raise FileNotFoundError(2, "No such file or directory", path)
    return FILES[path]


HERE = Surroundings(read_text=read_text, variables={"TOPICS": "from-a-variable", "X_TOPICS": "other"})


def parse(more: str) -> MirrorConfig:
    return parse_mirror_config(BASE + more, "f", surroundings=HERE)


@pytest.mark.parametrize(
    ("placeholder", "topics"),
    [
        ("${env:TOPICS}", ("from-a-variable",)),
        ("${file:/run/s.properties:topics}", ("from-a-file", "and-more")),
        ("${dir:/run/dir:topics}", ("from-a-folder",)),
        ("${directory:/run/dir:topics}", ("from-a-folder",)),
        ("x-${env:TOPICS}-y, ${env:X_TOPICS}", ("x-from-a-variable-y", "other")),
    ],
)
def test_the_three_providers(placeholder: str, topics: tuple[str, ...]) -> None:
    config = parse(f"a->b.topics = {placeholder}\n")
    assert config.flows[0].topics == topics
    assert config.warnings == ()


def test_a_provider_may_be_declared_by_any_name() -> None:
    config = parse(
        f"config.providers = vault\nconfig.providers.vault.class = {PROVIDERS}FileConfigProvider\n"
        "topics = ${vault:/run/s.properties:topics}\n"
    )
    assert config.flows[0].topics == ("from-a-file", "and-more")
    assert config.not_in_force == ()


def test_one_that_nobody_declared_stays_and_is_told() -> None:
    config = parse("a.ssl.key.password = ${vault:a:b}\n")
    assert config.flows[0].security.source_consumer["ssl.key.password"] == "${vault:a:b}"
    assert "to fill it in, declare config.providers = vault" in config.warnings[0]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("topics = ${env:NONE}", "f:5: topics: ${env:NONE}: expected an environment variable NONE"),
        ("topics = ${file:/no:x}", "f:5: topics: ${file:/no:x}: can't read /no: No such file"),
        ("topics = ${file:/run/s.properties:x}", "/run/s.properties has no key x: expected a line such as x = ..."),
        (
            "topics = ${file:/run/s.properties:topics}\nconfig.providers = file\n"
            f"config.providers.file.class = {PROVIDERS}FileConfigProvider\n"
            "config.providers.file.param.allowed.paths = /etc, /run/s\n",
            "is not below allowed.paths: expected one of /etc, /run/s",
        ),
        (
            "topics = ${env:TOPICS}\nconfig.providers = env\nconfig.providers.env.class = EnvVarConfigProvider\n"
            "config.providers.env.param.allowlist.pattern = X_.*\n",
            "expected an environment variable TOPICS that is allowed",
        ),
        ("config.providers = v\nconfig.providers.v.class = x.Vault", "f:6: config.providers.v.class: expected File"),
    ],
)
def test_what_can_not_be_filled_in_is_an_error(lines: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(lines)
    assert said in str(caught.value)


def test_without_surroundings_nothing_is_read() -> None:
    with pytest.raises(ConfigError, match="files are out of reach here"):
        parse_mirror_config(BASE + "topics = ${file:/etc/passwd:x}\n", "f")
