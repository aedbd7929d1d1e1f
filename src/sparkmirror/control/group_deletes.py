"""Ends groups of the target whose groups of the source were deleted, where a flow asks for it."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.incarnation_guard import IncarnationGuard
from sparkmirror.groups.deletes import End, find_proven, plan_end
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.group_offsets import fetch_group_offsets
from sparkmirror.net.groups import delete_groups, describe_groups
from sparkmirror.net.topics import topic_ids
from sparkmirror.offsets.checkpoint_topic import CheckpointTopic
from sparkmirror.offsets.group_marks import GroupMark

log = logging.getLogger("sparkmirror.groups")


class GroupDeletes:
    def __init__(
        self, flow: FlowConfig, source: Cluster, target: Cluster, checkpoints_topic: str, guard: IncarnationGuard
    ) -> None:
        self._flow = flow.name
        self._source, self._target = source, target
        self._checkpoints = CheckpointTopic(target, checkpoints_topic)
        self._guard = guard

    def apply(self, gone: Mapping[str, GroupMark], remotes: Mapping[str, str]) -> dict[str, str]:
        """Of groups that were synced and that the source does not list any more: those that stay, with the reason.

        `gone`: as each was last found. `remotes`: source topic -> remote topic.
        """
        if not gone:
            return {}
        self._checkpoints.read_on()
        here, there = describe_groups(self._source, gone), describe_groups(self._target, gone)
        offsets = fetch_group_offsets(self._target, gone)
        cluster = self._source.fetch_metadata([]).cluster_id
        now = self._find_same({topic for mark in gone.values() for topic, _ in mark.topics}, remotes)
        ends = {
            group: plan_end(
                here[group],
                there[group],
                offsets[group],
                self._checkpoints.last(group),
                find_proven(dict(mark.topics), now, remotes),
            )
            if mark.cluster and mark.cluster == cluster
            else End.ELSEWHERE
            for group, mark in sorted(gone.items())
        }
        self._guard.require_lead()
        refused = delete_groups(self._target, [group for group, end in ends.items() if end is End.DELETE])
        for group, end in ends.items():
            if end is End.DELETE and group not in refused:
                log.info("flow %s: group %s was deleted at the source, and on the target", self._flow, group)
        stay = {group: end.value for group, end in ends.items() if end not in (End.DELETE, End.FORGET)}
        return stay | {group: str(error) for group, error in refused.items()}

    def _find_same(self, topics: set[str], remotes: Mapping[str, str]) -> dict[str, str]:
        """Source topics that are proven to be those that were mirrored, with their ids as asked before that."""
        asked = {topic: remotes[topic] for topic in topics if topic in remotes}
        ids = topic_ids(self._source.fetch_metadata(sorted(asked)).topics.values()) if asked else {}
        unproven = self._guard.find_unproven(asked)
        return {topic: id_ for topic, id_ in ids.items() if topic not in unproven}
