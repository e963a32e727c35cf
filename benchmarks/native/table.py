"""The table: one line a size and program."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from benchmarks.native.metrics import clustered
from benchmarks.native.programs import PROGRAMS
from benchmarks.native.runs import Run

#: Column, its head, and its digits.
_COLUMNS = (
    ("cpu", "CPU s", 3),
    ("wall", "wall s", 2),
    ("peak_mb", "peak MB", 0),
    ("tau", "tau", 3),
    ("r_b", "r_b", 3),
    ("r_log_a", "r_log a", 3),
    ("slope_ratio", "a-hat/a", 3),
    ("cover_theta", "cover th", 3),
    ("cover_a", "cover a", 3),
    ("cover_b", "cover b", 3),
    ("loss", "loss", 2),
    ("log_likelihood", "log-lik.", 2),
)
#: Over seeds these are medians: one disturbed run would move a mean. The others are means.
_MEDIANS = ("cpu", "wall", "peak_mb", "held_mb")

LEGEND = """\
CPU s: user and system time of fit and scoring, one thread (6000x28000: two), median over seeds. peak MB: the process.
a-hat/a: median, against the sample-standardised truth, as are b and the coverages (th: abilities; a, b: items) of 95 %
intervals; blank where a program has no standard errors. loss: expected loss of log-likelihood per 1,000 new responses
of the same cells against the truth; expected is 1000 (2J + N - 2) / (2 cells) without shrinkage. log-lik.: marginal
log-likelihood of the first seed's data at the items returned, near-exact (above 6 million cells left out)."""


def values(runs: Iterable[Run], name: str) -> list[float]:
    """Return a metric of the runs that have it, one a seed."""
    return [run.values[name] for run in runs if name in run.values and math.isfinite(run.values[name])]


def summary(runs: Sequence[Run], name: str) -> float:
    """Return one figure for the runs of one program at one size; NaN where there is none."""
    found = values(runs, name)
    if not found:
        return math.nan
    if name == "log_likelihood":
        return found[0]
    return float(np.median(found) if name in _MEDIANS else np.mean(found))


def note(runs: Sequence[Run]) -> str:
    """Return what a reader should know of these runs besides the figures."""
    parts = [f"seed {run.seed}: {run.problem}" if len(runs) > 1 else run.problem for run in runs if run.problem]
    statuses = [str(run.facts.get("status")) for run in runs if run.facts]
    parts += [f"{statuses.count(s)} of {len(runs)} {s}" for s in sorted(set(statuses) - {"converged", "not told"})]
    if any(run.facts and "log_likelihood" in run.facts and _is_nan(run.facts["log_likelihood"]) for run in runs):
        parts.append("says log-likelihood NaN")
    return "; ".join(dict.fromkeys(parts))


def _is_nan(value: object) -> bool:
    return value is None or value == "NA" or (isinstance(value, float) and math.isnan(value))


def size_lines(size: str, runs: Sequence[Run]) -> list[str]:
    """Return the lines of one size, a head first."""
    expected = summary(runs, "expected_loss")
    head = f"{size}" + (f" (expected loss {expected:.2f})" if math.isfinite(expected) else "")
    lines = [f"{head:32s} seeds " + " ".join(f"{title:>9s}" for _, title, _ in _COLUMNS)]
    for key in dict.fromkeys(run.program for run in runs):
        own = [run for run in runs if run.program == key]
        cells = [f"{_figure(summary(own, name), digits):>9s}" for name, _, digits in _COLUMNS]
        remark = note(own)
        lines.append(
            f"  {PROGRAMS[key].label:30s} {len(own):5d} {' '.join(cells)}".rstrip() + (f"  {remark}" if remark else "")
        )
    errors = [
        f"{PROGRAMS[key].label}: {what} {low:.3f} to {high:.3f}"
        for key in dict.fromkeys(run.program for run in runs)
        for what, low, high in _intervals([run for run in runs if run.program == key])
    ]
    if errors:
        lines.append("    Monte Carlo intervals by seed: " + "; ".join(errors))
    return lines


def _intervals(runs: Sequence[Run]) -> list[tuple[str, float, float]]:
    found = []
    for what, name in (("th", "cover_theta"), ("a", "cover_a"), ("b", "cover_b")):
        c = clustered(values(runs, name))
        if math.isfinite(c.low):
            found.append((what, c.low, c.high))
    return found


def _figure(value: float, digits: int) -> str:
    return f"{value:.{digits}f}" if math.isfinite(value) else ""
