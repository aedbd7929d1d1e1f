"""The least rights of a mirror's user: each with what it is for and what is lost without it. Pure.

README shows this table, `doctor` asks by it, and tests/long/test_least_rights.py takes each right away. READ, WRITE,
DELETE and ALTER hold DESCRIBE as well, ALTER_CONFIGS holds DESCRIBE_CONFIGS: Kafka's own rule (AclOperation).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from sparkmirror.config.model import FlowConfig
from sparkmirror.topology.choose import choose_policy
from sparkmirror.topology.internal_topics import plan_heartbeats_topic, plan_offset_syncs_topic
from sparkmirror.topology.right import CLUSTER, GROUP, TOPIC, TRANSACTIONAL_ID, Right
from sparkmirror.topology.select import TopicSelector
from sparkmirror.topology.storage import Storage

SOURCE, TARGET = "source", "target"
OWN_IDS = "sparkmirror."

TO_WRITE_MARKERS = Right("ALTER", CLUSTER)  # CLUSTER_ACTION does it, too
TO_USE_TRANSACTIONS = Right("WRITE", TRANSACTIONAL_ID, OWN_IDS, is_prefix=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What the rights of one flow are on."""

    mirrored: tuple[str, ...]
    remotes: tuple[str, ...]
    groups: tuple[str, ...]
    claims: str
    progress: str
    status: str
    offset_map: str
    checkpoints: str
    heartbeats: str
    offset_syncs: str

    @classmethod
    def of(cls, flow: FlowConfig, topics: Collection[str], groups: Collection[str]) -> Names:
        """`topics`: of the source, those that are mirrored."""
        selector, policy, storage = TopicSelector.of(flow), choose_policy(flow), Storage.of(flow)
        return cls(
            mirrored=tuple(topics),
            remotes=tuple(dict.fromkeys(map(selector.remote_name, topics))),
            groups=tuple(groups),
            claims=storage.claims,
            progress=storage.progress,
            status=storage.status,
            offset_map=storage.offset_map,
            checkpoints=policy.checkpoints_topic(flow.source.alias),
            heartbeats=plan_heartbeats_topic(flow, policy).name,
            offset_syncs=plan_offset_syncs_topic(flow, policy).name,
        )


class Row(NamedTuple):
    """`on`: a field of `Names`, empty for the cluster and transactional ids. `when`: flows that use it.

    `stops`: without it nothing of what it is on is mirrored.
    """

    side: str
    use: str
    operations: tuple[str, ...]
    resource: str
    on: str
    without: str
    when: Callable[[FlowConfig], bool] = lambda _: True
    stops: bool = False

    def rights(self, names: Names) -> Iterator[Right]:
        on = getattr(names, self.on) if self.on else ""
        for name in (on,) if isinstance(on, str) else on:
            for operation in self.operations:
                if self.resource == TRANSACTIONAL_ID:
                    yield Right(operation, self.resource, OWN_IDS, is_prefix=True)
                else:
                    yield Right(operation, self.resource, name)


_ALL = ("CREATE", "READ", "WRITE")
_MAKE_AND_WRITE = ("CREATE", "WRITE")


def _never(_: FlowConfig) -> bool:
    """Another flow's, a command's, or in place of another right."""
    return False


def _follows_groups(flow: FlowConfig) -> bool:
    return flow.follows_groups


def _syncs_groups(flow: FlowConfig) -> bool:
    return flow.follows_groups and flow.groups.sync_offsets_interval_s is not None


def _syncs_configs(flow: FlowConfig) -> bool:
    return flow.sync.configs_interval_s is not None


def _syncs_acls(flow: FlowConfig) -> bool:
    return flow.sync.acls_interval_s is not None


def _beats(flow: FlowConfig) -> bool:
    return flow.heartbeats.interval_s is not None


def _keeps_offsets(flow: FlowConfig) -> bool:
    return flow.offsets_preserve != "never"


def _has_syncs_at(location: str) -> Callable[[FlowConfig], bool]:
    return lambda flow: flow.offset_syncs.topic.is_wanted and flow.offset_syncs.location == location


MARKERS_USE = "equal offsets where the source has holes, by markers (or CLUSTER_ACTION)"

TABLE = (
    Row(SOURCE, "copy", ("READ",), TOPIC, "mirrored", "unauthorized: the topic is not mirrored", stops=True),
    Row(
        SOURCE, "make remote topics, keep configurations alike", ("DESCRIBE_CONFIGS",), TOPIC, "mirrored",
        "topic-refused: no new topic is made; configurations are not kept alike", _syncs_configs, stops=True,
    ),
    Row(SOURCE, "keep rights (ACLs) alike", ("DESCRIBE",), CLUSTER, "", "rights are not kept alike", _syncs_acls),
    Row(
        SOURCE, "consumer groups", ("DESCRIBE",), GROUP, "groups",
        "the group gets no checkpoints, and its offsets are not synced", _follows_groups,
    ),
    Row(
        SOURCE, "offset syncs (location source)", _MAKE_AND_WRITE, TOPIC, "offset_syncs", "no offset syncs are written",
        _has_syncs_at("source"),
    ),
    Row(SOURCE, "heartbeats of B->A", _MAKE_AND_WRITE, TOPIC, "heartbeats", "none of these are written", _never),
    Row(
        SOURCE, "failback", ("READ",), GROUP, "groups", "failback does not move the group", _never,
    ),
    Row(TARGET, "lead the flow", _ALL, TOPIC, "claims", "nothing is mirrored", stops=True),
    Row(
        TARGET, "progress", _ALL, TOPIC, "progress",
        "nothing is mirrored; without WRITE alone only what has equal offsets from 0 on, and no groups are followed",
        stops=True,
    ),
    Row(
        TARGET, "facts for `status`", _ALL, TOPIC, "status",
        "`status` knows no facts and no times of groups; no groups are deleted",
    ),
    Row(
        TARGET, "the offset map, where offsets are translated", _ALL, TOPIC, "offset_map",
        "groups of translated topics are not followed, and progress of these topics is not written",
    ),
    Row(
        TARGET, "checkpoints", _ALL, TOPIC, "checkpoints", "no checkpoints are written, no groups are deleted",
        lambda flow: flow.checkpoints_topic.is_wanted,
    ),
    Row(TARGET, "heartbeats", _MAKE_AND_WRITE, TOPIC, "heartbeats", "none are written", _beats),
    Row(
        TARGET, "offset syncs (location target)", _MAKE_AND_WRITE, TOPIC, "offset_syncs", "no offset syncs are written",
        _has_syncs_at("target"),
    ),
    Row(TARGET, "copy", ("WRITE",), TOPIC, "remotes", "unauthorized: the topic is not mirrored", stops=True),
    Row(
        TARGET, "find positions by the log and its producers, commit groups' offsets", ("READ",), TOPIC, "remotes",
        "tail-unread: it is mirrored while the log ends where progress says, and stops (unauthorized) after a kill; "
        "offsets of groups are not committed",
    ),
    Row(TARGET, "make remote topics", ("CREATE",), TOPIC, "remotes", "topic-refused: no new topic is made", stops=True),
    Row(TARGET, "add partitions", ("ALTER",), TOPIC, "remotes", "partition-count: new partitions are not mirrored"),
    Row(
        TARGET, "keep configurations alike, raise limits for a record", ("ALTER_CONFIGS",), TOPIC, "remotes",
        "configurations are not kept alike", _syncs_configs,
    ),
    Row(
        TARGET, "logs that begin above 0, `sync.log.start`, `sync.topic.deletes`", ("DELETE",), TOPIC, "remotes",
        "offsets of a log that begins above 0 are translated; nothing is deleted",
        lambda flow: _keeps_offsets(flow) or flow.sync.deletes,
    ),
    Row(
        TARGET, MARKERS_USE, ("ALTER",), CLUSTER, "",
        "markers-refused: empty transactions are used, which is slow, else offsets are translated", _keeps_offsets,
    ),
    Row(TARGET, "keep rights (ACLs) alike", ("ALTER",), CLUSTER, "", "rights are not kept alike", _syncs_acls),
    Row(
        TARGET, "empty transactions, where ALTER on the cluster is not given", ("WRITE",), TRANSACTIONAL_ID, "",
        "markers-refused: topics with holes have translated offsets", _never,
    ),
    Row(
        TARGET, "`sync.group.offsets`, failover", ("READ",), GROUP, "groups", "offsets of the group are not committed",
        _syncs_groups,
    ),
    Row(
        TARGET, "`sync.group.deletes`", ("DELETE",), GROUP, "groups", "the group stays",
        lambda flow: flow.groups.sync_deletes,
    ),
)  # fmt: skip


def plan_rights(flow: FlowConfig, names: Names) -> Iterator[tuple[Row, Right]]:
    """What a run of this flow needs."""
    for row in TABLE:
        if row.when(flow):
            yield from ((row, right) for right in row.rights(names))


_WORDS = {
    "mirrored": "topics that are mirrored, `heartbeats` among them",
    "remotes": "remote topics, `A.*`",
    "groups": "groups that are followed",
    "claims": "topic `mm2-claims.A.internal`",
    "progress": "topic `mm2-offsets.A.internal`",
    "status": "topic `mm2-status.A.internal`",
    "offset_map": "topic `mm2-offset-map.A.internal`",
    "checkpoints": "topic `A.checkpoints.internal`",
    "heartbeats": "topic `heartbeats`",
    "offset_syncs": "topic `mm2-offset-syncs.{other}.internal`",
    CLUSTER: "cluster",
    TRANSACTIONAL_ID: f"transactional ids `{OWN_IDS}*`",
}


def render_table() -> str:
    """As README has it, of a flow A->B."""
    lines = ["| on the | to | operations | resource | without |", "|---|---|---|---|---|"]
    for row in TABLE:
        operations = ", ".join(row.operations)
        resource = _WORDS[row.on or row.resource].format(other="B" if row.side == SOURCE else "A")
        lines.append(f"| {row.side} | {row.use} | {operations} | {resource} | {row.without} |")
    return "\n".join(lines)
