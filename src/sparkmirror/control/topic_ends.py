"""The end of remote topics whose source topics are gone, where `sync.topic.deletes.enabled` asks for it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace

from sparkmirror.control.flow_tools import FlowTools
from sparkmirror.control.mixed_topics import find_kept_for_others
from sparkmirror.net.cluster import Metadata
from sparkmirror.net.log import format_topic_id
from sparkmirror.net.topics import delete_topic, topic_ids
from sparkmirror.offsets.topic_memory import MadeTopic
from sparkmirror.sync.deletes import fetch_ends, find_shared, is_gone, plan_deletes

log = logging.getLogger("sparkmirror.upkeep")


class TopicEnds:
    """One flow's. Blocking; for the keeper's thread."""

    def __init__(self, tools: FlowTools) -> None:
        self._tools = tools
        self._missed: set[str] = set()  # remote topics whose source was gone at the last look

    def sync(self, here: Metadata, there: Metadata, deleted: dict[str, str]) -> None:
        """Only what was gone at the last look, too: by now nobody copies it any more. `deleted`: is added to."""
        ids = {topic.name: format_topic_id(topic.topic_id) for topic in there.topics.values()}
        made = self._tools.claims.memory.made_from(here.cluster_id, ids)
        self._note_seen(made, here)
        sources = {remote: one.source for remote, one in made.items()}
        gone = plan_deletes(sources, here.topics.keys(), there.topics.keys(), self._tools.selector)
        due = {gone[remote]: remote for remote in gone.keys() & self._missed}
        kept = self._find_kept(due, made, ids, there)
        for topic, remote in due.items():
            why = kept.get(topic, "")
            said = f"topic {remote} is not deleted, though {topic} is gone: {why}" if why else ""
            self._tools.say(f"end of {remote}", said)
            if not why and is_gone(self._tools.source, topic, here.cluster_id):
                self._tools.guard.require_lead()
                delete_topic(self._tools.target, remote, ids[remote])
                deleted[topic] = ids[remote]
                log.info("flow %s: topic %s deleted, as %s is gone", self._tools.flow.name, remote, topic)
        self._missed = set(gone)

    def _find_kept(
        self, due: Mapping[str, str], made: Mapping[str, MadeTopic], ids: Mapping[str, str], there: Metadata
    ) -> dict[str, str]:
        if not due:
            return {}
        mutual, memory = self._tools.flow.naming.is_mutual, self._tools.claims.memory
        last_ids = {topic: made[remote].source_id for topic, remote in due.items()}
        ends = fetch_ends(self._tools.target, there, due.values())
        kept = self._tools.guard.find_kept(last_ids, due, ends)
        kept |= find_kept_for_others(due, ids, memory)
        return kept | find_shared(due, self._tools.selector, memory.merged, mutual=mutual)

    def _note_seen(self, made: Mapping[str, MadeTopic], here: Metadata) -> None:
        """Source topics as they are, for the time when they are gone."""
        ids = topic_ids(here.topics.values())
        news = {
            remote: replace(one, source_id=ids[one.source])
            for remote, one in made.items()
            if ids.get(one.source, one.source_id) != one.source_id
        }
        if news:
            self._tools.guard.require_lead()
            self._tools.claims.note_made(news)
