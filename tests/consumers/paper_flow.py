"""What a mirror on paper is told, and a flow of it: its copy, and the real keeper of its groups."""

from __future__ import annotations

import functools
import itertools
import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from sparkmirror.config.mirror import load_mirror_config
from sparkmirror.config.model import FlowConfig
from sparkmirror.control.group_keeper import GroupKeeper
from sparkmirror.control.group_survey import other_way
from sparkmirror.control.incarnation_guard import IncarnationGuard
from sparkmirror.groups.task import GroupReport, GroupTask
from sparkmirror.groups.work import GroupWorker
from sparkmirror.topology.choose import choose_policy
from sparkmirror.topology.storage import Storage
from tests.consumers.paper import Internal, as_cluster
from tests.consumers.paper_copy import PaperCopy

MERGED = "all"


@dataclass(frozen=True)
class File:
    """What the mirror is told. `both`: a flow each way."""

    merged: bool
    both: bool
    rewind: bool
    deletes: bool
    tolerant: bool

    @classmethod
    def draw(cls, dice: random.Random) -> File:
        merged = dice.random() < 0.25
        both = not merged and dice.random() < 0.4
        rewind, deletes, tolerant = (dice.random() < 0.5 for _ in range(3))
        return cls(merged, both, rewind and not both, deletes and not both, tolerant)

    def keys(self) -> dict[str, str]:
        goes_on = "continue" if self.tolerant else "fail"
        keys = {
            "clusters": "A, B",
            "A.bootstrap.servers": "127.0.0.1:1",
            "B.bootstrap.servers": "127.0.0.1:2",
            "A->B.enabled": "true",
            "B->A.enabled": str(self.both).lower(),
            "topics": "t.*",
            "groups": "g.*",
            "groups.exclude": "nothing",
            "sync.group.offsets.enabled": "true",
            "sync.group.offsets.rewind": str(self.rewind).lower(),
            "sync.group.deletes.enabled": str(self.deletes).lower(),
            **dict.fromkeys(("on.gap", "on.recreate", "on.divergence"), goes_on),
        }
        return keys | ({"topics.map": f"t.*:{MERGED}"} if self.merged else {})


@functools.cache
def flows_of(file: File) -> tuple[FlowConfig, ...]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mm2.properties"
        path.write_text("".join(f"{key} = {value}\n" for key, value in file.keys().items()))
        return load_mirror_config(path).flows


class FlowOnPaper:
    """A flow's copy and its keeper of groups."""

    def __init__(self, flows: Sequence[FlowConfig], flow: FlowConfig, copy: PaperCopy) -> None:
        self.flow, self.copy = flow, copy
        self._other_way = other_way(flow, flows)
        self.checkpoints = choose_policy(flow).checkpoints_topic(flow.source.alias)
        for name in (self.checkpoints, Storage.of(flow).status):
            copy.target.internal[name] = Internal()
        self._clock = itertools.count(1, 100_000)
        self.restart()

    def restart(self) -> None:
        """Another driver. What was copied and not told is found in both logs, sooner or later."""
        copy, flow = self.copy, self.flow
        guard = IncarnationGuard(
            as_cluster(copy.source),
            as_cluster(copy.target),
            SimpleNamespace(term_s=1.0),  # type: ignore[arg-type]
            lambda: copy.progress.written,
            lambda: copy.facts,
        )
        self._view = SimpleNamespace(leads=True, is_active=True, landscape=None)
        keeper = SimpleNamespace(flow=flow, view=self._view, guard=guard, parts=[])
        self.keeper = GroupKeeper(keeper, self._other_way, self._run, lambda: 1)  # type: ignore[arg-type]
        self._worker: GroupWorker | None = None

    def _run(self, tasks: Sequence[GroupTask]) -> list[GroupReport]:
        self._worker = self._worker or GroupWorker(tasks[0])
        return [report for task in tasks for report in self._worker.run(task)]

    def round(self) -> Mapping[str, GroupReport]:
        here = self.copy.source.topics
        self._view.landscape = SimpleNamespace(pairs=self.copy.pairs(), source_topics=list(here), claims_end=0)
        self.keeper.turn(float(next(self._clock)))
        return self.keeper.reports
