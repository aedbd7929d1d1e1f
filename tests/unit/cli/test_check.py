"""`sparkmirror check`: errors and warnings by line, and an exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkmirror.cli.check import check

SEEDS = Path(__file__).parents[2] / "fixtures" / "seeds"
BASE = "clusters = a, b\na.bootstrap.servers = h:1\nb.bootstrap.servers = i:1\na->b.enabled = true\n"


def run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: str, *, strict: bool = False
) -> tuple[int, list[str]]:
    file = tmp_path / "mm2.properties"
    file.write_text(BASE + more)
    code = check(file, strict=strict)
    return code, capsys.readouterr().out.replace(f"{file}", "F").splitlines()


def test_a_file_that_is_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, capsys, "") == (0, ["F: 0 errors, 0 warnings; flows a->b"])


def test_warnings_alone_let_a_mirror_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = run(tmp_path, capsys, "nonsense = 1\nlisteners = x\nTasks.max = 2\n")
    assert code == 0
    assert lines == [
        "F:5: warning: nonsense changes nothing: neither MirrorMaker 2 nor sparkmirror has such a key",
        "F:6: warning: listeners changes nothing: it is not in force yet",
        "F:7: warning: Tasks.max: read as tasks.max",
        "F: 0 errors, 3 warnings; flows a->b",
    ]


def test_a_strict_check_takes_warnings_for_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, capsys, "", strict=True)[0] == 0
    assert run(tmp_path, capsys, "a->b.topcs = x\n", strict=True)[0] == 1
    assert run(tmp_path, capsys, "tasks.max = x\n", strict=True)[0] == 2


def test_errors_stand_among_the_warnings_by_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = run(tmp_path, capsys, "Topics = x\ntasks.max = x\nlease.seconds = 0\n")
    assert code == 2
    assert [line.split(": ")[:2] for line in lines[:3]] == [["F:5", "warning"], ["F:6", "error"], ["F:7", "error"]]
    assert lines[3] == "F: 2 errors, 1 warning"


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(tmp_path / "none") == 2
    assert "can't read the file" in capsys.readouterr().err


@pytest.mark.parametrize("file", sorted(SEEDS.rglob("*.properties")), ids=lambda file: file.stem)
def test_the_samples_of_the_seeds(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_OPTS", f"-Djava.security.auth.login.config={SEEDS / 'kafka_client_jaas.conf'}")
    is_refused = file.parent.name == "refused"
    assert check(file) == (2 if is_refused else 0)
    assert (": error: " in capsys.readouterr().out) == is_refused
