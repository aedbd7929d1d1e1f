"""The leases of a round: those of every flow's partitions, and the heartbeats that go with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sparkmirror.control.flow import FlowKeeper
from sparkmirror.control.heartbeat_pairs import HeartbeatPairs
from sparkmirror.control.ledger import Ledger
from sparkmirror.control.once import Hints, OnceGoal
from sparkmirror.copy.lease import Lease


class RoundPlanner:
    """`goal`: where each partition ends, of a run that has an end; it emits no heartbeats."""

    def __init__(
        self, keepers: Sequence[FlowKeeper], ledger: Ledger, pairs: HeartbeatPairs, goal: OnceGoal | None
    ) -> None:
        self._keepers = keepers
        self._ledger = ledger
        self._pairs = pairs
        self._goal = goal

    def plan(self, number: int, hints: Hints, count_tasks: Callable[[FlowKeeper], int]) -> list[Lease]:
        """Of flows on the batch way."""
        leases = [
            lease
            for keeper in self._keepers
            if not keeper.flow.by_rows
            for lease in self.plan_flow(keeper, number, hints, count_tasks(keeper))
        ]
        return leases if self._goal else self._with_heartbeats(leases, number)

    def plan_flow(self, keeper: FlowKeeper, number: int, hints: Hints, tasks: int) -> list[Lease]:
        flow = keeper.flow
        return keeper.plan(
            tasks,
            number,
            hints=hints.get(flow.name, {}),
            weights=self._ledger.traffic(flow.name),
            troubled=self._ledger.troubled(flow.name),
            stop_at=self._goal.stop_at(keeper, hints) if self._goal and not flow.by_rows else None,
        )

    def _with_heartbeats(self, leases: list[Lease], number: int) -> list[Lease]:
        """The round's first lease carries them; where nothing is to be copied, one that carries nothing else."""
        own = (keeper.plan_heartbeat() for keeper in self._keepers)
        heartbeats = (*filter(None, own), *self._pairs.ready)
        empty = (keeper.plan_empty(number) for keeper in self._keepers)
        first = leases[0] if leases else next(filter(None, empty), None)
        return [replace(first, heartbeats=heartbeats), *leases[1:]] if heartbeats and first else leases
