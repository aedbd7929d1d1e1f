"""Whether clusters answer, and whether their brokers can be reached by the names that they give themselves. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from sparkmirror.doctor.facts import ClusterFacts, FlowFacts
from sparkmirror.doctor.verdict import Judge, Verdict, count
from sparkmirror.net.cure import describe_cure
from sparkmirror.net.reach import Reached


def judge_reach(facts: ClusterFacts) -> Iterator[Verdict]:
    """The addresses of the file."""
    judge = Judge(facts.alias, "reach")
    dead = [each for each in facts.bootstrap if each.problem]
    if len(dead) == len(facts.bootstrap):
        said = "; ".join(each.problem for each in dead)
        yield judge.fails(f"no broker answers: {said}", _cure(facts.alias, dead[0]))
        return
    for each in dead:
        yield judge.warns(each.problem, _cure(facts.alias, each))
    if facts.metadata is None:
        yield judge.fails(facts.metadata_problem, f"see security.protocol of {facts.alias}, and the brokers' own log")
        return
    answers = ", ".join(str(each) for each in facts.bootstrap if not each.problem)
    yield judge.passes(f"{answers}: {count(len(facts.metadata.brokers), 'broker')}")


def judge_names(facts: ClusterFacts) -> Iterator[Verdict]:
    """What the brokers advertise: records are read and written there, whatever the file says."""
    judge = Judge(facts.alias, "names")
    dead = {node: each for node, each in facts.brokers.items() if each.problem}
    found = [
        judge.fails(
            f"broker {node} of cluster {facts.alias} advertises {each}: {each.problem}",
            f"set advertised.listeners of broker {node} to a name and port that this machine and Spark's executors "
            f"reach, or make {each} known to them ({'DNS, /etc/hosts' if each.is_name_unknown else 'route, firewall'})",
        )
        for node, each in dead.items()
    ]
    places = ", ".join(f"broker {node} at {each}" for node, each in sorted(facts.brokers.items()))
    return judge.all_or(found, places)


def judge_clients(facts: FlowFacts) -> Iterator[Verdict]:
    """Consumer and producer, where they do not come as the admin does."""
    for role, each in facts.clients.items():
        judge = Judge(facts.flow.name, "login")
        side = facts.flow.source.alias if role.startswith("source") else facts.flow.target.alias
        yield judge.fails(each.problem, _cure(side, each)) if each.problem else judge.passes(f"{role} at {each}")


def _cure(alias: str, each: Reached) -> str:
    if each.is_refused:
        return f"change what it names of security.protocol, ssl.* and sasl.* of {alias}, or on the broker"
    return describe_cure(alias, each.problem, is_name_unknown=each.is_name_unknown)
