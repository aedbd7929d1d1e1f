"""What became of each fault: a file of JSON lines that grows from run to run. The last line of a step counts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

GOOD, LATE, UNEQUAL, UNNAMED, STUCK, BROKEN = "good", "late", "unequal", "unnamed", "stuck", "broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Of one step of a plan. `recover_s`: None if nothing was copied any more.

    verdict   good: all compared equal, in time      late: equal, but too late
              unequal: lost, twice, moved, foreign   unnamed: the mirror did not say what it must
              stuck: it did not copy again           broken: the fault itself could not be made
    """

    plan: str
    index: int
    world: str
    kinds: tuple[str, ...]
    compared: int
    lost: int
    twice: int
    recover_s: float | None
    limit_s: float
    took_s: float
    verdict: str
    said: str = ""

    @property
    def name(self) -> str:
        return "+".join(self.kinds)

    @property
    def is_good(self) -> bool:
        return self.verdict == GOOD


class ResultFile:
    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, result: Result) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            file.write(json.dumps(asdict(result)) + "\n")

    def read(self) -> list[Result]:
        """In the order of the file; a line that was cut off in the middle of its writing is left out."""
        if not self._path.exists():
            return []
        found: dict[tuple[str, int], Result] = {}
        for line in self._path.read_text().splitlines():
            try:
                fields = json.loads(line)
            except ValueError:
                continue
            result = Result(**fields | {"kinds": tuple(fields["kinds"])})
            found.pop((result.plan, result.index), None)
            found[result.plan, result.index] = result
        return list(found.values())

    def done(self, plan: str) -> set[int]:
        return {result.index for result in self.read() if result.plan == plan}


def failures(results: Sequence[Result]) -> list[Result]:
    return [result for result in results if not result.is_good]
