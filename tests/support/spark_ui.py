"""What Spark says of a running mirror, by its UI's own service."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

from tests.support.kafka_client import await_condition
from tests.support.mirror_process import MirrorProcess


class SparkUi:
    """Of a mirror whose file has `spark.ui.enabled`."""

    def __init__(self, mirror: MirrorProcess) -> None:
        mirror.await_log("UI at http", 90)
        page = mirror.log().split("UI at ")[1].split()[0]
        await_condition(lambda: bool(mirror.status().get("spark")), "the status")
        self._api = f"{page}/api/v1/applications/{mirror.status()['spark']['application']}"

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self._api}/{path}", timeout=10) as answer:
            return json.load(answer)
