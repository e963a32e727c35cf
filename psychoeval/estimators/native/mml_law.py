"""The latent law on a grid, and the grid that a fit needs."""

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
MAX_NODES: Final = 3001
#: Up to so many items finer nodes cost nothing.
FEW_ITEMS: Final = 200
LOG_SQRT_2PI: Final = 0.5 * float(np.log(2.0 * np.pi))


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """Density of the abilities, of mean 0 and SD 1: normal, or a polygon.

    Parameters
    ----------
    knots : (K,) array, optional
        Equally spaced; None for the normal law.
    heights : (K,) array, optional
        Density at the knots, linear between them and 0 beyond.
    """

    knots: FloatArray | None = None
    heights: FloatArray | None = None

    def log_density(self, nodes: FloatArray) -> FloatArray:
        """Return log g(theta), (Q,)."""
        if self.knots is None or self.heights is None:
            return -0.5 * nodes**2 - LOG_SQRT_2PI
        with np.errstate(divide="ignore"):
            return np.log(np.interp(nodes, self.knots, self.heights, left=0.0, right=0.0))


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
    """Return nodes from `low` to `high`, `step` apart or less."""
    n = int(np.ceil((high - low) / step)) + 1
    theta = np.linspace(low, high, max(3, min(n, MAX_NODES)))
    return Nodes(theta, law.log_density(theta) + np.log(theta[1] - theta[0]), n > MAX_NODES)


def fitting_step(smallest_sd: float, a: FloatArray) -> float:
    """Return the step at which the trapezoid rule errs by 5e-9 of a person's likelihood or less, for few items 1e-15.

    The rule errs by 2 exp(-2 pi^2 s^2 / h^2) for a normal density of SD s, and by exp(-2 pi^2 / (a h)) for a logistic
    curve, whose poles lie pi / a off the real line (Trefethen and Weideman 2014, doi:10.1137/130932132).
    """
    step = min(smallest_sd, 1.0 / max(UNSTABLE_SLOPE, float(np.abs(a).max())))
    return float(0.7 * step if a.size <= FEW_ITEMS else step)
