"""The guides' files are whole: no error, no warning, and every line of them is in force."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkmirror.cli.check import check

GUIDES = Path(__file__).parents[3] / "docs" / "guides"


@pytest.mark.parametrize("guide", sorted(GUIDES.glob("*.md")), ids=lambda path: path.stem)
def test_a_guide_has_a_file_that_is_fine(guide: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = guide.with_suffix(".properties")
    assert f"`{file.name}`" in guide.read_text()
    assert check(file) == 0
    assert ": 0 errors, 0 warnings; flows " in capsys.readouterr().out


def test_no_file_is_without_a_guide() -> None:
    assert {path.stem for path in GUIDES.glob("*.properties")} == {path.stem for path in GUIDES.glob("*.md")} != set()
