"""What the topics are called in which a flow keeps what must not be forgotten, all on its target. Pure.

    mm2-claims.<source>.internal     producer ids, who leads, what was done to remote topics; ours alone
    mm2-offsets.<source>.internal    progress; `offset.storage.topic` names another
    mm2-status.<source>.internal     facts; `status.storage.topic` names another
    mm2-offset-map.<source>.internal where records stand whose offsets differ; ours alone

`replication.internal.topic.prefix` stands in place of mm2. Several flows may share a topic: what they write names its
source.
"""

from __future__ import annotations

from dataclasses import dataclass

from sparkmirror.config.model import FlowConfig

PREFIX = "mm2"
CONNECTOR = "MirrorSourceConnector"
# Connect's defaults.
PROGRESS_PARTITIONS, STATUS_PARTITIONS = 25, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """`source`: the alias of the flow's source. `connector`: what its progress is kept under beside that."""

    source: str
    claims: str
    progress: str
    status: str
    offset_map: str
    progress_partitions: int = PROGRESS_PARTITIONS
    status_partitions: int = STATUS_PARTITIONS
    connector: str = CONNECTOR

    @classmethod
    def named(cls, source: str, prefix: str = PREFIX) -> Storage:
        return cls(
            source=source,
            claims=f"{prefix}-claims.{source}.internal",
            progress=f"{prefix}-offsets.{source}.internal",
            status=f"{prefix}-status.{source}.internal",
            offset_map=f"{prefix}-offset-map.{source}.internal",
        )

    @classmethod
    def of(cls, flow: FlowConfig) -> Storage:
        """In MirrorMaker 2's own files the connector has one name, whatever they say; in Connect its file names it."""
        usual = cls.named(flow.source.alias, flow.naming.internal_prefix)
        return cls(
            source=usual.source,
            claims=usual.claims,
            progress=flow.storage.progress_topic or usual.progress,
            status=flow.storage.status_topic or usual.status,
            offset_map=usual.offset_map,
            progress_partitions=flow.storage.progress_partitions,
            status_partitions=flow.storage.status_partitions,
            connector=flow.connector_name if flow.of_connector else CONNECTOR,
        )
