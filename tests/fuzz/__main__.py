"""The command line of the fuzzer."""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import os
import random
import sys
import time
from pathlib import Path

from tests.fuzz.run import Finding, Result, fuzz, raise_at_deadline
from tests.fuzz.target import Target

CACHE = Path(__file__).parents[2] / ".numba_cache"


def main() -> int:
    options = _parse_options()
    targets = _load_targets()
    unknown = set(options.target) - set(targets)
    if unknown:
        print(f"no such target: {', '.join(sorted(unknown))}; there are {', '.join(targets)}")
        return 2
    chosen = [targets[name] for name in options.target or targets]
    raise_at_deadline()
    if options.input is not None:
        for target in chosen:
            target.run(bytes.fromhex(options.input))
        return 0
    return _fuzz_all(chosen, options.count, options.seed)


def _fuzz_all(targets: list[Target], count: int, seed: int) -> int:
    for target in targets:
        # Before the work: if a kernel crashes the process, this line says where.
        print(f"{target.name:20} seed {seed}  {count} inputs", end="", flush=True)
        began = time.perf_counter()
        result = fuzz(target, count, seed)
        print(_summary(result, time.perf_counter() - began))
        if result.finding is not None:
            _show(target, seed, result.finding)
            return 1
    return 0


def _summary(result: Result, elapsed_s: float) -> str:
    return f"  {result.refused} refused  {elapsed_s:.1f} s, slowest {result.slowest_s * 1000:.1f} ms"


def _show(target: Target, seed: int, finding: Finding) -> None:
    print(f"\nfinding in {target.name} (seed {seed})\n{finding.trace}")
    print(f"python -m tests.fuzz --target {target.name} --input {finding.data.hex()}")


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Broken inputs for all readers of bytes.")
    parser.add_argument("--count", type=int, default=5000, help="inputs a target")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--target", action="append", default=[], help="only this one; may be repeated")
    parser.add_argument("--input", help="one input in hexadecimal, as a finding shows it")
    return parser.parse_args()


def _load_targets() -> dict[str, Target]:
    """Kernels are compiled with bounds checks for this, and kept apart from those without."""
    faulthandler.enable()
    os.environ["NUMBA_BOUNDSCHECK"] = "1"
    os.environ["NUMBA_CACHE_DIR"] = str(CACHE / "boundscheck")
    targets: dict[str, Target] = importlib.import_module("tests.fuzz.targets").TARGETS
    return targets


if __name__ == "__main__":
    sys.exit(main())
