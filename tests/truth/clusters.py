"""Troubles of a whole cluster: it is away, it hangs, it refuses connections, it refuses the mirror's login."""

from __future__ import annotations

from tests.chaos.guard import remove_user
from tests.chaos.side import SOURCE, TARGET, Side
from tests.truth.trouble import Must, Trouble
from tests.truth.views import DOCTOR, FILE, LOG, PLAN, STATUS
from tests.truth.world import ALIASES, NEIGHBOUR, World

WAITING = 7  # records that the target lacks


class OfCluster(Trouble):
    """Nothing of the flow goes on. `lag`: of the whole flow, as the status file has it."""

    neighbours = ()
    where: str
    lag: str

    def __init__(self, where: str) -> None:
        self.where = where
        self.alias = ALIASES[where]
        self.name = f"{self.what} ({where})"
        self.lag = str(WAITING) if where == TARGET else "unknown"
        self.must = {
            FILE: Must("unreachable", self.lag),
            LOG: Must(),
            STATUS: Must("running" if where == SOURCE else ""),
            DOCTOR: Must("FAIL"),
            PLAN: Must(),
        }

    what: str

    def side(self, world: World) -> Side:
        return world.sides[self.where]

    def begin(self, world: World) -> None:
        self.harm(self.side(world))
        if self.where == TARGET:
            world.write(NEIGHBOUR, 0, WAITING)

    def harm(self, side: Side) -> None:
        raise NotImplementedError

    def check_well(self, world: World) -> None:
        world.write(NEIGHBOUR)
        world.await_copied(NEIGHBOUR, 1, 60)


class Away(OfCluster):
    what, row = "cluster away", "can't be reached"
    cure = r"start the broker\b"

    @property
    def cause(self) -> str:  # type: ignore[override]
        return rf"(cluster {self.alias}: )?no broker answers: .*Connection refused"

    def harm(self, side: Side) -> None:
        for broker, proxy in zip(side.brokers, side.proxies, strict=True):
            broker.kill()
            proxy.refuse()  # as its own port does now


class Refused(Away):
    """The brokers are well, and connections to them are refused."""

    what = "connections refused"

    def harm(self, side: Side) -> None:
        for proxy in side.proxies:
            proxy.refuse()


class Hung(OfCluster):
    what, row = "cluster hung", "did not answer within"
    patience_s = 40.0
    late = dict.fromkeys((FILE, LOG), "known when a request, asked every 5 s, and another connection have timed out")
    cure = r"see that [^;|]*the broker is well"

    @property
    def cause(self) -> str:  # type: ignore[override]
        return r"did not answer within"

    def harm(self, side: Side) -> None:
        for broker in side.brokers:
            broker.pause()


class LoginRefused(OfCluster):
    """The brokers know the mirror's user no more."""

    what, row = "login refused", "no broker lets us in"
    cure = r"check username and password in sasl\.jaas\.config"

    @property
    def cause(self) -> str:  # type: ignore[override]
        return r"refuses user 'mirror'"

    def harm(self, side: Side) -> None:
        remove_user(side.admin)
        for proxy in side.proxies:
            proxy.cut()


ALL = tuple(kind(where) for kind in (Away, Hung, Refused, LoginRefused) for where in (SOURCE, TARGET))
