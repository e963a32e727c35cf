"""Damage logs of every format, and count what the readers answer.

    python benchmarks/reader_fuzz.py [--inputs 10000] [--seed 0] [--large] [--only unpacks_far]

Each input is read in a child process with bounds on seconds and memory. Allowed are the scores of all that was not
touched, or a typed error that names the file. All else is a violation: it is printed, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.damaged_logs.judging import Outcome
from tests.damaged_logs.making import plan
from tests.damaged_logs.running import run


def main() -> int:
    """Damage, read, print a table; return 1 if there is a violation."""
    parser = argparse.ArgumentParser(description="Damage logs and read them.")
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--large", action="store_true", help="bombs of their full size")
    parser.add_argument("--only", default="", help="one damage")
    options = parser.parse_args()
    began, outcomes = time.monotonic(), []
    for outcome in run(plan(options.inputs, options.seed, options.large, options.only)):
        outcomes.append(outcome)
        if outcome.violation:
            print(f"VIOLATION {outcome.input}: {outcome.answer}: {outcome.violation}", flush=True)
    _print_table(outcomes)
    violations = sum(bool(o.violation) for o in outcomes)
    print(
        f"{len(outcomes)} inputs, {violations} violations; {max(o.seconds for o in outcomes):.1f} CPU s and "
        f"{max(o.peak for o in outcomes) >> 20} MB at most; {time.monotonic() - began:.0f} s in all"
    )
    return int(violations > 0)


def _print_table(outcomes: list[Outcome]) -> None:
    answers = sorted({o.answer for o in outcomes})
    for what in ("sample", "damage"):
        print(f"\n{what:22}" + "".join(f"{a:>17}" for a in answers) + f"{'violations':>12}")
        for name in sorted({getattr(o.input, what) for o in outcomes}):
            here = [o for o in outcomes if getattr(o.input, what) == name]
            counts = Counter(o.answer for o in here)
            bad = sum(bool(o.violation) for o in here)
            print(f"{name:22}" + "".join(f"{counts[a]:17d}" for a in answers) + f"{bad:12d}")
    print()


if __name__ == "__main__":
    sys.exit(main())
