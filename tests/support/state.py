"""A flow whose internal topics are its own, so that they can be lost, and the commands that keep its state."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from sparkmirror.cli.main import app
from sparkmirror.topology.storage import Storage
from tests.conftest import Pair
from tests.support.flows import only_flow, write_flow
from tests.support.group_rounds import KEYS
from tests.support.kafka_client import await_condition, delete_topic, read_all, topics
from tests.support.offset_maps import assert_exact, open_maps


@dataclass(frozen=True)
class Stage:
    """`file`: the flow's; `state`: where its state is kept."""

    pair: Pair
    file: Path
    state: Path

    @property
    def storage(self) -> Storage:
        return Storage.of(only_flow(self.file))

    @property
    def internal(self) -> list[str]:
        """All of its topics that are there now."""
        s = self.storage
        mine = {s.claims, s.progress, s.status, s.offset_map, f"{s.source}.checkpoints.internal"}
        return sorted(mine & topics(self.pair.target))

    def run(self, verb: str, *arguments: str) -> tuple[int, str]:
        words = ["--out" if verb == "export" else "--in", str(self.state), *arguments]
        done = CliRunner().invoke(app, ["state", verb, str(self.file), *words])
        return done.exit_code, done.output

    def document(self, *arguments: str) -> dict[str, Any]:
        done = CliRunner().invoke(
            app, ["state", "import", str(self.file), "--in", str(self.state), "--json", *arguments]
        )
        return dict(json.loads(done.stdout), code=done.exit_code)

    def lose_topics(self) -> None:
        for name in self.internal:
            delete_topic(self.pair.target, name)
        await_condition(lambda: not self.internal, "the internal topics to be gone")

    def write_file(self, names: str, **keys: str) -> Path:
        more = {"lease.seconds": "1"} | KEYS | {key.replace("_", "."): value for key, value in keys.items()}
        return write_flow(self.file.parent, self.pair.source, self.pair.target, names, more)

    def assert_all_there(self, topic: str) -> None:
        """Each record once, in order, and the map exact for every offset."""
        source = read_all(self.pair.source, topic)
        target = read_all(self.pair.target, f"{self.storage.source}.{topic}")
        with open_maps(self.file, self.pair.target) as maps:
            for partition, records in source.items():
                assert [r.value for r in target[partition]] == [r.value for r in records]
                assert_exact(maps[topic, partition], records, target[partition])
