"""`sparkmirror demo` with all that it shows."""

from __future__ import annotations

import re

import pytest

from tests.support.command import run_command


@pytest.mark.timeout(400)
def test_a_kill_loses_and_doubles_nothing_and_a_group_goes_on_on_the_other_side() -> None:
    done = run_command("demo", "--seconds", "6", deadline_s=380)
    print(done.stdout)
    assert done.returncode == 0, done.stdout
    assert re.search(r"it copies again after \d+ s", done.stdout)
    assert re.search(r"[\d,]{6,} records in 3 topics are equal on both sides, offsets too", done.stdout)
    assert "Group demo-billing read up to offsets 500, 500, 500, 500 on A and goes on at the same ones" in done.stdout
    assert "Without the first 2 s:" in done.stdout
