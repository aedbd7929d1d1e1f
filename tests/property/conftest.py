"""How much is tried: little of each in `make test`, much in `make test-long` (tests/long/test_histories.py)."""

from __future__ import annotations

import os

import pytest


@pytest.fixture
def histories() -> int:
    return int(os.environ.get("HISTORIES", "600"))
