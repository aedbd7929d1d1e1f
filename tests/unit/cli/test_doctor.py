"""How `sparkmirror doctor` shows what it found, and its exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from sparkmirror.cli.doctor import doctor, draw, plain
from sparkmirror.cli.questions import Question
from sparkmirror.doctor.verdict import Judge, Verdict
from tests.support.flow_text import HEAD

JUDGE = Judge("A", "reach")
PASSED = JUDGE.passes("all is [well]")
WARNED = JUDGE.warns("slow", "wait")
FAILED = JUDGE.fails("no broker answers", "start one")
SKIPPED = JUDGE.skips("not checked", "look yourself")


def write(folder: Path, text: str = HEAD) -> Path:
    file = folder / "f.properties"
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("found", "code"), [([PASSED], 0), ([PASSED, WARNED, SKIPPED], 0), ([FAILED, PASSED], 1), ([], 0)]
)
def test_only_a_failure_is_exit_code_1(found: list[Verdict], code: int, tmp_path: Path) -> None:
    assert doctor(Question(file=write(tmp_path)), lambda _: found) == code


@pytest.mark.parametrize("text", ["clusters=\n", HEAD + "a->b.tasks.max=-3\n", HEAD + "topic.filter.class=x.Y\n"])
def test_a_wrong_file_is_exit_code_2_and_nothing_is_tried(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert doctor(Question(file=write(tmp_path, text)), lambda _: pytest.fail("tried")) == 2
    out = capsys.readouterr()
    assert out.err and not out.out


def test_findings_of_the_file_are_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    doctor(Question(file=write(tmp_path, HEAD + "transform.sql=x\n")), lambda _: [])
    first = capsys.readouterr().out.splitlines()[1]
    assert first.startswith("WARN") and "0 errors, 1 warning" in first and "sparkmirror check" in first


def test_one_plain_line_each_with_its_cure() -> None:
    head, *lines, last = plain([PASSED, WARNED, FAILED, SKIPPED])
    assert head.split() == ["RESULT", "ABOUT", "CHECK", "FOUND"]
    assert lines[0].endswith("all is [well]")
    assert lines[2].split(maxsplit=3) == ["FAIL", "A", "reach", "no broker answers; cure: start one"]
    assert last == "1 passed, 1 failed, 1 warning, 1 skipped"
    assert "\x1b" not in "".join(lines)


def test_a_terminal_shows_colours() -> None:
    console = Console(force_terminal=True, width=100, color_system="standard")
    with console.capture() as captured:
        for part in draw([PASSED, FAILED], 100):
            console.print(part)
    assert "\x1b[32mPASS" in captured.get() and "\x1b[1;31mFAIL" in captured.get()


def test_json_has_every_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    doctor(Question(file=write(tmp_path), as_json=True), lambda _: [FAILED])
    said = json.loads(capsys.readouterr().out)
    assert said["counts"] == {"PASS": 1, "WARN": 0, "FAIL": 1, "SKIP": 0}
    assert said["checks"][1] == {
        "level": "FAIL", "about": "A", "check": "reach", "said": "no broker answers", "cure": "start one"
    }  # fmt: skip
