"""Whether certificates are valid for a while yet: the brokers', and the one that we show. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from sparkmirror.doctor.facts import ClusterFacts
from sparkmirror.doctor.verdict import Judge, Verdict, count

SOON_DAYS = 14
_DAY_S = 86_400


def judge_certificates(facts: ClusterFacts) -> Iterator[Verdict]:
    """Nothing where there are none."""
    judge = Judge(facts.alias, "certificates")
    days = {
        f"the certificate of broker {node}": _days(reached.trusted_s)
        for node, reached in facts.brokers.items()
        if reached.trusted_s is not None
    }
    if facts.shown_s is not None:
        days["ours (ssl.keystore)"] = _days(facts.shown_s)
    found = [
        judge.warns(f"{whose} ends in {count(left, 'day')}", "replace it; a running mirror notices")
        for whose, left in days.items()
        if left < SOON_DAYS
    ]
    if days:
        yield from judge.all_or(found, f"valid for {count(min(days.values()), 'day')} and more")


def _days(seconds: float) -> int:
    return int(seconds // _DAY_S)
