"""`sparkmirror accept` and `remirror`: an operator's word on what stands still, while the rest runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import typer

from sparkmirror.cli.flows import choose_flow
from sparkmirror.cli.options import guarded
from sparkmirror.cli.output import say
from sparkmirror.cli.patience import telling
from sparkmirror.config.mirror import load_mirror_config
from sparkmirror.control.accept import MEANINGS, Acceptor, Lost, Outcome
from sparkmirror.control.log import one_line
from sparkmirror.errors import ConfigError

NOT_WHOLE = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptSettings:
    """What the command line says. `places`: topics of the source, with or without a partition."""

    file: Path
    flow: str | None
    places: tuple[str, ...]
    yes: bool
    wait_s: float


def accept(settings: AcceptSettings) -> int:
    return guarded(lambda: _with_acceptor(settings, _accept))


def remirror(settings: AcceptSettings) -> int:
    return guarded(lambda: _with_acceptor(settings, _remirror))


def _with_acceptor(settings: AcceptSettings, work: Callable[[AcceptSettings, Acceptor], int]) -> int:
    if not settings.yes and not sys.stdin.isatty():
        raise ConfigError("this asks before it acts: expected --yes where there is no terminal")
    flow = choose_flow(load_mirror_config(settings.file), settings.file, settings.flow)
    with Acceptor(flow) as acceptor:
        return work(settings, acceptor)


def _accept(settings: AcceptSettings, acceptor: Acceptor) -> int:
    acceptor.require_running()
    facts = acceptor.find(settings.places)
    for (topic, partition), fact in facts.items():
        say(f"{topic}-{partition} stands still for {one_line(fact.said)}", f"  it {MEANINGS[fact.name]}")
    if not settings.yes and not typer.confirm("Accept that?"):
        return NOT_WHOLE
    with telling("the driver is told ...") as tell:
        outcomes = acceptor.accept(facts, settings.wait_s, tell)
    return _show(outcomes)


def _remirror(settings: AcceptSettings, acceptor: Acceptor) -> int:
    acceptor.require_running()
    copies = [acceptor.find_copy(topic) for topic in settings.places]
    for copy in copies:
        pair = copy.pair
        say(f"{pair.remote} is deleted, made anew and mirrored from the start of {pair.topic}; other topics run on")
        for line in lost_lines(acceptor.find_lost(copy)):
            say(f"  {line}")
    if not settings.yes and not typer.confirm("Go on?"):
        return NOT_WHOLE
    with telling("the driver is told ...") as tell:
        outcomes = [outcome for copy in copies for outcome in acceptor.remirror(copy, settings.wait_s, tell)]
    return _show(outcomes)


def lost_lines(lost: Iterable[Lost]) -> Iterator[str]:
    for one in lost:
        what = "the source does not have" if one.is_sure else "the source may not have"
        yield f"offsets {one.first}..{one.end - 1} of partition {one.place[1]} are lost for good: {what} these records"


def _show(outcomes: Iterable[Outcome]) -> int:
    code = 0
    for outcome in outcomes:
        say(outcome_text(outcome))
        code = code if outcome.goes_on else NOT_WHOLE
    return code


def outcome_text(outcome: Outcome) -> str:
    where = f"{outcome.place[0]}-{outcome.place[1]}"
    if not outcome.is_heeded:
        return f"{where}: the mirror has not gone on in time; see its log"
    if not outcome.goes_on:
        assert outcome.fact is not None
        return f"{where}: stands still for {one_line(outcome.fact.said)}"
    return f"{where}: goes on"
