"""A survey as a document, for programs: `sparkmirror status --json`. Pure.

    time                 when it was made
    flows[]
      flow               "A->B"
      running            whether a driver leads it now
      leader             who leads or led last: driver, host, pid, since, seen, released; null if nobody ever did
      halt               by, why, since; null unless somebody has halted it
      rival              what is to be said of a MirrorMaker 2 that runs on it; else empty
      unable             why it can't start; else empty
      generation         of the newest leader record, else -1
      problem            why there is nothing below; empty if all is well
      fact               of the flow as a whole
      topics[]           topic, target_topic (empty where the topic can't be seen), fact, by_hand (configurations that
                         stay as they were set on the target; null: not set), rights_taken_away (by hand, in words)
      partitions[]       topic, partition, target_topic, source_start, source_lso, source_end, target_start, target_end,
                         lag, state, translated (why offsets differ, else empty), fact
      groups[]           group, checkpointed and synced (when what it had committed was last known on the target; null:
                         never), checkpoint_age_seconds, sync_age_seconds, why (it is not up to date; else empty)
    fact                 name, kind, error, since; null if there is none

Offsets and lag are null where a partition is not there or its leader does not answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sparkmirror.control.log import timestamp
from sparkmirror.control.survey import FlowSurvey
from sparkmirror.control.survey_rows import GroupAge, PartitionRow, TopicRow
from sparkmirror.offsets.claims import Leadership
from sparkmirror.offsets.halts import Halt
from sparkmirror.topology.acls import describe_acl
from sparkmirror.topology.fact import Fact


def survey_document(surveys: Iterable[FlowSurvey], now: float) -> dict[str, Any]:
    return {"time": timestamp(now), "flows": [_flow(survey, now) for survey in surveys]}


def _flow(survey: FlowSurvey, now: float) -> dict[str, Any]:
    return {
        "flow": survey.flow,
        "running": survey.running,
        "leader": _leader(survey.leader) if survey.leader else None,
        "halt": _halt(survey.halt) if survey.halt else None,
        "rival": survey.rival,
        "unable": survey.unable,
        "generation": survey.leader.generation if survey.leader else -1,
        "problem": survey.problem,
        "fact": _fact(survey.fact),
        "topics": [_topic(row) for row in survey.topics],
        "partitions": [_partition(row) for row in survey.partitions],
        "groups": [_group(row, now) for row in survey.groups],
    }


def _leader(leader: Leadership) -> dict[str, Any]:
    return {
        "driver": leader.driver,
        "host": leader.host,
        "pid": leader.pid,
        "since": timestamp(leader.since_ms / 1000) if leader.since_ms >= 0 else None,
        "seen": timestamp(leader.written_ms / 1000),
        "released": leader.released,
    }


def _halt(halt: Halt) -> dict[str, Any]:
    return {"by": halt.by, "why": halt.why, "since": timestamp(halt.since_ms / 1000)}


def _topic(row: TopicRow) -> dict[str, Any]:
    return {
        "topic": row.topic,
        "target_topic": row.target_topic,
        "fact": _fact(row.fact),
        "by_hand": dict(row.by_hand),
        "rights_taken_away": [describe_acl(acl) for acl in row.taken_away],
    }


def _partition(row: PartitionRow) -> dict[str, Any]:
    bounds = row.bounds
    return {
        "topic": row.topic,
        "partition": row.partition,
        "target_topic": row.target_topic,
        "source_start": bounds.source_start,
        "source_lso": bounds.source_stable,
        "source_end": bounds.source_end,
        "target_start": bounds.target_start,
        "target_end": bounds.target_end,
        "lag": row.lag,
        "state": row.state,
        "translated": row.translated,
        "fact": _fact(row.fact),
    }


def _group(row: GroupAge, now: float) -> dict[str, Any]:
    return {
        "group": row.group,
        "checkpointed": _time(row.checkpointed),
        "synced": _time(row.synced),
        "checkpoint_age_seconds": _age(row.checkpointed, now),
        "sync_age_seconds": _age(row.synced, now),
        "why": row.why,
    }


def _time(at: float | None) -> str | None:
    return None if at is None else timestamp(at)


def _age(at: float | None, now: float) -> float | None:
    return None if at is None else round(max(0.0, now - at), 3)


def _fact(fact: Fact | None) -> dict[str, Any] | None:
    return {"name": fact.name, "kind": fact.kind, "error": fact.error, "since": fact.since} if fact else None
