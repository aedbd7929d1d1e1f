"""The guides' files are whole, every line of them is in force, and so is every setting that the documents name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sparkmirror.cli.check import check
from sparkmirror.config.mirror import parse_mirror_config

DOCS = Path(__file__).parents[3] / "docs"
GUIDES = DOCS / "guides"
BASE = "clusters = A, B\nA.bootstrap.servers = h:1\nB.bootstrap.servers = i:1\nA->B.enabled = true\n"
SETTING = re.compile(r"`([\w.>-]+ = [^`]+)`")
# A connector's file, a dialect's line, and what brokers are told.
NOT_OURS = ("source.cluster.alias", "source.replication.topic", "min.insync.replicas")


@pytest.mark.parametrize("guide", sorted(GUIDES.glob("*.md")), ids=lambda path: path.stem)
def test_a_guide_has_a_file_that_is_fine(guide: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = guide.with_suffix(".properties")
    assert f"`{file.name}`" in guide.read_text()
    assert check(file) == 0
    assert ": 0 errors, 0 warnings; flows " in capsys.readouterr().out


def test_no_file_is_without_a_guide() -> None:
    assert {path.stem for path in GUIDES.glob("*.properties")} == {path.stem for path in GUIDES.glob("*.md")} != set()


@pytest.mark.parametrize("page", [DOCS / "faq.md", *sorted(GUIDES.glob("*.md"))], ids=lambda path: path.stem)
def test_a_setting_that_a_page_names_is_one_that_works(page: Path) -> None:
    for line in SETTING.findall(page.read_text()):
        if not line.startswith(NOT_OURS):
            config = parse_mirror_config(BASE + line, "f")
            assert not config.not_in_force, line
            assert not config.warnings, line
