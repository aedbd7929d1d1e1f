"""A user's policy or filter behind our own interface: what it leaves out is added, what it answers is checked.

A policy must have `format_remote_topic`, `topic_source` and `upstream_topic`. `original_topic`, `is_internal_topic`
and the rest are as in MirrorMaker 2's ReplicationPolicy, unless it has them, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sparkmirror.errors import ConfigError
from sparkmirror.topology.plugins import find_method, require_methods
from sparkmirror.topology.policy import HEARTBEATS, InternalNames, find_original


@dataclass(frozen=True, slots=True)
class _Plugin:
    """Calls a plugin's methods. Whatever goes wrong in there is the user's to mend."""

    key: str
    plugin: object

    def ask(self, name: str, *arguments: str, kinds: tuple[type, ...]) -> Any:
        method = find_method(self.plugin, name)
        assert method is not None
        return self._call(name, method, arguments, kinds)

    def ask_or(self, name: str, *arguments: str, kinds: tuple[type, ...], default: Callable[..., Any]) -> Any:
        method = find_method(self.plugin, name)
        return default(*arguments) if method is None else self._call(name, method, arguments, kinds)

    def _call(
        self, name: str, method: Callable[..., Any], arguments: tuple[str, ...], kinds: tuple[type, ...]
    ) -> object:
        said = f"{self.key}: {type(self.plugin).__name__}.{name}({', '.join(map(repr, arguments))})"
        try:
            answer = method(*arguments)
        except Exception as error:
            raise ConfigError(f"{said} failed: {type(error).__name__}: {error}") from error
        if not isinstance(answer, kinds):
            expected = " or ".join("None" if kind is type(None) else kind.__name__ for kind in kinds)
            raise ConfigError(f"{said} answered {answer!r}: expected {expected}")
        return answer


_TEXT, _MAYBE_TEXT, _FLAG = (str,), (str, type(None)), (bool,)


class CustomPolicy:
    """A `ReplicationPolicy`."""

    KEY = "replication.policy.class"

    def __init__(self, plugin: object, internal: InternalNames) -> None:
        require_methods(self.KEY, plugin, ("format_remote_topic", "topic_source", "upstream_topic"))
        self._plugin = _Plugin(self.KEY, plugin)
        self._internal = internal

    def format_remote_topic(self, source: str, topic: str) -> str:
        return str(self._plugin.ask("format_remote_topic", source, topic, kinds=_TEXT))

    def topic_source(self, topic: str) -> str | None:
        return self._plugin.ask("topic_source", topic, kinds=_MAYBE_TEXT)  # type: ignore[no-any-return]

    def upstream_topic(self, topic: str) -> str | None:
        return self._plugin.ask("upstream_topic", topic, kinds=_MAYBE_TEXT)  # type: ignore[no-any-return]

    def original_topic(self, topic: str) -> str:
        return str(self._plugin.ask_or("original_topic", topic, kinds=_TEXT, default=lambda t: find_original(self, t)))

    def is_heartbeats_topic(self, topic: str) -> bool:
        default = self.heartbeats_topic()
        return bool(
            self._plugin.ask_or(
                "is_heartbeats_topic", topic, kinds=_FLAG, default=lambda t: self.original_topic(t) == default
            )
        )

    def is_checkpoints_topic(self, topic: str) -> bool:
        default = self._internal.is_checkpoints_topic
        return bool(self._plugin.ask_or("is_checkpoints_topic", topic, kinds=_FLAG, default=default))

    def is_internal_topic(self, topic: str) -> bool:
        default = self._internal.is_internal_topic
        return bool(self._plugin.ask_or("is_internal_topic", topic, kinds=_FLAG, default=default))

    def heartbeats_topic(self) -> str:
        return str(self._plugin.ask_or("heartbeats_topic", kinds=_TEXT, default=lambda: HEARTBEATS))

    def offset_syncs_topic(self, other: str) -> str:
        default = self._internal.offset_syncs_topic
        return str(self._plugin.ask_or("offset_syncs_topic", other, kinds=_TEXT, default=default))

    def checkpoints_topic(self, source: str) -> str:
        default = self._internal.checkpoints_topic
        return str(self._plugin.ask_or("checkpoints_topic", source, kinds=_TEXT, default=default))


class CustomTopicFilter:
    KEY = "topic.filter.class"

    def __init__(self, plugin: object) -> None:
        require_methods(self.KEY, plugin, ("should_replicate_topic",))
        self._plugin = _Plugin(self.KEY, plugin)

    def should_replicate_topic(self, topic: str) -> bool:
        return bool(self._plugin.ask("should_replicate_topic", topic, kinds=_FLAG))


class CustomGroupFilter:
    KEY = "group.filter.class"

    def __init__(self, plugin: object) -> None:
        require_methods(self.KEY, plugin, ("should_replicate_group",))
        self._plugin = _Plugin(self.KEY, plugin)

    def should_replicate_group(self, group: str) -> bool:
        return bool(self._plugin.ask("should_replicate_group", group, kinds=_FLAG))


class CustomConfigPropertyFilter:
    KEY = "config.property.filter.class"

    def __init__(self, plugin: object) -> None:
        require_methods(self.KEY, plugin, ("should_replicate_config_property",))
        self._plugin = _Plugin(self.KEY, plugin)

    def should_replicate_config_property(self, name: str) -> bool:
        return bool(self._plugin.ask("should_replicate_config_property", name, kinds=_FLAG))

    def should_replicate_source_default(self, name: str) -> bool:
        """No, unless it says otherwise, as in Kafka's interface."""
        return bool(
            self._plugin.ask_or("should_replicate_source_default", name, kinds=_FLAG, default=lambda _name: False)
        )
