"""A flow a->b from a few lines of a file, without brokers."""

from __future__ import annotations

from sparkmirror.config.mirror import parse_mirror_config
from sparkmirror.config.model import FlowConfig

HEAD = "clusters=a,b\na.bootstrap.servers=h:1\nb.bootstrap.servers=i:1\na->b.enabled=true\n"


def flow_of(more: str = "") -> FlowConfig:
    return parse_mirror_config(HEAD + more, "f").flows[0]
