"""Feeds a target and says what it found."""

from __future__ import annotations

import random
import signal
import time
import traceback
from typing import NamedTuple

from tests.fuzz.mutate import mutate
from tests.fuzz.target import Target

# Of processor time, since the machine may be busy. Inputs are small: what takes so long hangs, or costs what a short
# input should not be able to cost.
DEADLINE_S = 5.0


class Finding(NamedTuple):
    data: bytes
    trace: str


class Result(NamedTuple):
    refused: int
    slowest_s: float
    finding: Finding | None


def fuzz(target: Target, count: int, seed: int) -> Result:
    """`count` broken inputs, the same ones for the same seed. Stops at the first finding."""
    for data in target.inputs:
        if trace := _check(target, data, refusals=(), deadline_s=0):  # kernels may be compiled first
            return Result(0, 0.0, Finding(data, f"a valid input is refused\n{trace}"))
    rng = random.Random(f"{target.name} {seed}")
    refused, slowest_s = 0, 0.0
    for _ in range(count):
        data = mutate(target.inputs, rng)
        began = time.perf_counter()
        trace = _check(target, data, target.refusals)
        slowest_s = max(slowest_s, time.perf_counter() - began)
        if trace is None:
            continue
        if trace:
            return Result(refused, slowest_s, Finding(data, trace))
        refused += 1
    return Result(refused, slowest_s, None)


def _check(
    target: Target, data: bytes, refusals: tuple[type[Exception], ...], deadline_s: float = DEADLINE_S
) -> str | None:
    """None if the input was read, empty if it was refused, else what went wrong."""
    signal.setitimer(signal.ITIMER_PROF, deadline_s)
    try:
        target.run(data)
    except refusals:
        return ""
    except Exception:
        return traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return None


def raise_at_deadline() -> None:
    """An input that takes longer than the deadline is a finding."""

    def stop(_signal: int, _frame: object) -> None:
        raise TimeoutError(f"an input took more than {DEADLINE_S:g} s")

    signal.signal(signal.SIGPROF, stop)
