"""What happens on the demo's stage: load with figures, the end of the load, the proof, and a stay for --keep."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from confluent_kafka import KafkaException

from sparkmirror.cli.demo.compare import Comparison, compare
from sparkmirror.cli.demo.figures import Figures
from sparkmirror.cli.demo.load import LoadError
from sparkmirror.cli.demo.screen import Note, Screen
from sparkmirror.cli.demo.stage import Stage
from sparkmirror.cli.demo.table import draw_table, plain_line, plain_table
from sparkmirror.cli.demo.topics import SOURCE, TARGET, TOPICS

TICK_S = 0.5
LINE_EVERY_S = 5.0
CATCH_UP_POLL_S = 0.05
STANDSTILL_S = 45.0
WARM_UP_S, WARM_UP_SHARE = (
    5.0,
    3,
)  # at the start, at most so many seconds or a third: JVMs compile, connections are made
TRICKLE = 0.01  # of the load, with --keep: something to see that fills no disk


def show_load(stage: Stage, screen: Screen, seconds: float) -> None:
    """The load runs for so long, and its figures are shown meanwhile and once at the end."""
    figures = Figures(stage)
    try:
        stage.load.start()
        if screen.lively:
            _draw(stage, figures, screen, seconds)
        else:
            _print_lines(stage, figures, screen, seconds)
        stage.load.stop()
    finally:
        figures.close()


def _draw(stage: Stage, figures: Figures, screen: Screen, seconds: float) -> None:
    where = f"{SOURCE} {stage.source} -> {TARGET} {stage.target}"
    with screen.live() as live:

        def tick(elapsed_s: float) -> None:
            title = f"{where}   {elapsed_s:.0f} s, {seconds - elapsed_s:.0f} s left"
            live.update(draw_table(figures.recent(), title, stage.mirror.trouble), refresh=True)

        _run_for(stage, figures, seconds, tick)
        title = f"{where}   {seconds - _warm_up_s(seconds):.0f} s, without the first {_warm_up_s(seconds):.0f} s"
        live.update(draw_table(figures.whole(), title, stage.mirror.trouble), refresh=True)


def _print_lines(stage: Stage, figures: Figures, screen: Screen, seconds: float) -> None:
    next_line_s = LINE_EVERY_S
    trouble = ""

    def tick(elapsed_s: float) -> None:
        nonlocal next_line_s, trouble
        if elapsed_s >= next_line_s:
            next_line_s += LINE_EVERY_S
            screen.line(plain_line(figures.recent(), elapsed_s, seconds - elapsed_s))
        if stage.mirror.trouble != trouble:
            trouble = stage.mirror.trouble
            screen.line(f"  the mirror says: {trouble}")

    _run_for(stage, figures, seconds, tick)
    screen.line(f"Without the first {_warm_up_s(seconds):.0f} s:")
    for line in plain_table(figures.whole()):
        screen.line(line)


def _run_for(stage: Stage, figures: Figures, seconds: float, tick: Callable[[float], None]) -> None:
    began = time.monotonic()
    elapsed_s, is_settled = 0.0, False
    while elapsed_s < seconds:
        time.sleep(min(TICK_S, seconds - elapsed_s))
        elapsed_s = min(seconds, time.monotonic() - began)
        stage.mirror.look()
        stage.load.check()
        figures.update()
        if not is_settled and elapsed_s >= _warm_up_s(seconds):
            figures.settle()
            is_settled = True
        tick(elapsed_s)


def _warm_up_s(seconds: float) -> float:
    return min(WARM_UP_S, seconds / WARM_UP_SHARE)


def catch_up(stage: Stage, screen: Screen) -> None:
    """A mirror that stands still is no reason to wait for ever: the comparison will say what is missing."""
    with screen.step("Load stopped, waiting until the mirror has caught up") as note:
        stage.load.flush()
        best, moved = _lag(stage), time.monotonic()
        while (lag := _lag(stage)) and time.monotonic() - moved < STANDSTILL_S:
            if lag < best:
                best, moved = lag, time.monotonic()
            stage.mirror.look()
            time.sleep(CATCH_UP_POLL_S)
        if lag:
            note(f"it stands still, {lag:,} records behind")
    for line in stage.mirror.stopped_partitions():
        screen.line(f"  {line}", "red")


def _lag(stage: Stage) -> int:
    return sum(ends.lag for ends in stage.probe.fetch().values())


def compare_sides(stage: Stage, screen: Screen) -> bool:
    with screen.step("Comparing both sides record by record") as note:
        comparison = _compare(stage, note)
    for line in comparison.lines():
        screen.line(line, "bold green" if comparison.equal else "red")
    return comparison.equal


def _compare(stage: Stage, note: Note) -> Comparison:
    try:
        return compare(stage.source, stage.target, TOPICS, note)
    except KafkaException as error:
        raise LoadError(f"The sides can't be compared: {error}") from error


def keep(stage: Stage, screen: Screen) -> None:
    """Until a signal comes. The mirror's troubles are still shown."""
    stage.load.start(TRICKLE)
    for line in keep_text(stage):
        screen.line(line)
    shown = stage.mirror.trouble
    pause = threading.Event()
    while not pause.wait(TICK_S):
        stage.mirror.look()
        stage.load.check()
        if stage.mirror.trouble != shown:
            shown = stage.mirror.trouble
            screen.line(f"the mirror says: {shown}")


def keep_text(stage: Stage) -> list[str]:
    first = TOPICS[0]
    return [
        "",
        "Everything keeps running, with a trickle of load, until Ctrl-C:",
        f"  cluster {SOURCE}   {stage.source}   topics {', '.join(t.name for t in TOPICS)}",
        f"  cluster {TARGET}   {stage.target}   topics {', '.join(t.remote for t in TOPICS)}",
        f"  Spark's UI  {stage.mirror.spark_ui}",
        f"  properties  {stage.mirror.properties}",
        f"  status      {stage.mirror.status_file}",
        f"  log         {stage.mirror.log}",
        "",
        "The same record at the same offset on both sides, with Kafka's own scripts:",
        *_console_command(stage.source, first.name),
        *_console_command(stage.target, first.remote),
        "A second process takes the mirroring over, and this one stands by:",
        f"  sparkmirror run {stage.mirror.properties}",
    ]


def _console_command(bootstrap_servers: str, topic: str) -> list[str]:
    return [
        f"  kafka-console-consumer.sh --bootstrap-server {bootstrap_servers} \\",
        f"      --topic {topic} --partition 0 --offset 42 --max-messages 1",
    ]
