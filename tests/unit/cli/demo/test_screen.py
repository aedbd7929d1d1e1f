"""How the demo speaks where there is no terminal."""

from __future__ import annotations

import pytest

from sparkmirror.cli.demo import screen as demo_screen
from sparkmirror.cli.demo.screen import Screen, is_lively


def test_only_a_real_terminal_is_lively() -> None:
    assert is_lively(True, {"TERM": "xterm"})
    assert not is_lively(False, {"TERM": "xterm"})
    assert not is_lively(True, {"TERM": "dumb"})
    assert not is_lively(True, {})
    assert not is_lively(True, {"TERM": "xterm", "NO_COLOR": "1"})


def test_step_is_one_plain_line(capsys: pytest.CaptureFixture[str]) -> None:
    with Screen().step("Starting") as note:
        note("too early to be of interest")
    assert capsys.readouterr().out == "Starting ... 0.0 s\n"


def test_long_step_shows_notes(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_screen, "PLAIN_NOTE_EVERY_S", 0.0)
    with Screen().step("Fetching") as note:
        note("x-1.jar")
    assert capsys.readouterr().out == "Fetching ...\n  x-1.jar ... 0.0 s\n"


def test_note_that_says_nothing_new_is_not_repeated(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_screen, "PLAIN_NOTE_EVERY_S", 0.0)
    with Screen().step("Starting") as note:
        note("Spark starts")
        note("Spark starts")
    assert capsys.readouterr().out.count("Spark starts") == 1


@pytest.mark.parametrize(("error", "end"), [(KeyboardInterrupt, "stopped"), (ValueError, "failed")])
def test_broken_step_ends_its_line(capsys: pytest.CaptureFixture[str], error: type[BaseException], end: str) -> None:
    with pytest.raises(error), Screen().step("Starting"):
        raise error
    assert capsys.readouterr().out == f"Starting ... {end}\n"


def test_plain_text_has_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().line("all [bold]equal[/bold]", "bold green")
    assert capsys.readouterr().out == "all [bold]equal[/bold]\n"
