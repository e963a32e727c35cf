"""What speaks against a run of a sampler; the bounds that it is held to are in `sampling_thresholds`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psychoeval.results.draws import Draws
from psychoeval.results.sampling_thresholds import (
    CHANCE_SHARE,
    DIVERGENT_ANY,
    DIVERGENT_SHARE,
    EBFMI_LOW,
    ESS_GOOD,
    ESS_USABLE,
    RHAT_GOOD,
    RHAT_USABLE,
    TREEDEPTH_SHARE,
)
from psychoeval.wording import some_of

if TYPE_CHECKING:
    from psychoeval.results.sampling import Sampling

FloatArray = NDArray[np.float64]

#: Parameters named in a sentence.
NAMED: Final = 3


class Finding(NamedTuple):
    """What is wrong: 1 for care, 2 for no use."""

    weight: int
    reason: str
    remedy: str


def findings(run: Sampling, draws: Draws) -> list[Finding]:
    """Return what speaks against a run, the worst first.

    Parameters
    ----------
    run : Sampling
        With its figures; the grade is not looked at.
    draws : Draws
    """
    found = [*_chain_findings(run), *_parameter_findings(run), *_sampler_findings(run, draws)]
    return sorted(found, key=lambda finding: -finding.weight)


def _chain_findings(run: Sampling) -> list[Finding]:
    found = [
        Finding(
            2,
            f"Chain {number}: {why}.",
            "Leave out no chain by its result: run again with another seed and longer warmup. If it comes back, the "
            "posterior has several modes: constrain the slopes to be positive, or start from the map estimates.",
        )
        for number, why in run.suspect_chains.items()
    ]
    if run.n_chains == 1:
        found.append(
            Finding(
                1,
                "There is one chain: R-hat compares its halves only, and a second mode would not be seen.",
                "Run four chains.",
            )
        )
    return found


_LONGER: Final = "Sample longer (twice the warmup and samples); if it does not help, hold the items with priors."


def _parameter_findings(run: Sampling) -> list[Finding]:
    found = []
    odd = [(n, k) for n, errors in run.mcse_mean.items() for k in np.flatnonzero(np.isnan(np.atleast_1d(errors)))]
    if odd:
        named = some_of([run.labels(n)[k] for n, k in odd[:NAMED]], len(odd))
        found.append(
            Finding(
                2,
                f"There are too few draws, or draws that are not finite: {named}.",
                "Run at least 4 draws a chain; look for slopes at 0.",
            )
        )
    for what, figures, sign, bounds in (
        ("R-hat", run.rhat, 1.0, (RHAT_GOOD.value, RHAT_USABLE.value)),
        ("Bulk ESS", run.ess_bulk, -1.0, (ESS_GOOD.value, ESS_USABLE.value)),
        ("Tail ESS", run.ess_tail, -1.0, (ESS_GOOD.value, ESS_USABLE.value)),
    ):
        weight = max(_weight(sign * np.atleast_1d(v), sign * bounds[0], sign * bounds[1]) for v in figures.values())
        if weight:
            found.append(Finding(weight, _beyond(run, what, figures, sign, bounds[0]), _LONGER))
    return found


def _weight(values: FloatArray, good: float, usable: float) -> int:
    """Return 0, 1 or 2 for how many of a quantity's values lie above a bound, chance allowed for."""
    allowed = CHANCE_SHARE.value * values.size
    return 2 if (values > usable).sum() > allowed else 1 if (values > good).sum() > allowed else 0


def _beyond(run: Sampling, what: str, figures: Mapping[str, FloatArray], sign: float, bound: float) -> str:
    values = [(sign * float(v), n, k) for n, array in figures.items() for k, v in enumerate(np.atleast_1d(array))]
    beyond = sorted(v for v in values if v[0] > sign * bound)[::-1]
    digits = 3 if sign > 0 else 0
    shown = [f"{run.labels(n)[k]} ({sign * v:.{digits}f})" for v, n, k in beyond[:NAMED]]
    side = "above" if sign > 0 else "below"
    return f"{what} of {len(beyond)} of {len(values)} parameters is {side} {bound:g}: {some_of(shown, len(beyond))}."


def _sampler_findings(run: Sampling, draws: Draws) -> list[Finding]:
    found, total = [], run.n_chains * run.n_draws
    if (divergent := sum(run.divergences)) > DIVERGENT_ANY.value * total:
        found.append(Finding(
            2 if divergent > DIVERGENT_SHARE.value * total else 1,
            f"{divergent} of {total} draws diverged: where the posterior is narrow it may not have been reached.",
            "Raise adapt_delta (0.95, 0.99); if divergences stay, hold the items with tighter priors.",
        ))  # fmt: skip
    if (hits := sum(run.treedepth_hits)) > TREEDEPTH_SHARE.value * total:
        found.append(Finding(
            1,
            f"{hits} of {total} draws reached the limit of the tree depth, {draws.max_treedepth}: the sampler moved "
            "less far than it wanted.",
            f"Raise max_treedepth to {draws.max_treedepth + 2}; each draw may take longer.",
        ))  # fmt: skip
    low = [k for k, e in enumerate(run.ebfmi) if not e >= EBFMI_LOW.value and np.isfinite(e)]
    if low:
        values = ", ".join(f"{run.ebfmi[k]:.2f} in chain {draws.chain_numbers[k]}" for k in low)
        found.append(Finding(
            1,
            f"E-BFMI is below {EBFMI_LOW.value:g} ({values}): the tails of the posterior are explored slowly.",
            "Sample longer, and give scales and hyperparameters tighter priors.",
        ))  # fmt: skip
    return found
