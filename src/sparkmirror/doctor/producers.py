"""Whether the target's brokers remember the mirror's producer as long as they should. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.leadership import longest_lease_s
from sparkmirror.doctor.facts import ClusterFacts
from sparkmirror.doctor.verdict import Judge, Verdict

PRODUCERS, TRANSACTIONS = "producer.id.expiration.ms", "transactional.id.expiration.ms"
_LOST = {
    PRODUCERS: "appends are then guarded by the lease alone, not by the brokers' duplicate check as well",
    TRANSACTIONS: "a transactional id that fills holes is then forgotten while it is in use",
}


def judge_producers(flow: FlowConfig, target: ClusterFacts) -> Iterator[Verdict]:
    judge = Judge(flow.name, "producers")
    known = {key: min(target.values(key).values(), default=None) for key in _LOST}
    if known[PRODUCERS] is None:
        said = f"not checked: {target.configs_problem or f'the brokers do not tell {PRODUCERS}'}"
        yield judge.skips(
            said, f"let the brokers be reached, and give the user DESCRIBE_CONFIGS on cluster {target.alias}"
        )
        return
    longest_ms = int(longest_lease_s(flow.lease_s) * 1000)
    found = [
        judge.warns(
            f"{key} of cluster {target.alias} is {value}, and a lease may outlive its driver by {longest_ms}: {lost}",
            f"set {key} of its brokers to {longest_ms} or more (by default it is a day or longer)",
        )
        for key, lost in _LOST.items()
        if (value := known[key]) is not None and value < longest_ms
    ]
    yield from judge.all_or(found, f"remembered for {known[PRODUCERS]} ms")
