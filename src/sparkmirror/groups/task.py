"""What a task for consumer groups is told, and what it tells: these cross from driver to executors and back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NamedTuple

from sparkmirror.groups.names import Names
from sparkmirror.net.address import ClusterAddress, read_address, to_fields
from sparkmirror.offsets.group_marks import Remotes
from sparkmirror.topology.storage import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTask:
    """Some of a flow's groups. `emit`: checkpoints; `sync`: commits on the target. `emit_again_ms`: checkpoints of that
    age are emitted again; None: they do not expire.

    `storage`: where the flow keeps its progress, and `other_way` the flow that brings the target's topics here.
    `claims_end`: what the claim topic says of merged topics up to there stands in `names`.
    """

    flow: str
    source: ClusterAddress
    target: ClusterAddress
    groups: tuple[str, ...]
    names: Names
    storage: Storage
    other_way: Storage
    checkpoints_topic: str
    emit: bool
    sync: bool
    rewind: bool
    emit_again_ms: int | None = None
    claims_end: int = 0

    def to_json(self) -> str:
        return json.dumps(to_fields(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> GroupTask:
        fields = json.loads(text)
        return cls(
            **fields
            | {
                "source": read_address(fields["source"]),
                "target": read_address(fields["target"]),
                "groups": tuple(fields["groups"]),
                "names": Names(**fields["names"]),
                "storage": Storage(**fields["storage"]),
                "other_way": Storage(**fields["other_way"]),
            }
        )


class GroupReport(NamedTuple):
    """What became of a group in one round.

    `mirrored`: partitions of it that are mirrored; `lagging`: of those, where it has read more than was copied yet.
    `unknown`: what can't be told of where it stands, `unkept`: why checkpoints are missing, `unsynced`: commits.
    `topics`: source topics in which it stands, with their ids, as far as they are those that were mirrored; `remotes`:
    topics of the target, with theirs, and the partitions in which it has a place.
    """

    group: str
    mirrored: int = 0
    lagging: int = 0
    emitted: int = 0
    committed: int = 0
    unknown: str = ""
    unkept: str = ""
    unsynced: str = ""
    topics: tuple[tuple[str, str], ...] = ()
    remotes: Remotes = ()

    @property
    def why(self) -> str:
        """All that could not be done."""
        return _join(self.unknown, self.unkept, self.unsynced)

    @property
    def why_unkept(self) -> str:
        return _join(self.unknown, self.unkept)

    @property
    def why_unsynced(self) -> str:
        return _join(self.unknown, self.unsynced)


def _join(*reasons: str) -> str:
    return "; ".join(filter(None, reasons))
