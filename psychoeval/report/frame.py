"""Fits on one scale, for tables and pictures that set them side by side."""

from __future__ import annotations

from psychoeval.agreement.alignment import Transformation, points_backwards, standardised
from psychoeval.results.fit_result import FitResult


def in_standard_frame(fit: FitResult) -> tuple[FitResult, str]:
    """Return a fit with its abilities at mean 0 and SD 1, as far as its identification implies that, and the words.

    Fits whose latent distribution is not known, and proportions, stay as they are. Fits with mostly negative slopes are
    turned round. Nothing is estimated from other fits: that would hide a difference.
    """
    if fit.abilities is not None and fit.abilities.scale != "logit":
        return fit, "–"
    words = []
    if fit.item_parameters is not None and points_backwards(fit.item_parameters):
        fit = Transformation(-1.0, 0.0).fit(fit)
        words.append("turned round")
    moved, to_standard = standardised(fit)
    if to_standard is None:
        return moved, ", ".join([*words, "as given"])
    if not to_standard.is_identity:
        words.append(transformation(to_standard))
    return moved, ", ".join(words) or "as given"


def transformation(step: Transformation) -> str:
    """Return a transformation as words: what was done to the abilities."""
    if step.is_identity:
        return "as given"
    text = f"× {step.scale:.4g}" if step.scale != 1.0 else ""
    if abs(step.shift) > 5e-13:
        text += f" {'+' if step.shift > 0 else '-'} {abs(step.shift):.4g}"
    return text.strip() or "as given"
