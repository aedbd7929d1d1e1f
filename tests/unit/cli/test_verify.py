"""What `sparkmirror verify` is told, and what it says without a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from sparkmirror.cli.main import app
from sparkmirror.cli.verify import parse_rate, parse_since
from sparkmirror.cli.verify_progress import describe
from sparkmirror.control.verify import Ahead
from sparkmirror.errors import ConfigError
from sparkmirror.pipeline.verify_job import Done


def test_since_is_a_time_or_how_long_ago() -> None:
    assert parse_since("2h", 10_000.0) == (10_000 - 7200) * 1000
    assert parse_since("1.5 d", 200_000.0) == int((200_000 - 1.5 * 86400) * 1000)
    assert parse_since("1970-01-01T01:00:00Z", 0.0) == 3_600_000
    with pytest.raises(ConfigError, match="such as 2h, got 'yesterday'"):
        parse_since("yesterday", 0.0)


def test_a_rate_may_have_a_unit() -> None:
    assert [parse_rate(text) for text in ("500", "20M", "1.5 MB/s", "2k")] == [500, 20e6, 1.5e6, 2000]
    for text in ("0", "-5", "fast"):
        with pytest.raises(ConfigError, match="such as 5000000 or 5M"):
            parse_rate(text)


def test_progress_tells_rate_and_what_is_left() -> None:
    said = describe(Ahead(tasks=10, partitions=2, offsets=1000), Done(2, 200, 50_000_000, 1), 2.0)
    assert said == "2 of 10 ranges, 50 MB, 25 MB/s, 8s left, 1 differences"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--topics", "("], "--topics: '(' is no regular expression"),
        (["--since", "soon"], "--since: expected a time"),
        (["--flow", "X->Y"], "no flow X->Y: there are a->b"),
        (["--report", "/nowhere/at/all/f"], "--report: /nowhere/at/all is no directory"),
        ([], "nothing was compared. sparkmirror doctor says what is wrong"),
    ],
)
def test_what_can_t_be_compared_is_said_with_code_2(tmp_path: Path, arguments: list[str], said: str) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(
        "clusters = a, b\na.bootstrap.servers = 127.0.0.1:1\nb.bootstrap.servers = 127.0.0.1:1\na->b.enabled = true\n"
    )
    done = CliRunner().invoke(app, ["verify", str(file), *arguments])
    assert done.exit_code == 2
    assert said in done.stderr
