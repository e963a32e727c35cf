"""What the slopes would be if the abilities were known: how far their ratio is from 1 for want of persons alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from benchmarks.native.data import MISSING, Simulated

FloatArray = NDArray[np.float64]
STEPS = 30
#: Largest change of a parameter in one step, and the smallest information of one: separated items have no maximum.
LARGEST_STEP, SMALLEST_INFORMATION = 1.0, 1e-6


def known_slope_ratio(data: Simulated) -> float:
    """Return the median of a-hat / a over items, a-hat by regression of each item on the true abilities.

    Maximum likelihood, by Newton's method, in the frame in which the sample's abilities have mean 0 and SD 1. It is
    biased away from 0 by a share of order 1 / N (Firth 1993, doi:10.1093/biomet/80.1.27), however many the items: a
    program that maximises a likelihood over the items cannot be expected nearer to 1.
    """
    truth = data.truth.standardised()
    run = (data.cells != MISSING).astype(np.float64)
    right, theta = run * (data.cells == 1), truth.theta[:, None]
    a, d = truth.a.copy(), -truth.a * truth.b
    for _ in range(STEPS):
        p = expit(theta * a + d)
        rest, w = right - run * p, run * p * (1.0 - p)
        by_a, by_d = (theta * rest).sum(axis=0), rest.sum(axis=0)
        aa, ad, dd = (((theta**k) * w).sum(axis=0) + SMALLEST_INFORMATION * (k != 1) for k in (2, 1, 0))
        determinant = aa * dd - ad**2
        step = np.stack([dd * by_a - ad * by_d, aa * by_d - ad * by_a]) / determinant
        step *= np.minimum(1.0, LARGEST_STEP / np.maximum(np.abs(step).max(axis=0), LARGEST_STEP))
        a, d = a + step[0], d + step[1]
    return float(np.median(a / truth.a))
