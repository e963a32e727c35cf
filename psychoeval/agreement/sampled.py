"""Chains and predictions of sampled fits, in words and as plain JSON content."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from psychoeval.agreement.export import plain_number
from psychoeval.agreement.prediction import Prediction
from psychoeval.results.sampling import Sampling
from psychoeval.results.sampling_figures import Figures

#: How many of the parameters that are farthest from good are named.
WORST: Final = 5


def extremes(run: Sampling) -> dict[str, float]:
    """Return the worst figures of a run over all its parameters: ``rhat``, ``ess_bulk``, ``ess_tail``; NaN for none."""
    names = ("rhat", "ess_bulk", "ess_tail")
    every = {name: np.concatenate([np.ravel(v) for v in getattr(run, name).values()]) for name in names}
    return {
        name: float(np.nan if np.isnan(v).all() else (np.nanmax(v) if name == "rhat" else np.nanmin(v)))
        for name, v in every.items()
    }


def chains_row(run: Sampling) -> dict[str, Any]:
    """Return the grade of a run and its worst figures, by what a table calls them; None for what is not known."""
    worst = extremes(run)
    return {
        "grade": run.grade,
        "chains": run.n_chains,
        "draws": run.n_draws,
        "R-hat": worst["rhat"],
        "bulk ESS": worst["ess_bulk"],
        "tail ESS": worst["ess_tail"],
        "divergences": sum(run.divergences) if run.divergences else None,
        "depth limit hits": sum(run.treedepth_hits) if run.treedepth_hits else None,
        "E-BFMI": min(run.ebfmi) if run.ebfmi else None,
    }


def chains_words(run: Sampling) -> str:
    """Return the grade of a run with its worst figures and why it is not good, in a sentence or two."""
    worst = extremes(run)
    divergences = f", {sum(run.divergences)} divergences" if run.divergences else ""
    energy = f", E-BFMI {min(run.ebfmi):.2f} or more" if run.ebfmi else ""
    figures = (
        f"{run.grade} ({run.n_chains} x {run.n_draws} draws; R-hat {worst['rhat']:.3f} or less, bulk ESS "
        f"{worst['ess_bulk']:.0f} and tail ESS {worst['ess_tail']:.0f} or more{divergences}{energy})."
    )
    todo = f" What to do: {' '.join(run.remedies)}" if run.remedies else ""
    return " ".join([figures, *run.reasons]) + todo


def sampling_content(run: Sampling) -> dict[str, Any]:
    """Return the diagnosis of a run as plain content, parameter by parameter only the worst."""
    return {
        "grade": run.grade,
        "reasons": list(run.reasons),
        "remedies": list(run.remedies),
        "chains": run.n_chains,
        "draws": run.n_draws,
        "divergences": list(run.divergences),
        "treedepth_hits": list(run.treedepth_hits),
        "ebfmi": [plain_number(e) for e in run.ebfmi],
        "extremes": {name: plain_number(value) for name, value in extremes(run).items()},
        "worst": [
            {"parameter": p.label} | {name: plain_number(getattr(p, name)) for name in Figures._fields}
            for p in run.worst(WORST)
        ],
    }


def prediction_lines(found: Sequence[Prediction]) -> list[str]:
    """Return how well sampled models predict persons left out, a line each."""
    lines = ["Predictive density of persons left out (PSIS-LOO), the best first; differences are to the best"]
    for one in found:
        if one.loo is None:
            lines.append(f"  {one.name}: not computed. {one.problem}")
            continue
        text = f"  {one.name}: elpd {one.loo.elpd:.1f} (SE {one.loo.standard_error:.1f}), p_loo {one.loo.p_loo:.1f}"
        if one.below_best is not None:
            text += f", difference {one.below_best.elpd_difference:.1f} (SE {one.below_best.standard_error:.1f})"
        lines.append(" ".join([f"{text}.", *one.warnings, one.problem]).rstrip())
    return lines


def prediction_content(one: Prediction) -> dict[str, Any]:
    """Return one model's predictive density as plain content."""
    gap = one.below_best
    return {
        "name": one.name,
        "elpd": None if one.loo is None else plain_number(one.loo.elpd),
        "standard_error": None if one.loo is None else plain_number(one.loo.standard_error),
        "p_loo": None if one.loo is None else plain_number(one.loo.p_loo),
        "difference_to_best": None if gap is None else plain_number(gap.elpd_difference),
        "difference_standard_error": None if gap is None else plain_number(gap.standard_error),
        "warnings": list(one.warnings),
        "problem": one.problem,
    }
