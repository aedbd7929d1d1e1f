"""How much of what is to be copied stands at the end of the target already: a predecessor wrote it and did not say so.

    target   ... a b c d e
    source             d e f g      from where its progress was last written down
                       ^^^ overlap of two: it goes on with f

A MirrorMaker 2 that was killed has written more than its offsets topic says. Whatever overlap is found, nothing is
lost: all of it stands in the target, in this order.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence


def longest_overlap(written: Sequence[Hashable], coming: Sequence[Hashable]) -> int:
    """The largest n so that the last n of `written` are the first n of `coming`."""
    borders = _borders(coming)
    matched = 0
    for item in written[-len(coming) :] if coming else ():
        while matched and (matched == len(coming) or coming[matched] != item):
            matched = borders[matched - 1]
        if coming[matched] == item:
            matched += 1
    return matched


def _borders(items: Sequence[Hashable]) -> list[int]:
    """For each beginning of `items`, how long its longest proper beginning is that also ends it."""
    borders = [0] * len(items)
    matched = 0
    for at in range(1, len(items)):
        while matched and items[at] != items[matched]:
            matched = borders[matched - 1]
        if items[at] == items[matched]:
            matched += 1
        borders[at] = matched
    return borders
