"""What two log-likelihoods of one model and one data set say about who reached the maximum."""

from __future__ import annotations

import math

import numpy as np

from psychoeval.agreement.alignment import standardised
from psychoeval.agreement.differences import TermComparison
from psychoeval.agreement.relation import Relation
from psychoeval.agreement.thresholds import LIKELIHOOD, NUMERICAL_ITEM, PROPORTIONAL_SLOPES
from psychoeval.irt.parameters import UNSTABLE_SLOPE, ItemParameters
from psychoeval.results.fit_result import FitResult


def likelihood_note(
    names: tuple[str, str], fits: tuple[FitResult, FitResult], relation: Relation, terms: tuple[TermComparison, ...]
) -> str:
    """Return a sentence where two fits claim one maximum of a marginal likelihood and report different values.

    Said only of unpenalised marginal fits of the same model and data: at any other point the higher log-likelihood
    need not be nearer the answer. "" where there is nothing to say.
    """
    first, second = fits
    if not _claim_one_maximum(first, second, relation):
        return ""
    assert first.log_likelihood is not None
    assert second.log_likelihood is not None
    gap = first.log_likelihood - second.log_likelihood
    if abs(gap) <= LIKELIHOOD.value:
        return ""
    largest = [abs(t.aligned.largest) for t in terms if t.term in ("discrimination", "intercept") and t.aligned.n]
    if largest and max(largest) <= NUMERICAL_ITEM.value:
        return (
            f"The log-likelihoods differ by {abs(gap):.4g} at the same parameters: the two programs integrate "
            "differently, and at most one of the two values is right (a coarse grid or underflow misreads it)."
        )
    high, low = (0, 1) if gap > 0 else (1, 0)
    values = (first.log_likelihood, second.log_likelihood)
    text = (
        f"Both claim the maximum of the same marginal likelihood, but {names[high]} reaches {values[high]:.4f} and "
        f"{names[low]} {values[low]:.4f}, {abs(gap):.4g} lower: {names[low]} has not reached the maximum, or its grid "
        "misreads its own likelihood."
    )
    items = [standardised(fits[k])[0].item_parameters for k in (high, low)]
    return text + _slopes(names[high], names[low], items[0], items[1])


def _claim_one_maximum(first: FitResult, second: FitResult, relation: Relation) -> bool:
    digests = (first.provenance.data_sha256, second.provenance.data_sha256)
    return (
        first.log_likelihood_kind == second.log_likelihood_kind == "marginal"
        and first.model is not None
        and second.model is not None
        and not first.model.is_penalised
        and not second.model.is_penalised
        and not relation.differences
        and (not all(digests) or digests[0] == digests[1])
        and all(f.log_likelihood is not None and math.isfinite(f.log_likelihood) for f in (first, second))
    )


def _slopes(high: str, low: str, better: ItemParameters | None, worse: ItemParameters | None) -> str:
    """Say how the slopes of two fits in one frame differ, where they differ in proportion."""
    if better is None or worse is None:
        return ""
    place = {text: j for j, text in enumerate(worse.item_ids)}
    at = [(j, place[text]) for j, text in enumerate(better.item_ids) if text in place]
    a = better.discrimination[[j for j, _ in at]]
    b = worse.discrimination[[k for _, k in at]]
    usable = np.isfinite(a + b) & (np.abs(a) >= UNSTABLE_SLOPE) & (np.abs(b) >= UNSTABLE_SLOPE)
    if not usable.any():
        return ""
    percent = 100 * (a[usable] / b[usable] - 1)
    middle = float(np.median(percent))
    if abs(middle) <= 100 * PROPORTIONAL_SLOPES.value:
        return ""
    share = float(np.mean(np.sign(percent) == np.sign(middle)))
    word = "larger" if middle > 0 else "smaller"
    who = "All slopes" if share == 1 else f"{share:.0%} of the slopes"
    return (
        f" {who} of {high} are {word} than those of {low}, by {abs(middle):.1f}% (median; "
        f"{percent.min():.1f}% to {percent.max():.1f}%): the slow direction of EM is this scale."
    )
