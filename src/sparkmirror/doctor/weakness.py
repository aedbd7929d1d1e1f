"""Whether a file's settings keep strangers out."""

from __future__ import annotations

from collections.abc import Iterator

from sparkmirror.config.keys.security import ROLES
from sparkmirror.config.model import MirrorConfig
from sparkmirror.config.weakness import find_weak_spark, find_weaknesses
from sparkmirror.doctor.verdict import Judge, Verdict


def judge_weaknesses(config: MirrorConfig) -> Iterator[Verdict]:
    found = {("machine", weak): None for weak in find_weak_spark(config.spark)}
    for flow in (*config.flows, *config.heartbeat_pairs):
        for role in ROLES:
            side = flow.source if role.startswith("source") else flow.target
            found |= {(side.alias, weak): None for weak in find_weaknesses(getattr(flow.security, role))}
    for about, weak in found:
        yield Judge(about, "security").warns(f"{weak.key}: {weak.said}", weak.cure)
