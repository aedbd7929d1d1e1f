"""What a process says of its logins beside the file, as Kafka's scripts do: `KAFKA_OPTS=-Djava.security...=FILE`.

java.security.auth.login.config    a JAAS file; its section KafkaClient holds for clients without sasl.jaas.config
java.security.krb5.conf            where Kerberos is described
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from sparkmirror.config.findings import Findings
from sparkmirror.config.jaas import find_section
from sparkmirror.config.logins import JAAS_KEY, KRB5_CONF_KEY
from sparkmirror.config.properties import Entry
from sparkmirror.config.providers import Surroundings

VARIABLE = "KAFKA_OPTS"
_JAAS_FILE, _KRB5_CONF = "java.security.auth.login.config", "java.security.krb5.conf"


def read_process_login(entries: Iterable[Entry], surroundings: Surroundings, findings: Findings) -> dict[str, str]:
    """Settings for each client that speaks SASL and has none of its own. Nothing is read where none does."""
    speaks_sasl = any(
        entry.key.endswith("security.protocol") and entry.value.strip().upper().startswith("SASL") for entry in entries
    )
    if not speaks_sasl:
        return {}
    options = _java_options(surroundings.variables.get(VARIABLE, ""))
    login = _read_section(options[_JAAS_FILE], surroundings, findings) if _JAAS_FILE in options else None
    found = {JAAS_KEY: login, KRB5_CONF_KEY: options.get(_KRB5_CONF)}
    return {key: value for key, value in found.items() if value}


def _java_options(text: str) -> dict[str, str]:
    """`-Dname=value` each. Two `=` mean the same for a JAAS file: there is no other here that it could add to."""
    try:
        words = shlex.split(text)
    except ValueError:  # a quote is not closed
        words = text.split()
    pairs = (word.removeprefix("-D").partition("=") for word in words if word.startswith("-D"))
    return {name: value.removeprefix("=").removeprefix("file:") for name, _, value in pairs}


def _read_section(file: str, surroundings: Surroundings, findings: Findings) -> str | None:
    try:
        return find_section(surroundings.read_text(file))
    except OSError as error:
        said = f"can't read {file}: {error.strerror or error}; expected a JAAS file"
        findings.error(None, f"{VARIABLE}: -D{_JAAS_FILE}: {said}")
    except ValueError as error:
        findings.error(None, f"{VARIABLE}: {file}: {error}")
    return None
