"""A Connect cluster of one worker: its group and its topic of configurations say what a test wants."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sparkmirror.config.model import FlowConfig
from sparkmirror.control.address import flow_address
from sparkmirror.control.rival import RivalWatch
from sparkmirror.net.cluster import Cluster
from tests.support.connect_messages import Tasks, assignment, metadata
from tests.support.flows import only_flow, write_flow
from tests.support.group_members import PlantedMember
from tests.support.kafka_client import create_topic, produce

MIRROR = "org.apache.kafka.connect.mirror.MirrorSourceConnector"


@dataclass(frozen=True)
class Scene:
    """A flow, and a Connect cluster of one worker on its target: its group and its topic are called as the test."""

    name: str
    flow: FlowConfig
    source: str
    target: str
    watch: RivalWatch
    member: PlantedMember

    @property
    def connector(self) -> str:
        return f"mirror-{self.name}"

    @property
    def said(self) -> str:
        where = f"(connector {self.connector} in group {self.name} of cluster B)"
        return f"a MirrorMaker 2 still mirrors {self.flow.name} {where}, and both would write each record; stop it"

    def hold(self, tasks: Tasks | None = None, *, had: Tasks | None = None, **more: object) -> None:
        """The worker joins and is given tasks."""
        self.member.join(metadata(None if had is None else assignment(had)))
        given = {self.connector: [-1, 0]} if tasks is None else tasks
        self.member.take(assignment(given, **more))  # type: ignore[arg-type]

    def keep(
        self, changes: Mapping[str, str | None] | None = None, *, topic: str = "", config: str = "compact"
    ) -> None:
        """A topic with the connector's configuration, and what Connect writes beside it. None: a key is left out."""
        topic = topic or self.name
        create_topic(self.target, topic, config={"cleanup.policy": config})
        said = {
            "connector.class": MIRROR,
            "source.cluster.alias": self.flow.source.alias,
            "target.cluster.alias": "B",
            "source.cluster.bootstrap.servers": self.source,
            "target.cluster.bootstrap.servers": self.target,
        } | dict(changes or {})
        value = json.dumps({"properties": {key: text for key, text in said.items() if text is not None}}).encode()
        self.write(
            topic, {"session-key": b"{}", f"connector-{self.connector}": value, f"commit-{self.connector}": b"{}"}
        )

    def write(self, topic: str, records: Mapping[str, bytes | None]) -> None:
        produce(self.target, topic, ({"key": key.encode(), "value": value} for key, value in records.items()))


@contextmanager
def connect_scene(source: str, target: str, name: str, folder: Path) -> Iterator[Scene]:
    flow = only_flow(write_flow(folder, source, target, name))
    with Cluster(flow_address(flow.source, flow)) as here, Cluster(flow_address(flow.target, flow)) as there:
        scene = Scene(name, flow, source, target, RivalWatch(flow, here, there), PlantedMember(there, name))
        yield scene
        scene.member.leave()
