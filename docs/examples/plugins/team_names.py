"""A replication policy and a topic filter of one's own.

    replication.policy.class = team_names.TeamPolicy
    topic.filter.class = team_names.NotSecret
    plugin.path = /path/to/the/folder/of/this/file

A policy needs the first three of these methods; the other two are as in MirrorMaker 2 unless they are given. Java's
spelling (`formatRemoteTopic`) is taken, too. `configure` is optional and gets the flow's settings.
"""

from __future__ import annotations

MARK = "--from-"


class TeamPolicy:
    """`orders` of cluster `eu` becomes `orders--from-eu`: consumers find it beside their own `orders`."""

    def format_remote_topic(self, source: str, topic: str) -> str:
        return topic + MARK + source

    def topic_source(self, topic: str) -> str | None:
        _, mark, source = topic.rpartition(MARK)
        return source if mark else None

    def upstream_topic(self, topic: str) -> str | None:
        upstream, mark, _ = topic.rpartition(MARK)
        return upstream if mark else None

    def original_topic(self, topic: str) -> str:
        return topic.partition(MARK)[0]

    def is_internal_topic(self, topic: str) -> bool:
        return topic.startswith(("__", "mm2-", "internal-")) or topic.endswith(".internal")


class NotSecret:
    """All topics but those that say they are secret, and those of the teams that the file leaves out."""

    def configure(self, settings: dict[str, str]) -> None:
        self._left_out = tuple(team.strip() for team in settings["topics.exclude"].split(","))

    def should_replicate_topic(self, topic: str) -> bool:
        return "secret" not in topic and topic.partition("-")[0] not in self._left_out
