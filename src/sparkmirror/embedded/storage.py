"""The folder that a KRaft node finds: formatted before its first start."""

from __future__ import annotations

import base64
import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path

from sparkmirror.embedded.settings import Node, properties_text


def format_nodes(nodes: Sequence[Node], bootstrap_checkpoint: Path) -> None:
    """All nodes of a cluster, under the cluster id of those that an earlier run formatted."""
    known = [formatted_cluster_id(node.data) for node in nodes]
    cluster_id = next((found for found in known if found), None) or new_id()
    for node in nodes:
        format_storage(node, cluster_id, bootstrap_checkpoint)


def format_storage(node: Node, cluster_id: str, bootstrap_checkpoint: Path) -> None:
    """What `kafka-storage.sh format` writes, without a JVM. Leaves a formatted folder as it is.

    `bootstrap.checkpoint` holds the feature levels (group.version, transaction.version, ...) and is the same
    for every node of a Kafka version, so a real StorageTool made it once. Without it a 4.x node would start
    with all features but metadata.version at level 0: no transactions of version 2, no new group protocol.
    """
    node.data.mkdir(parents=True, exist_ok=True)
    meta = node.data / "meta.properties"
    if meta.exists():
        return
    shutil.copyfile(bootstrap_checkpoint, node.data / "bootstrap.checkpoint")
    content = {"version": "1", "cluster.id": cluster_id, "node.id": str(node.id), "directory.id": new_id()}
    meta.write_text(properties_text(content))


def formatted_cluster_id(data: Path) -> str | None:
    """The cluster id of a folder that an earlier run formatted."""
    meta = data / "meta.properties"
    if not meta.exists():
        return None
    pairs = (line.partition("=") for line in meta.read_text().splitlines())
    return next((value for key, _, value in pairs if key == "cluster.id"), None)


def new_id() -> str:
    """Kafka's form of a UUID: 22 characters of URL-safe base64, never beginning like an option with '-'."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text
