"""From a flow's settings to its policy and filters: Kafka's Java classes by name, else a user's Python class."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from sparkmirror.config.model import FlowConfig
from sparkmirror.config.parts import NamingConfig
from sparkmirror.errors import ConfigError
from sparkmirror.topology.custom import CustomConfigPropertyFilter, CustomGroupFilter, CustomPolicy, CustomTopicFilter
from sparkmirror.topology.filters import (
    ConfigPropertyFilter,
    DefaultConfigPropertyFilter,
    DefaultGroupFilter,
    DefaultTopicFilter,
    GroupFilter,
    NameFilter,
    TopicFilter,
)
from sparkmirror.topology.plugins import load_plugin
from sparkmirror.topology.policy import (
    DOT,
    DefaultReplicationPolicy,
    IdentityReplicationPolicy,
    InternalNames,
    ReplicationPolicy,
)

# Where Kafka, guides to it and Strimzi's extensions have these classes.
_PACKAGES = ("org.apache.kafka.connect.mirror.", "org.apache.kafka.mirror.", "io.strimzi.kafka.connect.mirror.")
_JAVA = ("org.", "com.", "io.", "net.")
# Guides name the Legacy one, which keeps names as the first MirrorMaker did.
_KEEP_NAMES = ("IdentityReplicationPolicy", "LegacyReplicationPolicy")


def choose_policy(flow: FlowConfig) -> ReplicationPolicy:
    return make_policy(flow.naming, flow.aliases, flow.source.alias, _settings(flow))


def make_policy(
    naming: NamingConfig, aliases: tuple[str, ...], source: str | None, settings: Mapping[str, str]
) -> ReplicationPolicy:
    """`source` is where Identity's topics come from; a class of the user's is configured with `settings`."""
    separator = naming.separator if naming.internal_separator else DOT
    internal = InternalNames(separator=separator, prefix=naming.internal_prefix)
    name = _simple_name(naming.policy_class)
    if name == "DefaultReplicationPolicy":
        return DefaultReplicationPolicy(separator=naming.separator, aliases=aliases, internal=internal)
    if name in _KEEP_NAMES:
        return IdentityReplicationPolicy(separator=naming.separator, aliases=aliases, internal=internal, source=source)
    return CustomPolicy(_load(CustomPolicy.KEY, naming.policy_class, naming.plugin_path, settings), internal)


def keeps_names(flow: FlowConfig) -> bool:
    return _simple_name(flow.naming.policy_class) in _KEEP_NAMES


def choose_topic_filter(flow: FlowConfig) -> TopicFilter:
    if _simple_name(flow.topic_filter_class) == "DefaultTopicFilter":
        return DefaultTopicFilter(NameFilter.of(flow.topics, flow.topics_exclude))
    return CustomTopicFilter(_load_for(flow, CustomTopicFilter.KEY, flow.topic_filter_class))


def find_unmatched(flow: FlowConfig, topics: Collection[str]) -> Iterator[str]:
    """What is to be said of each element of `topics` that mirrors nothing of the source, by the default filter."""
    if _simple_name(flow.topic_filter_class) != "DefaultTopicFilter":
        return
    for element in flow.topics:
        try:
            names = NameFilter.of((element,))
        except ConfigError:
            return  # a piece of an expression that holds commas
        matched = [topic for topic in topics if names.matches(topic)]
        if not matched:
            yield f"no topic of {flow.source.alias} matches {element}, or the user may not see it"
        elif not any(NameFilter.of((element,), flow.topics_exclude).matches(topic) for topic in matched):
            yield f"topics.exclude leaves out all that {element} matches: {', '.join(sorted(matched)[:3])}"


def choose_group_filter(flow: FlowConfig) -> GroupFilter:
    groups = flow.groups
    if _simple_name(groups.filter_class) == "DefaultGroupFilter":
        return DefaultGroupFilter(NameFilter.of(groups.include, groups.exclude))
    return CustomGroupFilter(_load_for(flow, CustomGroupFilter.KEY, groups.filter_class))


def choose_config_filter(flow: FlowConfig) -> ConfigPropertyFilter:
    sync = flow.sync
    if _simple_name(sync.config_filter_class) == "DefaultConfigPropertyFilter":
        return DefaultConfigPropertyFilter.of(sync.configs_exclude, sync.defaults_from)
    return CustomConfigPropertyFilter(_load_for(flow, CustomConfigPropertyFilter.KEY, sync.config_filter_class))


def _simple_name(class_name: str) -> str:
    """`DefaultReplicationPolicy` for Kafka's own, the whole name for all others."""
    for package in _PACKAGES:
        if class_name.startswith(package):
            return class_name.removeprefix(package)
    return class_name


def _load_for(flow: FlowConfig, key: str, class_name: str) -> object:
    return _load(key, class_name, flow.naming.plugin_path, _settings(flow))


def _load(key: str, class_name: str, plugin_path: Sequence[str], settings: Mapping[str, str]) -> object:
    if class_name.startswith(_JAVA) and not plugin_path:
        raise ConfigError(
            f"{key}={class_name} looks like a Java class, which can't run here: write it as a Python class, "
            "and name its folder in plugin.path"
        )
    return load_plugin(key, class_name, plugin_path, settings)


def _settings(flow: FlowConfig) -> dict[str, str]:
    """What a plugin's `configure` gets, under MirrorMaker 2's own keys."""
    return {
        "source.cluster.alias": flow.source.alias,
        "target.cluster.alias": flow.target.alias,
        "clusters": ",".join(flow.aliases),
        "replication.policy.separator": flow.naming.separator,
        "replication.policy.internal.topic.separator.enabled": str(flow.naming.internal_separator).lower(),
        "topics": ",".join(flow.topics),
        "topics.exclude": ",".join(flow.topics_exclude),
        "config.properties.exclude": ",".join(flow.sync.configs_exclude),
        "use.defaults.from": flow.sync.defaults_from,
    }
