"""The random lives of tests/consumers, very many of them: on paper in all cores, and in 20 worlds of real brokers.

HISTORIES on paper and WORLDS with LIVES topics each, from SEED on, as you like.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from sparkmirror.control import switch
from tests.conftest import Pair
from tests.consumers.paper_story import live_many
from tests.consumers.test_world import brokers, live

SEED = int(os.environ.get("SEED", "1"))
HISTORIES = int(os.environ.get("HISTORIES", "100000"))
WORLDS, LIVES, STEPS = (int(os.environ.get(*each)) for each in (("WORLDS", "20"), ("LIVES", "10"), ("STEPS", "6")))
CHUNK = 500


@pytest.mark.timeout(3600)
def test_very_many_histories_on_paper() -> None:
    chunks = [range(first, min(first + CHUNK, SEED + HISTORIES)) for first in range(SEED, SEED + HISTORIES, CHUNK)]
    total: Counter[str] = Counter()
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for counts in pool.map(live_many, chunks):
            total += counts
    print(f"{HISTORIES} histories from {SEED} on: {dict(total)}")


@pytest.fixture(scope="module")
def own_pair() -> Iterator[Pair]:
    with brokers() as pair:
        yield pair


@pytest.mark.timeout(3600)
def test_many_histories_on_brokers(own_pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switch, "TRIES_S", 0.0)
    total: Counter[str] = Counter()
    failures: list[str] = []
    for seed in range(SEED, SEED + WORLDS):
        try:
            total += live(own_pair, tmp_path / f"world{seed}", seed, LIVES, STEPS)
        except AssertionError as error:  # the others go on
            failures.append(str(error))
            print(f"FAILED: {error}")
    print(f"{WORLDS} worlds of {LIVES} from {SEED} on: {dict(total)}")
    assert not failures, failures
    assert total["lives"] == WORLDS * LIVES
