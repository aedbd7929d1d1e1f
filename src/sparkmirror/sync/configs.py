"""Configurations of remote topics kept as the source's: only what differs is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from sparkmirror.config.model import FlowConfig
from sparkmirror.errors import BrokerError
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.configs import change_topic_configs, describe_topic_configs
from sparkmirror.protocol import codes
from sparkmirror.sync.topics import unfit_text
from sparkmirror.topology.choose import choose_config_filter
from sparkmirror.topology.known_configs import KnownConfigs
from sparkmirror.topology.topic_configs import TIERED, ConfigChanges, plan_config_changes

KnownOf = Callable[[str], KnownConfigs]


class ConfigSync:
    """One flow's. Blocking."""

    def __init__(self, flow: FlowConfig, source: Cluster, target: Cluster) -> None:
        self._strict = flow.sync.configs_strict
        self._goes_round = flow.naming.is_mutual
        self._source = source
        self._target = target
        self._filter = choose_config_filter(flow)

    def plan(
        self, remotes: Mapping[str, str], known_of: KnownOf, source_ids: Mapping[str, str]
    ) -> tuple[dict[str, ConfigChanges], list[BrokerError]]:
        """Changes by remote topic, none among them, and what could not be read.

        `remotes`: source topic -> remote topic. `known_of` a remote topic. `source_ids`: of the source topics.
        """
        here = describe_topic_configs(self._source, remotes.keys())
        there = describe_topic_configs(self._target, remotes.values(), needs="ALTER_CONFIGS")
        changes = {
            remote: plan_config_changes(
                here.found[topic],
                there.found[remote],
                self._filter,
                known=known_of(remote),
                source_id=source_ids[topic],
                strict=self._strict,
                goes_round=self._goes_round,
            )
            for topic, remote in remotes.items()
            if topic in here.found and remote in there.found
        }
        return changes | self._leave_out_unfit(changes), [*here.refused.values(), *there.refused.values()]

    def _leave_out_unfit(self, changes: Mapping[str, ConfigChanges]) -> dict[str, ConfigChanges]:
        """Changes of tiered storage that the target refuses: all others of the topic would be refused with them."""
        tiered = {remote: change for remote, change in changes.items() if change.names_of(TIERED)}
        errors = change_topic_configs(self._target, tiered, validate_only=True)
        return {
            remote: replace(
                tiered[remote].without(*TIERED),
                unfit=unfit_text(tiered[remote].names_of(TIERED), self._target, error),
            )
            for remote, error in errors.items()
            if error.code in codes.UNFIT_CONFIG
        }

    def apply(self, changes: Mapping[str, ConfigChanges]) -> dict[str, BrokerError]:
        """What the target refuses, by topic."""
        return change_topic_configs(self._target, {topic: change for topic, change in changes.items() if change})
