"""What `state` refuses before it asks any cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from sparkmirror.cli.main import app
from sparkmirror.offsets.state_file import FlowState, StateHead, write_state_file

FILE = "clusters=A,B\nA.bootstrap.servers=127.0.0.1:1\nB.bootstrap.servers=127.0.0.1:1\nA->B.enabled=true\n"
BOTH = FILE + "B->A.enabled=true\n"


@pytest.mark.parametrize(
    ("text", "arguments", "code", "said"),
    [
        (FILE, ["export", "FILE", "--out", "NEW"], 3, "no broker answers"),
        (BOTH, ["export", "FILE", "--out", "NEW"], 2, "expected --flow with one of A->B, B->A"),
        (FILE, ["export", "FILE", "--flow", "B->A", "--out", "NEW"], 2, "no flow B->A: there are A->B"),
        (FILE, ["export", "FILE"], 2, "--out"),
        (FILE, ["import", "FILE", "--in", "STATE"], 3, "no broker answers"),
        (FILE.replace("A->B", "B->A"), ["import", "FILE", "--in", "STATE"], 2, "no flow A->B: there are B->A"),
        (FILE, ["import", "FILE", "--in", "FILE"], 2, "no state of a flow"),
        (FILE, ["import", "FILE", "--in", "NEW"], 2, "can't read the file"),
    ],
)
def test_wrong_use_and_clusters_that_are_away(
    text: str, arguments: list[str], code: int, said: str, tmp_path: Path
) -> None:
    paths = {name: tmp_path / name.lower() for name in ("FILE", "STATE", "NEW")}
    paths["FILE"].write_text(text)
    head = StateHead(flow="A->B", made_ms=0, source_cluster="a", target_cluster="b")
    write_state_file(paths["STATE"], FlowState(head=head))
    words = [str(paths.get(word, word)) for word in arguments]
    result = CliRunner().invoke(app, ["state", *words])
    assert (result.exit_code, said in result.output) == (code, True), result.output
    assert not paths["NEW"].exists()
