"""The latent distribution on a grid, and the grid that a fit needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from psychoeval.irt.parameters import UNSTABLE_SLOPE

FloatArray = NDArray[np.float64]

#: Nodes reach this many posterior SDs beyond every person's posterior mean: what lies outside is below 1e-13.
REACH: Final = 7.5
#: Most nodes; passed only where slopes have run away.
MAX_NODES: Final = 2001
#: Step over the distance of a spline distribution's centers.
PER_SPLINE: Final = 0.2
#: Up to so many items finer nodes cost nothing.
FEW_ITEMS: Final = 200
LOG_SQRT_2PI: Final = 0.5 * float(np.log(2.0 * np.pi))


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """Density of the abilities: N(0, 1), or a mixture of cubic B-splines.

    Parameters
    ----------
    centers : (K,) array, optional
        Equally spaced; None for the normal distribution.
    weights : (K,) array, optional
        Of the splines; they sum to 1.
    """

    centers: FloatArray | None = None
    weights: FloatArray | None = None

    def basis(self, theta: FloatArray) -> FloatArray:
        """Return the splines' densities, (K, Q): of mean c_k and variance h^2 / 3, h the distance of centers."""
        assert self.centers is not None
        h = self.centers[1] - self.centers[0]
        t = np.abs(theta - self.centers[:, None]) / h
        inner, outer = 2.0 / 3.0 - t**2 + 0.5 * t**3, np.clip(2.0 - t, 0.0, None) ** 3 / 6.0
        return np.asarray(np.where(t < 1.0, inner, outer) / h)

    def log_density(self, theta: FloatArray) -> FloatArray:
        """Return log g(theta), (Q,)."""
        if self.weights is None:
            return -0.5 * theta**2 - LOG_SQRT_2PI
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.weights @ self.basis(theta)))

    @property
    def mean(self) -> float:
        """Mean of the distribution."""
        return 0.0 if self.centers is None or self.weights is None else float(self.weights @ self.centers)

    @property
    def sd(self) -> float:
        """SD of the distribution."""
        if self.centers is None or self.weights is None:
            return 1.0
        h = self.centers[1] - self.centers[0]
        return float(np.sqrt(self.weights @ (self.centers - self.mean) ** 2 + h**2 / 3.0))

    def standardized(self) -> Law:
        """Return the distribution moved and scaled to mean 0 and SD 1."""
        return self if self.centers is None else Law((self.centers - self.mean) / self.sd, self.weights)


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """Equally spaced abilities (Q,), in logits, with log(g(theta) h): the trapezoid rule."""

    theta: FloatArray
    log_weights: FloatArray
    capped: bool = False

    @property
    def step(self) -> float:
        """Distance h between neighbouring nodes."""
        return float(self.theta[1] - self.theta[0])


def make_nodes(law: Law, low: float, high: float, step: float) -> Nodes:
    """Return nodes from `low` to `high` or a little beyond, `step` apart or less.

    Under splines their centers are nodes: a wider grid then reads the same likelihood, to the last digits that a search
    compares. Nodes that fall elsewhere on the splines at each renewal read one that differs by 1e-6 of itself.
    """
    if law.centers is not None:
        first, width = float(law.centers[0]), float(law.centers[1] - law.centers[0])
        step = width / np.ceil(width / step - 1e-9)
        low, high = first + step * np.floor((low - first) / step), first + step * np.ceil((high - first) / step)
    n = int(np.ceil((high - low) / step - 1e-9)) + 1
    theta = np.linspace(low, high, max(3, min(n, MAX_NODES)))
    return Nodes(theta, law.log_density(theta) + np.log(theta[1] - theta[0]), n > MAX_NODES)


def fitting_step(smallest_sd: float, a: FloatArray, law: Law) -> float:
    """Return the step at which the trapezoid rule errs by 5e-9 of a person's likelihood or less, for few items 1e-15.

    The rule errs by 2 exp(-2 pi^2 s^2 / h^2) for a normal density of SD s, and by exp(-2 pi^2 / (a h)) for a logistic
    curve, whose poles lie pi / a off the real line (Trefethen and Weideman 2014, doi:10.1137/130932132). A spline
    distribution asks for 5 nodes between its centers.
    """
    step = min(smallest_sd, 1.0 / max(UNSTABLE_SLOPE, float(np.abs(a).max())))
    if law.centers is not None:
        step = min(step, PER_SPLINE * float(law.centers[1] - law.centers[0]))
    return float(0.7 * step if a.size <= FEW_ITEMS else step)
