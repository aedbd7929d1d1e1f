"""Internal topics made with what keeps them small; older ones are given what they lack.

What is set on the topic itself is its user's and stays, but for a policy by which it would lose what it must keep.
Where a cluster refuses what keeps a topic small, it grows.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from sparkmirror.errors import BrokerError, ConfigError
from sparkmirror.net.cluster import Cluster
from sparkmirror.net.configs import describe_topic_configs, set_topic_configs
from sparkmirror.net.topics import TopicShape, create_topic
from sparkmirror.protocol import codes
from sparkmirror.topology.command import set_configs
from sparkmirror.topology.internal_topics import COMPACT, lacking_configs, losing_policy

log = logging.getLogger("sparkmirror.topics")


def create_internal_topic(cluster: Cluster, shape: TopicShape) -> None:
    """With all of its configurations, or with those that it needs."""
    try:
        create_topic(cluster, shape)
    except BrokerError as error:
        if error.code not in codes.UNFIT_CONFIG:
            raise
        create_topic(cluster, shape.bare())
        _say_grows(cluster, shape.name, lacking_configs(shape.configs, {}), error)


def complete_configs(cluster: Cluster, topic: str, configs: Mapping[str, str], *, keeps_all: bool = False) -> None:
    """Set what is not set on the topic itself. What can't be seen is left alone.

    `keeps_all`: its policy is corrected, too, if it loses records by age; ConfigError where that is refused.
    """
    if not keeps_all and not lacking_configs(configs, {}):
        return
    entries = describe_topic_configs(cluster, [topic]).found.get(topic)
    if entries is not None and keeps_all and (policy := losing_policy(configs, entries)):
        _correct_policy(cluster, topic, policy)
    lacking = lacking_configs(configs, entries) if entries is not None else {}
    if not lacking:
        return
    try:
        set_topic_configs(cluster, topic, lacking)
    except BrokerError as error:
        _say_grows(cluster, topic, lacking, error)
    else:
        log.info("cluster %s: topic %s: %s", cluster.address.alias, topic, _show(lacking))


def _correct_policy(cluster: Cluster, topic: str, policy: str) -> None:
    what = _describe_policy(cluster, topic, policy)
    try:
        set_topic_configs(cluster, topic, COMPACT)
    except BrokerError as error:
        raise ConfigError(f"{what}: {error}; {_policy_cure(cluster, topic)}") from error
    log.warning("%s: it is set to compact", what)


def find_losing(cluster: Cluster, topic: str, configs: Mapping[str, str]) -> str:
    """What is to be said of a topic that loses what it must keep; empty if it does not, or is not shown."""
    entries = describe_topic_configs(cluster, [topic]).found.get(topic)
    policy = losing_policy(configs, entries) if entries is not None else ""
    return f"{_describe_policy(cluster, topic, policy)}; {_policy_cure(cluster, topic)}" if policy else ""


def _describe_policy(cluster: Cluster, topic: str, policy: str) -> str:
    where = f"cluster {cluster.address.alias}: topic {topic}"
    return f"{where} has cleanup.policy={policy}, by which it loses what it must keep"


def _policy_cure(cluster: Cluster, topic: str) -> str:
    return f"have it set: {set_configs(cluster.address.bootstrap, topic, COMPACT)}"


def _say_grows(cluster: Cluster, topic: str, lacking: Mapping[str, str], error: BrokerError) -> None:
    log.warning(
        "cluster %s: topic %s can't have %s, so a driver that takes over may read long before it begins: %s",
        cluster.address.alias, topic, _show(lacking), error,
    )  # fmt: skip


def _show(configs: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in configs.items())
