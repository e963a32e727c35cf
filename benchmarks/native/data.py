"""The generator that all programs share, its sizes, and the frame of its truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

FloatArray = NDArray[np.float64]
#: What a cell that was not run holds; others hold 0 or 1.
MISSING = 255
_BLOCK_CELLS = 1 << 22


@dataclass(frozen=True, slots=True)
class Size:
    """N persons x J items; `missing` is the share of cells that were not run."""

    n_persons: int
    n_items: int
    missing: float = 0.0

    @property
    def name(self) -> str:
        """As the table names it."""
        return f"{self.n_persons}x{self.n_items}" + ("-missing" if self.missing else "")


SIZES = {
    size.name: size
    for size in (
        Size(30, 100),
        Size(100, 1000),
        Size(200, 1000, missing=0.6),
        Size(400, 1000),
        Size(1000, 1000),
        Size(1000, 5000),
        Size(6000, 28000),
    )
}


@dataclass(frozen=True, slots=True)
class Truth:
    """Abilities theta (N,), slopes a (J,) and difficulties b (J,) behind a data set, in logits."""

    theta: FloatArray
    a: FloatArray
    b: FloatArray

    def standardised(self) -> Truth:
        """Return the same curves in the frame where this sample's abilities have mean 0 and SD 1.

        theta_s = (theta - m) / s, a_s = a s, b_s = (b - m) / s: the frame that a fit under N(0, 1) estimates. Against
        the truth as drawn, the sample's own mean and SD would count as errors of the fit.
        """
        m, s = self.theta.mean(), self.theta.std()
        return Truth((self.theta - m) / s, self.a * s, (self.b - m) / s)


@dataclass(frozen=True, slots=True, eq=False)
class Simulated:
    """Cells (N, J) of 0, 1 and `MISSING`, and their truth."""

    cells: NDArray[np.uint8]
    truth: Truth


def simulate(size: Size, seed: int) -> Simulated:
    """Draw one data set.

    theta ~ N(0, 1), b ~ N(0, 1.5), log a ~ N(0, .3), Y < P = 1 / (1 + exp(-a (theta - b))), in this order from
    ``default_rng(seed)``. With missing cells, cell (i, j) is then run with probability (1 - missing) w_ij / mean(w),
    w_ij = exp(-(b_j / 1.5 - theta_i)^2 / 2): strong systems run hard items, weak ones easy items.

    Items that all answered alike are left out, of the truth too: R mirt refuses them. They are about one in eight of
    30 x 100, one in a hundred of 100 x 1000, and none where N is 1000 or more, give or take a few.
    """
    n, j = size.n_persons, size.n_items
    rng = np.random.default_rng(seed)
    theta, b, a = rng.normal(0, 1, n), rng.normal(0, 1.5, j), rng.lognormal(0, 0.3, j)
    cells = np.empty((n, j), dtype=np.uint8)
    step = max(1, _BLOCK_CELLS // j)
    for start in range(0, n, step):  # the same stream as rng.random((n, j)), without its 8 bytes a cell
        rows = theta[start : start + step, None]
        cells[start : start + step] = rng.random((len(rows), j)) < expit(a * (rows - b))
    if size.missing:
        weight = np.exp(-((b / 1.5 - theta[:, None]) ** 2) / 2)
        cells[rng.random((n, j)) >= (1 - size.missing) * weight / weight.mean()] = MISSING
    varied = (cells == 0).any(axis=0) & (cells == 1).any(axis=0)
    if not varied.all():
        cells, a, b = np.ascontiguousarray(cells[:, varied]), a[varied], b[varied]
    return Simulated(cells, Truth(theta, a, b))
