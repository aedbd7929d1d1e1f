"""What of a file may be shown: by a command, in an error, in a process's arguments, on Spark's pages.

a secret's value           never; as a whole placeholder, `${file:/run/x:y}`, as it is written
what a placeholder gives   never, whatever the key
`spark.*`                  only keys that are known to be harmless: connectors have secrets under any name
a URL                      without user, password and query
"""

from __future__ import annotations

import re

from sparkmirror.config.properties import Entry

MASK = "********"
PLACEHOLDER = re.compile(r"\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}")

_SECRET_WORDS = (
    *("password", "passwd", "pwd", "passphrase", "secret", "jaas", "credential", "token", "private", "authorization"),
    *("keystore.key", "account.key", "accountkey", "access.key", "accesskey", "api.key", "apikey", "encryption.key"),
    *("connection.string", "connectionstring", "signature", "fixed.sas"),
)
_NO_SECRETS = (".url", ".location", ".file", ".client.id", ".class")
_HARMLESS_OF_SPARK = (
    *("spark.master", "spark.app.name", "spark.cores.max", "spark.default.parallelism", "spark.local.dir"),
    *("spark.driver.", "spark.executor.", "spark.task.", "spark.memory.", "spark.shuffle.", "spark.storage."),
    *("spark.scheduler.", "spark.locality.", "spark.speculation", "spark.dynamicAllocation.", "spark.stage."),
    *("spark.excludeOnFailure.", "spark.network.", "spark.rpc.", "spark.port.", "spark.blockManager."),
    *("spark.sql.streaming.", "spark.sql.execution.", "spark.sql.adaptive.", "spark.sql.shuffle.", "spark.sql.ui."),
    *("spark.python.", "spark.pyspark.", "spark.ui.", "spark.eventLog.", "spark.log.", "spark.logConf"),
    *("spark.jars", "spark.files", "spark.archives", "spark.submit.", "spark.yarn.", "spark.kubernetes."),
    *("spark.hadoop.hadoop.security.auth", "spark.hadoop.hadoop.rpc.protection", "spark.hadoop.fs.defaultFS"),
    *("spark.kerberos.", "spark.ssl.", "spark.authenticate", "spark.redaction."),
)
# What stands in them is any text: variables, and `-Dx.password=y`.
_ANY_TEXT = re.compile(r"Env\.|JavaOptions$|\.env\.")
_USER_OF_URL = re.compile(r"(\w://)[^/@\s]*@")
_QUERY_OF_URL = re.compile(r"(\w://[^?\s,]*\?)[^\s,]+")


def is_secret(name: str) -> bool:
    """Whether a value must not be shown; by words, so that plugins' and Spark's own secrets are covered too."""
    if name.startswith("spark.") and not _is_harmless_of_spark(name):
        return True
    lowered = name.lower()
    return not lowered.endswith(_NO_SECRETS) and any(word in lowered for word in _SECRET_WORDS)


def _is_harmless_of_spark(name: str) -> bool:
    return name.startswith(_HARMLESS_OF_SPARK) and not _ANY_TEXT.search(name)


def is_filled(entry: Entry) -> bool:
    """Whether its value came from elsewhere, by a placeholder."""
    return bool(entry.origins) and any(PLACEHOLDER.search(written.value) for written in entry.written)


def shown_value(name: str, entry: Entry) -> str:
    """`name`: of the key, as it is known; the entry may stand under another."""
    written = ", ".join(each.value.strip() for each in entry.written) if is_filled(entry) else entry.value.strip()
    if is_secret(name) or is_secret(entry.written_key):
        return written if is_filled(entry) and PLACEHOLDER.fullmatch(written) else MASK
    return shown_url(written)


def shown_url(text: str) -> str:
    return _QUERY_OF_URL.sub(rf"\1{MASK}", _USER_OF_URL.sub(rf"\1{MASK}@", text))
