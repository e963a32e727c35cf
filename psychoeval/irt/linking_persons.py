"""Linking by persons that two calibrations have in common: means and true SDs of their abilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psychoeval.errors import NotComparableError
from psychoeval.irt.linking import ROUNDING

FloatArray = NDArray[np.float64]


def person_constants(
    first: FloatArray,
    second: FloatArray,
    error_variances: tuple[FloatArray, FloatArray],
    scale: float | None = None,
) -> tuple[float, float, FloatArray]:
    """Return A, B and their covariance (2, 2) from N persons with abilities on both scales.

    A = s2 / s1 and B = m2 - A m1, with means m and true variances s^2 = var(estimate) + mean(e). What e is depends on
    the estimates: posterior variances of EAP and MAP, which are drawn to the mean, so that their own SD is too small;
    minus the squared errors of ML and WLE, whose own SD is too large. The covariance is that of the influence of single
    persons, who are taken as a sample: with x_i, y_i centered, s1^2 moves by x_i^2 + e_i - s1^2, and so on.

    Parameters
    ----------
    first, second : (N,) arrays
        In logits.
    error_variances : (first, second), each (N,)
        e; zeros where nothing is known.
    scale : float, optional
        A, where it is given.

    Raises
    ------
    NotComparableError
        If a true variance is not above 0, or there are fewer than two persons.
    """
    n = first.size
    if n < 2:
        raise NotComparableError(f"{n} common persons give no link.", "Link by items, or by two persons and more.")
    centered = [v - v.mean() for v in (first, second)]
    squares = [c**2 * n / (n - 1) + e for c, e in zip(centered, error_variances, strict=True)]
    variances = [float(q.mean()) for q in squares]
    by_scale = np.zeros(n)
    if scale is None:
        sizes = [max(1.0, float(np.abs(v).max())) for v in (first, second)]
        if any(v <= (ROUNDING * size) ** 2 for v, size in zip(variances, sizes, strict=True)):
            raise NotComparableError(
                f"The {n} common persons have no true spread: their abilities differ by no more than their errors.",
                "Link by items, or give scale=1.",
            )
        scale = float(np.sqrt(variances[1] / variances[0]))
        by_scale = scale / 2 * (squares[1] / variances[1] - squares[0] / variances[0])
    by_shift = centered[1] - scale * centered[0] - first.mean() * by_scale
    shift = float(second.mean() - scale * first.mean())
    return scale, shift, np.atleast_2d(np.cov(by_scale, by_shift)) / n
