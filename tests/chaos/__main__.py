"""`make faults`: python -m tests.chaos [--seed 1] [--minutes 10] [--count N] [--kinds a,b] [--index 3-7] [--table]

Takes up the plan of the seed where the last run has left it, until the minutes are over. Ctrl-C loses nothing but the
step under way. Ends with status 1 if a step failed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.chaos.kinds import KINDS, available
from tests.chaos.plan import choose_steps, plan_steps
from tests.chaos.results import Result, ResultFile, failures
from tests.chaos.runner import Runner
from tests.chaos.table import make_table

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".faults"  # logs of what failed
# Results are kept with the project, so that a plan is taken up wherever it is cloned.
RESULTS, TABLE = ROOT / "docs" / "faults.jsonl", ROOT / "docs" / "faults.md"
PLANNED = 100_000


def main(arguments: Sequence[str]) -> int:
    options = _parse(arguments)
    file = ResultFile(RESULTS)
    if options.table:
        TABLE.write_text(make_table(file.read(), {kind.name: kind.text for kind in KINDS.values()}))
        print(f"{TABLE.relative_to(ROOT)} is made from {len(file.read()):,} results")
        return 0
    kinds = available(options.kinds.split(",") if options.kinds else list(KINDS), print)
    plan = f"{options.seed}{f' of {options.kinds}' if options.kinds else ''}"
    steps = choose_steps(
        plan_steps(options.seed, [kind.traits for kind in kinds], PLANNED), file.done(plan), options.index
    )[: options.count]
    failed: list[Result] = []

    def note(result: Result, log: str) -> None:
        file.add(result)
        print(_line(result), flush=True)
        if not result.is_good:
            failed.append(result)
            path = FOLDER / f"failed-{result.plan}-{result.index}.log".replace(" ", "-")
            FOLDER.mkdir(exist_ok=True)
            path.write_text(log)
            print(f"    {result.said}\n    the mirror's log: {path.relative_to(ROOT)}")
            print(f"    again: {_command(options, f'{result.index}')}", flush=True)

    print(f"seed {options.seed}: {len(kinds)} kinds, from step {steps[0].index if steps else '-'}", flush=True)
    until = time.monotonic() + 60 * options.minutes
    Runner(plan, options.seed, {kind.name: kind for kind in kinds}, note).run(steps, lambda: time.monotonic() < until)
    print(f"{len(failed)} failed in this run, {len(failures(file.read()))} of {len(file.read()):,} in all")
    return 1 if failed else 0


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--count", type=int, default=None, help="steps of this run")
    parser.add_argument("--kinds", default="", help="names, with commas between them")
    parser.add_argument(
        "--index", type=_parse_range, default=None, help="these steps of the plan, done or not: 7 or 3-7"
    )
    parser.add_argument("--table", action="store_true", help="make docs/faults.md and end")
    return parser.parse_args(arguments)


def _parse_range(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def _line(result: Result) -> str:
    recovered = "never" if result.recover_s is None else f"{result.recover_s:.1f} s"
    found = f"compared {result.compared:6,}, lost {result.lost}, twice {result.twice}"
    name = result.name or "the whole of both sides"
    where = f"{result.index:4} {result.world:5} {name:45} {result.verdict:7}"
    return f"{where} recovered {recovered:>6}, {found}, took {result.took_s:.0f} s"


def _command(options: argparse.Namespace, index: str) -> str:
    kinds = f" KINDS={options.kinds}" if options.kinds else ""
    return f"make faults SEED={options.seed}{kinds} INDEX={index}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
