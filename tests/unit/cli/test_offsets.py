"""What `offsets` refuses before it asks any cluster, and how it shows progress."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from sparkmirror.cli.main import app
from sparkmirror.cli.offsets import progress_cells
from sparkmirror.topology.standing import Standing

FILE = "clusters=A,B\nA.bootstrap.servers=127.0.0.1:1\nB.bootstrap.servers=127.0.0.1:1\nA->B.enabled=true\n"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["show", "FILE", "A->C"], 2, "no flow A->C: there are A->B"),
        (["show", "FILE", "A-"], 2, "put it in quotes, 'A->B'"),
        (["set", "FILE", "B->A", "t", "5"], 2, "no flow B->A: there are A->B"),
        (["set", "FILE", "A->B", "t", "-5"], 2, ""),
        (["reset", "FILE", "A->B"], 2, "expected --yes where there is no terminal"),
        (["reset", "FILE", "A->B", "--yes"], 3, "cluster B: no broker answers"),
        (["set", "FILE", "A->B", "t", "5"], 3, "cluster A: no broker answers"),
        (["show", "FILE"], 3, "cluster B: no broker answers"),
        (["show", "nowhere"], 2, "can't read the file"),
        (["translate", "FILE"], 2, "expected --group, or --topic with --offset"),
        (["translate", "FILE", "--group", "g", "--topic", "t", "--offset", "1"], 2, "expected --group, or --topic"),
        (["translate", "FILE", "--topic", "t"], 2, "expected --group, or --topic with --offset"),
        (["translate", "FILE", "--flow", "B->A", "--group", "g"], 2, "no flow B->A: there are A->B"),
        (["translate", "FILE", "--group", "g"], 3, "cluster A: no broker answers"),
        (["translate", "FILE", "--topic", "t", "--offset", "1", "--reverse", "--json"], 3, '"from_cluster": "B"'),
    ],
)
def test_wrong_use_and_clusters_that_are_away(arguments: list[str], code: int, said: str, tmp_path: Path) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(FILE)
    words = [str(file) if word == "FILE" else word for word in arguments]
    result = CliRunner().invoke(app, ["offsets", *words])
    assert (result.exit_code, said in result.output) == (code, True), result.output


@pytest.mark.parametrize(
    ("standing", "expected"),
    [
        (Standing(43, 42, 43, source_id="12345678-9", target_id="abcdefgh-i"), "43 43 equal 12345678 abcdefgh "),
        (Standing(43, 42, 40, translated="why"), "43 40 translated - - why"),
        (Standing(43), "43 - - - - "),
    ],
)
def test_progress_is_shown_with_short_ids(standing: Standing, expected: str) -> None:
    assert " ".join(progress_cells(("t", 3), standing)) == f"t 3 {expected}"
