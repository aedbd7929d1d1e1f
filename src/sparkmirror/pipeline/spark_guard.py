"""What keeps strangers out of Spark, and its settings' secrets out of their sight. Pure.

on the command line     only what the JVM or spark-submit needs before Python can reach it, and nothing secret
by py4j, then           all settings
Spark's pages, its log  names of all settings, values of those that are harmless
RPC                     both sides know a secret: of this run where Spark can make and hand on one, else the file's
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sparkmirror.config.secrecy import MASK, is_secret, shown_url

AUTHENTICATE, SECRET = "spark.authenticate", "spark.authenticate.secret"
REDACTION = "spark.redaction.regex"
_HADOOP = "spark.hadoop."
_AT_LAUNCH = (
    *("spark.master", "spark.app.name", "spark.driver.", "spark.jars", "spark.files", "spark.archives"),
    *("spark.submit.", "spark.yarn.", "spark.kubernetes.", "spark.kerberos.", "spark.hadoop.", "spark.log."),
)
# Options of a JVM are arguments by their nature.
_JVM_OPTIONS = ("spark.driver.extraJavaOptions", "spark.driver.defaultJavaOptions")
# For these Spark makes a secret for each run and hands it to its executors. In a standalone cluster master and workers
# must know the same one, so only who set them up can say it.
_MAKES_SECRET = re.compile(r"local(\[.*\])?|yarn|k8s://.*")
# Spark's own, and names under which connectors and Kafka have secrets.
_SECRET_NAMES = "(?i)secret|password|passphrase|token|credential|jaas|access[.]?key|account[.]?key|api[.]?key"
_LEAST_HIDDEN = 4  # characters; shorter ones are in every text


def plan_guards(user: Mapping[str, str], master: str) -> dict[str, str]:
    """Defaults, and the user's own redaction with ours beside it.

    Where nobody said a secret here, `spark-defaults.conf` of the machine may: then its word counts.
    """
    knows_secret = SECRET in user or bool(_MAKES_SECRET.fullmatch(master))
    names = sorted(key.removeprefix(_HADOOP) for key in user if is_secret(key))
    patterns = [_SECRET_NAMES, *(f"^(spark[.]hadoop[.])?{re.escape(name)}$" for name in names)]
    if REDACTION in user:
        patterns.append(user[REDACTION])
    asks = {AUTHENTICATE: "true"} if knows_secret else {}
    return {
        **asks,
        **{key: value for key, value in user.items() if key == AUTHENTICATE},
        "spark.ui.killEnabled": user.get("spark.ui.killEnabled", "false"),
        REDACTION: "|".join(patterns),
    }


def at_launch(settings: Mapping[str, str]) -> dict[str, str]:
    """Those that may stand among the arguments of a process, where everybody on the machine reads them."""
    return {
        key: value
        for key, value in settings.items()
        if key in _JVM_OPTIONS or (key.startswith(_AT_LAUNCH) and not is_secret(key) and shown_url(value) == value)
    }


def hide_values(text: str, settings: Mapping[str, str]) -> str:
    """What Java says, without the values of secrets."""
    for key, value in settings.items():
        if len(value) >= _LEAST_HIDDEN and is_secret(key) and key not in _JVM_OPTIONS:
            text = text.replace(value, MASK)
    return text
