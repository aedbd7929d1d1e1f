"""Ends groups of the target whose groups of the source were deleted, where a flow asks for it."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.incarnation_guard import IncarnationGuard
from sparkmirror.groups.deletes import End, plan_end
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.group_offsets import fetch_group_offsets
from sparkmirror.net.groups import delete_groups, describe_groups
from sparkmirror.offsets.checkpoint_topic import CheckpointTopic

log = logging.getLogger("sparkmirror.groups")


class GroupDeletes:
    def __init__(
        self, flow: FlowConfig, source: Cluster, target: Cluster, checkpoints_topic: str, guard: IncarnationGuard
    ) -> None:
        self._flow = flow.name
        self._source, self._target = source, target
        self._checkpoints = CheckpointTopic(target, checkpoints_topic)
        self._guard = guard

    def apply(self, gone: Mapping[str, str], remotes: Mapping[str, str]) -> dict[str, str]:
        """Of groups that were synced and that the source does not list any more: those that stay, with the reason.

        `gone`: with the id of the cluster in which each was found. `remotes`: source topic -> remote topic.
        """
        if not gone:
            return {}
        self._checkpoints.read_on()
        here, there = describe_groups(self._source, gone), describe_groups(self._target, gone)
        offsets = fetch_group_offsets(self._target, gone)
        cluster = self._source.fetch_metadata([]).cluster_id
        proven = self._find_proven(
            remotes, {t for found in offsets.values() if isinstance(found, dict) for t, _ in found}
        )
        ends = {
            group: plan_end(here[group], there[group], offsets[group], self._checkpoints.last(group), proven)
            if gone[group] and gone[group] == cluster
            else End.ELSEWHERE
            for group in sorted(gone)
        }
        self._guard.require_lead()
        refused = delete_groups(self._target, [group for group, end in ends.items() if end is End.DELETE])
        for group, end in ends.items():
            if end is End.DELETE and group not in refused:
                log.info("flow %s: group %s was deleted at the source, and on the target", self._flow, group)
        stay = {group: end.value for group, end in ends.items() if end not in (End.DELETE, End.FORGET)}
        return stay | {group: str(error) for group, error in refused.items()}

    def _find_proven(self, remotes: Mapping[str, str], wanted: Collection[str]) -> set[str]:
        asked = {topic: remote for topic, remote in remotes.items() if remote in wanted}
        return {asked[topic] for topic in asked.keys() - self._guard.find_unproven(asked).keys()}
