"""Keeps in the status topic when each group was dealt with. Groups are followed without it, too."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.log import complaint_level
from sparkmirror.errors import SparkmirrorError
from sparkmirror.groups.marks import Round, mark_round, plan_marks
from sparkmirror.groups.task import GroupReport
from sparkmirror.net.cluster import Cluster
from sparkmirror.offsets.group_marks import GroupMark, GroupMarksTopic, Marks
from sparkmirror.topology.storage import Storage

log = logging.getLogger("sparkmirror.groups")

# The last rounds are written this often at most: until its segment is full, the topic holds every one of them.
ROUNDS_EVERY_MS = 5_000


class GroupMarksKeeper:
    """One flow's. What could not be written is written with the next round."""

    def __init__(self, flow: FlowConfig, target: Cluster) -> None:
        self._flow = flow.name
        self._topic = GroupMarksTopic(target, Storage.of(flow))
        self._written: Marks | None = None
        self._now = Marks()
        self._complaint = ""

    def forget(self) -> None:
        """Somebody else leads, and writes."""
        self._written = None

    def followed(self) -> set[str]:
        """Groups that were dealt with at some time, also by an earlier driver, and not found to be gone since."""
        return {group for group, mark in self._read().groups.items() if mark.checkpoint.at_ms or mark.sync.at_ms}

    def synced(self) -> dict[str, GroupMark]:
        """Of these, groups whose offsets were committed on the target, as they were last found."""
        return {group: mark for group, mark in self._read().groups.items() if mark.sync.at_ms}

    def _read(self) -> Marks:
        if self._written is None:
            self._written = self._now = self._topic.read()
        return self._now

    def take(self, round_: Round, reports: Iterable[GroupReport], left_out: Mapping[str, str]) -> None:
        """A round is over."""
        try:
            self._now = mark_round(self._read(), round_, reports, left_out)
            self._write(round_.at_ms)
        except SparkmirrorError as error:
            if str(error) != self._complaint:
                self._complaint = str(error)
                said = "flow %s: when groups were synced is not kept in the target: %s"
                log.log(complaint_level(error), said, self._flow, error)
        else:
            self._complaint = ""

    def _write(self, now_ms: int) -> None:
        written = self._written or Marks()
        last_ms = max(written.rounds.checkpoint_ms, written.rounds.sync_ms)
        rounds = self._now.rounds if now_ms - last_ms >= ROUNDS_EVERY_MS else None
        news = plan_marks(written, self._now)
        if news or rounds:
            self._topic.write(news, rounds)
            self._written = Marks(rounds or written.rounds, self._now.groups)
