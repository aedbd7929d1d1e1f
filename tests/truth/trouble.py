"""A kind of trouble, and the run of one: it comes, five views say so, its printed cure is done, and all is well."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from confluent_kafka import KafkaException

from sparkmirror.topology.fact import WHOLE_FLOW
from tests.chaos.side import await_true
from tests.truth import views
from tests.truth.hands import Hands
from tests.truth.views import DOCTOR, FILE, LOG, PLAN, STATUS, Said
from tests.truth.world import NEIGHBOUR, Place, World

WITHIN_S = 5.0
WELL_S = 40.0
LOOK_EVERY_S = 0.05

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Must:
    """What a view must say: `state` and `lag` as patterns; both empty where it does not speak of them."""

    state: str = ""
    lag: str = ""


class Trouble:
    """`cause` and `cure` are patterns: each view's text holds both. What is printed of the cure is carried out.

    `must`: by view. `late`: views that need longer, with the reason. `silent`: views that can't know, with the reason.
    """

    name: str
    row: str = ""  # how its row in docs/troubles.md begins, where that is not its name
    cause: str
    cure: str
    must: Mapping[str, Must]
    place: Place = WHOLE_FLOW
    late: Mapping[str, str] = {}
    silent: Mapping[str, str] = {}
    places: Mapping[str, Place] = {}  # of views that speak of another place
    neighbours: Sequence[str] = (NEIGHBOUR,)
    is_whole_topic = False
    begins_the_log = False  # with a new driver
    patience_s = 15.0

    def prepare(self, world: World) -> None:
        """Before the mirror starts."""

    def settle(self, world: World) -> None:
        """When the mirror runs, and before anything is done."""

    def begin(self, world: World) -> None:
        """Returns when it can be known."""
        raise NotImplementedError

    @property
    def shown_as(self) -> str:
        """What an operator looks for in docs/troubles.md."""
        return self.row or self.name.partition(" ")[0]

    def place_in(self, view: str) -> Place:
        return self.places.get(view, self.place)

    def check_neighbours(self, world: World) -> None:
        """What has nothing to do with it goes on."""
        for topic in self.neighbours:
            world.write(topic)
            world.await_copied(topic, 1, WITHIN_S + 5)

    def is_well(self, said: Said) -> bool:
        """By the status file."""
        return is_well(said, self.place)

    def check_well(self, world: World) -> None:
        """Beside what the views say."""


@dataclass
class Row:
    """What was found. `seconds`: from when it could be known until a view that was asked then said so; `answered`:
    until it had said so. Commands take their time to start, and more on a busy machine.
    """

    trouble: Trouble
    said: dict[str, Said] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    answered: dict[str, float] = field(default_factory=dict)
    cure: str = ""
    well_s: float = -1.0
    faults: list[str] = field(default_factory=list)
    began: float = 0.0
    log_from: int = 0


def told_by(**must: Must) -> dict[str, Must]:
    """By the names of views."""
    return must


def must_of_partition(lag: int, state: str = "stopped") -> dict[str, Must]:
    """Neither the log nor `doctor` and `plan` speak of a partition's lag."""
    return {
        FILE: Must(state, str(lag)),
        LOG: Must(state),
        STATUS: Must(state, str(lag)),
        DOCTOR: Must("FAIL"),
        PLAN: Must("refused"),
    }


class Stage:
    """Runs troubles in a world, one or several at once, and writes down what it finds."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.hands = Hands(world)
        self.rows: list[Row] = []

    def play(self, *troubles: Trouble) -> None:
        """Each is brought about and seen; then the doctor is asked about all; then each is cured."""
        if not troubles:
            return
        log_from = len(self.world.log())
        rows = [self._begin(trouble, log_from) for trouble in troubles]
        self._ask_doctor(rows)
        for row in rows:
            self._cure(row)

    # -- it comes, and is said

    def _begin(self, trouble: Trouble, log_from: int) -> Row:
        row = Row(trouble, log_from=0 if trouble.begins_the_log else log_from)
        self.rows.append(row)
        trouble.begin(self.world)
        row.began = time.monotonic()
        wanted = [view for view in trouble.must if view != DOCTOR]
        asking = [threading.Thread(target=self._ask, args=(row, view)) for view in wanted if view in views.COMMANDS]
        for thread in asking:
            thread.start()
        own = [view for view in wanted if view not in views.COMMANDS]
        until = row.began + trouble.patience_s
        while own and time.monotonic() < until:
            own = [view for view in own if not self._note(row, view, self._read(row, view), time.monotonic())]
            time.sleep(LOOK_EVERY_S)
        for thread in asking:
            thread.join()
        self._check_neighbours(row)
        log.info("%s: %s", trouble.name, {view: round(at, 1) for view, at in row.seconds.items()})
        for view, said in row.said.items():
            if view not in row.seconds:
                log.info("    %s: %s: %s", view, why_wrong(trouble, view, said), said)
        return row

    def _read(self, row: Row, view: str) -> Said:
        if view == FILE:
            return views.read_file(self.world.running.status_file, row.trouble.place_in(view))
        return views.read_log(self.world.log()[row.log_from :], row.trouble.place_in(view))

    def _ask(self, row: Row, view: str) -> None:
        until = row.began + row.trouble.patience_s
        while time.monotonic() < until:
            asked = time.monotonic()
            try:
                said = views.read_command(view, views.ask(view, self.world), row.trouble.place_in(view))
            except Exception as error:  # a thread's error would be lost
                row.faults.append(f"{view}: {error!r}")
                return
            if self._note(row, view, said, asked):
                return

    def _note(self, row: Row, view: str, said: Said, at: float) -> bool:
        """Whether it says what it must."""
        row.said[view] = said
        if why_wrong(row.trouble, view, said):
            return False
        row.seconds[view], row.answered[view] = at - row.began, time.monotonic() - row.began
        return True

    def _ask_doctor(self, rows: Sequence[Row]) -> None:
        """Once for all: it starts Spark, which takes ten seconds; what it finds it finds at the beginning."""
        wanted = [row for row in rows if DOCTOR in row.trouble.must]
        if wanted:
            asked = time.monotonic()
            answer = views.ask(DOCTOR, self.world)
            for row in wanted:
                said = views.read_command(DOCTOR, answer, row.trouble.place_in(DOCTOR))
                self._note(row, DOCTOR, said, asked)

    def _check_neighbours(self, row: Row) -> None:
        try:
            row.trouble.check_neighbours(self.world)
        except AssertionError as error:
            row.faults.append(f"neighbours: {error}")

    # -- it is cured

    def _cure(self, row: Row) -> None:
        cures = {view: found for view in row.trouble.must if (found := cure_in(row, view))}
        if not cures:
            row.faults.append("no view prints a cure")
            return
        row.cure = next(iter(cures.values()))
        self._check_still(row)
        began = time.monotonic()
        try:
            self.hands.carry_out(row.cure, row.trouble, " ".join(said.text for said in row.said.values()))
            self._await_well(row)
            row.well_s = time.monotonic() - began
        except (AssertionError, KafkaException) as error:
            row.faults.append(f"after the cure: {error}")

    def _check_still(self, row: Row) -> None:
        """What was said is said all the time until then, and nobody said that it was over."""
        if FILE in row.seconds and (wrong := why_wrong(row.trouble, FILE, self._read(row, FILE))):
            row.faults.append(f"file, before the cure: {wrong}")
        topic, partition = row.trouble.place
        _, _, since = self.world.log()[row.log_from :].partition(f"{topic}-{partition} stopped")
        if topic and f"{topic}-{partition} goes on" in since:
            row.faults.append("log: it goes on before the cure")

    def _await_well(self, row: Row) -> None:
        """The views say so, and the next records are copied."""
        trouble, world = row.trouble, self.world
        trouble.check_well(world)
        file, place = world.running.status_file, trouble.place
        await_true(lambda: trouble.is_well(views.read_file(file, place)), "a well file", WELL_S)

    def ask_again(self) -> None:
        """When all is over no command says any of it any more."""
        for view in views.COMMANDS:
            answer = views.ask(view, self.world)
            for row in self.rows:
                said = views.read_command(view, answer, row.trouble.place_in(view))
                if re.search(row.trouble.cause, said.text):
                    row.faults.append(f"{view}, after the cure: {said}")


def is_well(said: Said, place: Place) -> bool:
    """In the status file."""
    if place == WHOLE_FLOW:
        return said.state == "leading" and said.lag == "0" and not said.text
    return not said.text and (place[1] < 0 or (said.state == "copying" and said.lag == "0"))


def cure_in(row: Row, view: str) -> str:
    found = re.search(row.trouble.cure, row.said[view].text) if view in row.said else None
    return found.group() if found else ""


def why_wrong(trouble: Trouble, view: str, said: Said) -> str:
    """Empty if it says all that it must."""
    must = trouble.must[view]
    wrong = [
        f"{what} {said_word!r}, not {wanted!r}"
        for what, wanted, said_word in (("state", must.state, said.state), ("lag", must.lag, said.lag))
        if wanted and not re.fullmatch(wanted, said_word)
    ]
    wrong += [
        f"no {what} {wanted!r}"
        for what, wanted in (("cause", trouble.cause), ("cure", trouble.cure))
        if not re.search(wanted, said.text)
    ]
    return "; ".join(wrong)


def judge(row: Row) -> list[str]:
    """All that was not as it must be."""
    found = list(row.faults)
    for view in row.trouble.must:
        took = row.seconds.get(view)
        if took is None:
            said = row.said.get(view, Said())
            found.append(f"{view}: {why_wrong(row.trouble, view, said)}: it said {said}")
        elif took > WITHIN_S and view not in row.trouble.late and view != DOCTOR:
            found.append(f"{view}: only after {took:.1f} s")
    if row.well_s < 0:
        found.append("not well after its cure")
    return found
