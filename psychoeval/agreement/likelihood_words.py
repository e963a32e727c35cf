"""Two log-likelihoods that claim one maximum, in words: what is wrong, with whom, and what to do."""

from __future__ import annotations

from typing import Final

import numpy as np

from psychoeval.agreement.likelihood_evidence import LikelihoodEvidence
from psychoeval.agreement.own_likelihood import OwnLikelihood
from psychoeval.agreement.thresholds import PROPORTIONAL_SLOPES

#: What to ask for: of an estimator of ours in its settings, of another program in words.
_LONGER: Final = (
    "a smaller tolerance and more cycles (tolerance=1e-6, max_iterations=5000)",
    "a tolerance a hundred times smaller and ten times the cycles",
)
_FINER: Final = (
    "more abilities in its grid (quadrature_points=241)",
    "a grid of 241 or more abilities that reaches beyond the most extreme persons",
)


def integrated_words(at: LikelihoodEvidence) -> str:
    """Return what is wrong where the likelihood of both fits' own parameters is known; "" where nothing is."""
    parts = [*_shortfall(at), *_misreading(at), _cause(at), _shares(at)]
    if any(parts):
        parts += [_capped(name, own) for name, own in zip(at.names, at.own, strict=True)]
    return " ".join(p for p in parts if p)


def _capped(name: str, own: OwnLikelihood | str) -> str:
    if isinstance(own, str) or not own.is_capped:
        return ""
    return f"Slopes of {name} are so steep that this computation's own grid is at its limit: its decimals may be off."


def _shortfall(at: LikelihoodEvidence) -> list[str]:
    if not at.is_apart:
        return []
    high, low = at.names[at.high], at.names[at.low]
    text = (
        f"Both claim the maximum of the same marginal likelihood. Integrated finely at its own parameters, {high} has "
        f"{at.value(at.high):.4f} and {low} {at.value(at.low):.4f}, {at.shortfall:.2f} lower: "
    )
    if at.is_too_far:
        return [
            f"{text}too far below for a fit that missed it. Check what the table of {low} holds: the items' ids, "
            "their parametrization, a scaling constant D = 1.7, the latent distribution."
        ]
    return [f"{text}{low} is short of the maximum.", _scale(at), _slopes(at)]


def _scale(at: LikelihoodEvidence) -> str:
    if at.frame is None or not at.is_scale:
        return ""
    low = at.names[at.low]
    return (
        f"{min(at.frame_gain / at.shortfall, 1.0):.0%} of that is origin and unit alone: the same curves of {low} have "
        f"{at.frame.log_likelihood:.4f} where the abilities spread {at.frame.sd:.3f} times as widely around "
        f"{at.frame.mean:+.3f}. It is the scale, EM's slowest direction."
    )


def _slopes(at: LikelihoodEvidence) -> str:
    """Say how the slopes of the two fits differ, where they differ in proportion."""
    ratios = at.ratios(at.high, at.low)
    if not ratios.size:
        return ""
    percent = 100 * (ratios - 1)
    middle = float(np.median(percent))
    if abs(middle) <= 100 * PROPORTIONAL_SLOPES.value:
        return ""
    share = float(np.mean(np.sign(percent) == np.sign(middle)))
    word = "larger" if middle > 0 else "smaller"
    who = "All slopes" if share == 1 else f"{share:.0%} of the slopes"
    return (
        f"{who} of {at.names[at.high]} are {word} than those of {at.names[at.low]}, by {abs(middle):.1f}% (median; "
        f"{percent.min():.1f}% to {percent.max():.1f}%)."
    )


def _misreading(at: LikelihoodEvidence) -> list[str]:
    out = []
    for k, name in enumerate(at.names):
        if not at.misreads(k):
            continue
        text = f"{name} reports {at.reported[k]:.4f} for parameters whose log-likelihood is {at.value(k):.4f}: "
        if at.is_no_grid(k):
            out.append(
                f"{text}more than a coarse grid explains. Check that the two belong together (a deviance, a constant, "
                "priors counted in)."
            )
            continue
        text += f"its grid misreads its own likelihood by {abs(at.misread(k)):.2f}."
        grid = at.known_grid(k)
        out.append(f"{text} {grid.words} give exactly this value." if grid else text)
    return out


def _cause(at: LikelihoodEvidence) -> str:
    """Say why the lower is short of the maximum."""
    low = at.names[at.low]
    if at.cause == "stopped early or grid":
        return f"{low} stopped too early, or stands on a maximum that only its grid has."
    if at.cause == "grid":
        return (
            "As that grid reads the likelihood, it does not rise from there towards the maximum: "
            f"{low} stands on a maximum that only its grid has, and more cycles do not leave it."
        )
    if at.cause == "stopped early" and at.misreads(at.low):
        return f"On that grid too the likelihood still rises: {low} stopped too early, which is a fault by itself."
    return f"{low} stopped too early." if at.cause else ""


def _shares(at: LikelihoodEvidence) -> str:
    """Divide the difference of the reported values into falling short and misreading."""
    if not at.cause or not any(at.has_coarse_grid(k) for k in (0, 1)):
        return ""
    gap = at.reported[at.high] - at.reported[at.low]
    misread = gap - at.shortfall
    if gap < 0:
        return (
            f"By the reported values {at.names[at.low]} would be the higher, by {-gap:.2f}: that is the misreading's "
            "doing."
        )
    if misread < 0:
        return (
            f"The reported values differ by {gap:.2f} only: by {at.shortfall:.2f} of falling short, less "
            f"{-misread:.2f} of misreading."
        )
    return (
        f"Of the {gap:.2f} between the reported values, {at.shortfall:.2f} is falling short and {misread:.2f} is "
        "misreading."
    )


def remedy_words(at: LikelihoodEvidence) -> str:
    """Return what to do, fit by fit; "" where there is nothing, or it is not known."""
    out = []
    for k, name in enumerate(at.names):
        words = int(at.fits[k].convergence.status == "imported")
        steps = [_FINER[words]] if at.has_coarse_grid(k) else []
        steps += [_LONGER[words]] if k == at.low and at.cause else []
        alone = ": cycles alone do not help" if k == at.low and at.cause == "grid" else ""
        if steps:
            out.append(f"Fit {name} again with {', and on it '.join(steps)}{alone}.")
    if out:
        out.append("Until then compare no models by its log-likelihood (AIC, BIC, likelihood ratio).")
    return " ".join(out)


def reported_words(at: LikelihoodEvidence, *, same_items: bool) -> str:
    """Return what the reported values alone allow to say, where they differ.

    Parameters
    ----------
    at : LikelihoodEvidence
    same_items : bool
        Whether the item parameters are equal as numbers.
    """
    if not at.is_apart:
        return ""
    gap, high, low = at.shortfall, at.names[at.high], at.names[at.low]
    if same_items:
        return (
            f"The log-likelihoods differ by {gap:.4g} at the same parameters: the two programs integrate "
            "differently, and at most one of the two values is right (a coarse grid or underflow misreads it)."
        )
    unknown = [f"of {n} ({why})" for n, why in zip(at.names, at.own, strict=True) if isinstance(why, str)]
    text = (
        f"Both claim the maximum of the same marginal likelihood, but {high} reaches {at.value(at.high):.4f} and {low} "
        f"{at.value(at.low):.4f}, {gap:.4g} lower: {low} has not reached the maximum, or its grid misreads its own "
        f"likelihood. Which, the likelihood of its own parameters would tell; not known is that "
        f"{' and '.join(unknown)}."
    )
    return " ".join(p for p in (text, _slopes(at)) if p)
