"""Whether partitions stand still, the flow can start, and another mirror runs on it. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from sparkmirror.doctor.facts import FlowFacts
from sparkmirror.doctor.verdict import Judge, Verdict, some_of


def judge_standing(facts: FlowFacts) -> Iterator[Verdict]:
    """What a fact tells ends with what helps."""
    judge = Judge(facts.flow.name, "partitions")
    verdicts = []
    for said, partitions in facts.stuck.items():
        what, _, cure = said.rpartition("; ")
        verb = "stands" if len(partitions) == 1 else "stand"
        verdicts.append(judge.fails(f"{some_of(partitions)} {verb} still: {what or said}", cure if what else said))
    for said, places in facts.told.items():
        what, _, cure = said.rpartition("; ")
        verdicts.append(judge.warns(f"{some_of(places)}: {what or said}", cure if what else "see what it names"))
    return judge.all_or(verdicts, "none stands still")


def judge_start(facts: FlowFacts) -> Iterator[Verdict]:
    judge = Judge(facts.flow.name, "start")
    what, _, cure = facts.unable.rpartition("; ")
    return judge.all_or([judge.fails(what or cure, cure)] if cure else [], "its internal topics keep what they hold")


def judge_rival(facts: FlowFacts) -> Iterator[Verdict]:
    judge = Judge(facts.flow.name, "mirrormaker")
    said, _, cure = facts.rival.rpartition("; ")
    return judge.all_or([judge.fails(said, cure)] if said else [], "no MirrorMaker 2 runs on it")
