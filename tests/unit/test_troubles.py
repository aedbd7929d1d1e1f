"""docs/troubles.md has a row for each fact that the mirror names, and for each trouble that is tried."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.truth.kinds import all_troubles
from tests.truth.table import find_row, read_rows

SOURCES = Path(__file__).parents[2] / "src" / "sparkmirror"
ROWS = read_rows()


def named_facts() -> set[str]:
    """The first argument of each MirrorError, and the name of each Fact, wherever they stand."""
    found: set[str] = set()
    for file in SOURCES.rglob("*.py"):
        tree = ast.parse(file.read_text())
        constants = {
            target.id: node.value.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                found |= {name for word in _names_in(node) if isinstance(name := _text(word, constants), str)}
    return found


def _names_in(call: ast.Call) -> list[ast.expr]:
    called = call.func.id if isinstance(call.func, ast.Name) else ""
    if called == "MirrorError":
        return call.args[:1]
    return [word.value for word in call.keywords if word.arg == "name"] if called == "Fact" else []


def _text(word: ast.expr, constants: Mapping[str, object]) -> object:
    if isinstance(word, ast.Constant):
        return word.value
    return constants.get(word.id) if isinstance(word, ast.Name) else None


def test_facts_are_found() -> None:
    assert {"gap", "foreign-writer", "target-restamps", "part-failing", "unauthorized"} <= named_facts()


@pytest.mark.parametrize("name", sorted(named_facts() - {"map-changed", ""}))
def test_each_fact_has_a_row_with_what_to_do(name: str) -> None:
    rows = [row for row in ROWS if name in row.names]
    assert len(rows) == 1, f"docs/troubles.md has {len(rows)} rows for {name}"
    assert rows[0].means.endswith(".") and rows[0].cure.endswith(".")


@pytest.mark.parametrize("trouble", all_troubles(), ids=lambda trouble: trouble.name)
def test_each_trouble_that_is_brought_about_has_a_row_with_a_star(trouble: object) -> None:
    assert find_row(trouble, ROWS).is_tried  # type: ignore[arg-type]


def test_no_row_is_starred_that_nobody_brings_about() -> None:
    tried = {find_row(trouble, ROWS) for trouble in all_troubles()}
    assert {row for row in ROWS if row.is_tried} == tried
