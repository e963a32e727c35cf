"""Newton's method for the conditional likelihood, on the constraint that the intercepts sum to zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from psychoeval.estimators.native.cml_steps import Conditional, Units, approximate_information, conditional

FloatArray = NDArray[np.float64]

#: Items up to which every step takes the exact information. Above, its approximation is right to 1 / J, and a step
#: by it leaves about 1 / J of the error.
EXACT_STEPS: Final = 100
#: Units x items^2 up to which the standard errors come from the exact information: about 5 s on one core.
EXACT_ERRORS: Final = 2e9
_HALVINGS: Final = 30
#: Relative: a log-likelihood is not known better.
_ROUNDING: Final = 1e-13


@dataclass(frozen=True, slots=True, eq=False)
class Optimum:
    """Where the search ended.

    Parameters
    ----------
    intercept : (J,) array
        They sum to 0.
    at : Conditional
        The conditional likelihood there.
    iterations : int
    last_change : float
        Largest change of an intercept in the last step.
    converged : bool
    """

    intercept: FloatArray
    at: Conditional
    iterations: int
    last_change: float
    converged: bool


def maximize(units: Units, *, tolerance: float, max_iterations: int) -> Optimum:
    """Maximise the conditional likelihood, which is concave.

    Parameters
    ----------
    units : Units
    tolerance : float
        Of the gradient and of the last change.
    max_iterations : int
        Of Newton steps.
    """
    exact = units.sums.size <= EXACT_STEPS
    seen = units.counts @ units.trials
    intercept = _centered(np.log((units.sums + 0.5) / (seen - units.sums + 0.5)))
    at, change, iterations = conditional(units, intercept, information=exact), np.inf, 0
    while iterations < max_iterations:
        information = approximate_information(units, intercept) if at.information is None else at.information
        step = _solve(information, at.gradient)
        iterations += 1
        for _ in range(_HALVINGS):
            moved = _centered(intercept + step)
            new = conditional(units, moved, information=exact)
            if new.log_likelihood >= at.log_likelihood - _ROUNDING * abs(at.log_likelihood):
                break
            step = step / 2
        intercept, at, change = moved, new, float(np.abs(step).max())
        if change <= tolerance and np.abs(at.gradient).max() <= tolerance:
            return Optimum(intercept, at, iterations, change, True)
    return Optimum(intercept, at, iterations, change, False)


def intercept_covariance(units: Units, optimum: Optimum) -> tuple[FloatArray, bool]:
    """Return the covariance of intercepts that sum to 0, (J, J), and whether the information was exact.

    The inverse of the conditional information on that constraint: rows add up to 0, and a contrast has the same
    variance under any other constraint.
    """
    information, n_items = optimum.at.information, optimum.intercept.size
    exact = information is not None or len(units.totals) * n_items**2 <= EXACT_ERRORS
    if information is None:
        information = (
            conditional(units, optimum.intercept, information=True).information
            if exact
            else approximate_information(units, optimum.intercept)
        )
    assert information is not None
    inverse = _solve(information, np.eye(n_items) - 1 / n_items)
    return np.asarray((inverse + inverse.T) / 2), exact


def _solve(information: FloatArray, right: FloatArray) -> FloatArray:
    """Solve for what sums to 0; the constant vector, which the likelihood does not see, is given a mean eigenvalue."""
    level = np.trace(information) / information.shape[0] ** 2
    return np.asarray(cho_solve(cho_factor(information + level), right))


def _centered(values: FloatArray) -> FloatArray:
    return np.asarray(values - values.mean())
