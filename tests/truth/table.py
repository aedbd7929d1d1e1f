"""What was found, as a table: under each trouble the views, when each was asked and had answered, and what it said.

And docs/troubles.md, which says the same in words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tests.truth.trouble import Row, Trouble
from tests.truth.views import VIEWS

LONGEST = 150
DOCUMENT = Path(__file__).parents[2] / "docs" / "troubles.md"
STAR = "*"


class DocRow(NamedTuple):
    """A line of one of the tables."""

    sees: str
    means: str
    cure: str

    @property
    def names(self) -> frozenset[str]:
        return frozenset(re.findall("`([^`]*)`", self.sees))

    @property
    def is_tried(self) -> bool:
        return self.sees.endswith(STAR)


def read_rows() -> list[DocRow]:
    cells = [line.strip("|").split("|") for line in DOCUMENT.read_text().splitlines() if line.startswith("| `")]
    return [DocRow(*(cell.strip() for cell in row)) for row in cells if not row[1].startswith((" the running", " all"))]


def find_row(trouble: Trouble, rows: Iterable[DocRow]) -> DocRow:
    (found,) = [row for row in rows if trouble.shown_as in row.names]
    return found


def table(rows: Iterable[Row]) -> str:
    lines = []
    for row in rows:
        lines += [f"{row.trouble.name}", f"    cure   {row.cure!r}, well after {row.well_s:.1f} s"]
        for view in VIEWS:
            if view in row.trouble.must and (said := row.said.get(view)):
                took = f"{row.seconds[view]:4.1f}, {row.answered[view]:4.1f} s" if view in row.seconds else "never"
                lines.append(f"    {view:7}{took:14}{said.state:10}lag {said.lag or '-':8}{said.text[:LONGEST]}")
        late = {**row.trouble.late, **row.trouble.silent}
        lines += [f"    {view:7}later: {why}" for view, why in late.items()]
    return "\n".join(lines)
