"""`sparkmirror demo`: two real clusters, load, the mirror between them, figures, and the proof at the end."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING

from sparkmirror.errors import SetupError, SparkmirrorError

if TYPE_CHECKING:  # heavy: the first line should be on the screen before they are imported
    from sparkmirror.cli.demo.screen import Screen

CANT_START, NOT_EQUAL = 3, 1
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class DemoSettings:
    seconds: int = 30
    keep: bool = False
    quick: bool = False


class Interrupted(KeyboardInterrupt):
    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = 128 + number


def demo(settings: DemoSettings) -> int:
    try:
        with _one_interrupt():
            return _show(settings)
    except Interrupted as interrupt:
        return interrupt.exit_code


def _show(settings: DemoSettings) -> int:
    print(f"sparkmirror demo: two Kafka clusters, three topics, {settings.seconds} s of load", flush=True)
    from sparkmirror.cli.demo.screen import Screen  # noqa: PLC0415

    screen = Screen()
    try:
        return _run(settings, screen)
    except SetupError as error:
        screen.line(str(error), "red")
        return CANT_START
    except SparkmirrorError as error:
        screen.line(str(error), "red")
        return NOT_EQUAL


def _run(settings: DemoSettings, screen: Screen) -> int:
    from sparkmirror.cli.demo.proofs import kill_mirror, move_group  # noqa: PLC0415
    from sparkmirror.cli.demo.stage import set_stage  # noqa: PLC0415
    from sparkmirror.cli.demo.story import catch_up, compare_sides, keep, show_load  # noqa: PLC0415

    stack = contextlib.ExitStack()
    try:
        stage = set_stage(screen, stack)
        show_load(stage, screen, settings.seconds)
        if not settings.quick:
            kill_mirror(stage, screen)
        catch_up(stage, screen)
        equal = compare_sides(stage, screen)
        if not settings.quick:
            equal = move_group(stage, screen) and equal
        if settings.keep:
            keep(stage, screen)
    finally:
        with screen.step("Stopping everything"):
            stack.close()
    return 0 if equal else NOT_EQUAL


@contextlib.contextmanager
def _one_interrupt() -> Iterator[None]:
    """The first signal unwinds the demo; further ones do not disturb the tidying up, which has its deadlines."""

    def handle(number: int, _frame: FrameType | None) -> None:
        for each in SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise Interrupted(number)

    before = {each: signal.signal(each, handle) for each in SIGNALS}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
