"""What was found, as a table: a line a trouble, and under each view what it said and after how many seconds."""

from __future__ import annotations

from collections.abc import Iterable

from tests.truth.trouble import Row
from tests.truth.views import VIEWS

LONGEST = 150


def table(rows: Iterable[Row]) -> str:
    lines = []
    for row in rows:
        lines += [f"{row.trouble.name}", f"    cure   {row.cure!r}, well after {row.well_s:.1f} s"]
        for view in VIEWS:
            if view in row.trouble.must:
                said = row.said.get(view)
                took = f"{row.seconds[view]:4.1f} s" if view in row.seconds else "never"
                if said:
                    lines.append(f"    {view:7}{took:7}{said.state:10}lag {said.lag or '-':8}{said.text[:LONGEST]}")
        lines += [f"    {view:7}-      {why}" for view, why in row.trouble.silent.items()]
    return "\n".join(lines)
