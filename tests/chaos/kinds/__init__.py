"""Every kind of fault, by its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.chaos.fault import Kind
from tests.chaos.kinds import brokers, clock, drivers, internal, network, processes, rights, spark, storage, topics

ROOMS = (processes, drivers, spark, brokers, network, storage, topics, rights, internal, clock)
KINDS: dict[str, Kind] = {kind.name: kind for room in ROOMS for kind in room.KINDS}


def available(names: Sequence[str], say: Callable[[str], None]) -> list[Kind]:
    """Those that can be made on this machine; of the others it is said why not."""
    found = []
    for name in names:
        if why := KINDS[name].missing():
            say(f"left out: {name} ({why})")
        else:
            found.append(KINDS[name])
    return found
