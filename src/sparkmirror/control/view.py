"""What a flow's keeper has found, for those who work beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sparkmirror.control.discovery import Landscape, Place
from sparkmirror.control.lag import Ends
from sparkmirror.offsets.accepts import Accepted
from sparkmirror.offsets.halts import Halt


@dataclass(slots=True)
class View:
    """Replaced part by part. `halt`: somebody wants nothing to be mirrored. `accepted`: by whom what stops a partition
    is accepted.

    `ends`: as last heard; `heard_at`: when the source was, `measured_at`: when the keeper last looked, both by the
    monotonic clock. `problem_state`: the problem in a word; `silent`: the cluster that does not answer, if that is it.
    `rival`: what is to be said of a MirrorMaker 2 that runs on the flow.
    """

    landscape: Landscape | None = None
    ends: dict[Place, Ends] | None = None
    leads: bool = False
    generation: int = -1
    heard_at: float = 0.0
    measured_at: float = 0.0
    problem: str = ""
    problem_state: str = ""
    silent: str = ""
    rival: str = ""
    halt: Halt | None = None
    accepted: Mapping[Place, Accepted] = field(default_factory=dict)

    @property
    def is_active(self) -> bool:
        """Whether this driver is the one to copy, and copying is wanted."""
        return self.leads and self.halt is None and not self.rival
